"""Start ``isoplan app`` for a test, wait until it answers, and stop it as a user would."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

READY_S = 30.0


@dataclass(frozen=True)
class Server:
    """A running ``isoplan app``: its address, process and workspace. ``output`` is the file it prints to."""

    url: str
    process: subprocess.Popen[bytes]
    workspace: Path
    output: Path


@contextmanager
def running(
    workspace: Path, *options: str, command: Sequence[str] = (), env: dict[str, str] | None = None
) -> Iterator[Server]:
    """``isoplan app`` on a free port and ``workspace``; it is stopped by SIGTERM and must end within 10 s.

    ``command`` starts another copy than this checkout's.
    """
    port = free_port()
    workspace.parent.mkdir(parents=True, exist_ok=True)
    output = workspace.with_name(workspace.name + ".out")
    isoplan = command or [str(Path(sys.executable).with_name("isoplan"))]
    with output.open("wb") as sink:
        process = subprocess.Popen(
            [*isoplan, "app", "--no-browser", "--port", str(port), "--workspace", str(workspace), *options],
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
    server = Server(f"http://localhost:{port}", process, workspace, output)
    try:
        wait_healthy(server)
        yield server
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes], seconds: float = 10) -> None:
    """End a server by SIGTERM; fail when it takes longer than ``seconds``."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        pytest.fail(f"the server did not end within {seconds} s of SIGTERM")


def free_port() -> int:
    """A TCP port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_healthy(server: Server, seconds: float = READY_S) -> None:
    """Wait until the server answers; fail with what it printed when it ends instead."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.process.poll() is not None:
            pytest.fail(f"the server ended: {server.output.read_text()}")
        try:
            with urlopen(server.url + "/healthz", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"the server did not answer within {seconds} s: {server.output.read_text()}")
