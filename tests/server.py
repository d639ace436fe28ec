"""Start ``isoplan app`` for a test, wait until it answers, and stop it as a user would.

``running`` starts the command itself. ``forked`` starts the same server from a process that has imported its modules,
two seconds sooner: for tests of what a server does, not of how it starts.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Protocol
from urllib.request import urlopen

import pytest

from tests import progress

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["isoplan.app.serving.server", "isoplan.engine.fitting.solver.kernels.bindings"])


class Process(Protocol):
    """What tests do with the process of a server, as with ``subprocess.Popen``."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


@dataclass(frozen=True)
class Fork:
    """A process of ``multiprocessing`` with the methods of ``subprocess.Popen``."""

    process: BaseProcess

    @property
    def pid(self) -> int:
        return self.process.pid or 0

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("isoplan app", timeout or 0)
        return self.process.exitcode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.process.kill()


@dataclass(frozen=True)
class Server:
    """A running ``isoplan app``: its address, process and workspace. ``output`` is the file it prints to."""

    url: str
    process: Process
    workspace: Path
    output: Path


@contextmanager
def running(
    workspace: Path, *options: str, command: Sequence[str] = (), env: dict[str, str] | None = None
) -> Iterator[Server]:
    """``isoplan app`` on a free port and ``workspace``; it is stopped by SIGTERM, which must end it.

    ``command`` starts another copy than this checkout's.
    """
    isoplan = command or [str(Path(sys.executable).with_name("isoplan"))]
    port, output = _place(workspace)
    with output.open("wb") as sink:
        process = subprocess.Popen(
            [*isoplan, *_arguments(port, workspace, options)],
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
    yield from _served(Server(f"http://localhost:{port}", process, workspace, output))


@contextmanager
def forked(workspace: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    """``running`` with this checkout's modules imported before."""
    port, output = _place(workspace)
    output.touch()
    process = _forks.Process(target=_serve, args=(_arguments(port, workspace, options), env or {}, output))
    with pytest.MonkeyPatch.context() as patch:  # a page that a test has run is __main__ still: it is not to run there
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        process.start()
    yield from _served(Server(f"http://localhost:{port}", Fork(process), workspace, output))


def _place(workspace: Path) -> tuple[int, Path]:
    """The port of a server to be started, and the file for what it prints."""
    workspace.parent.mkdir(parents=True, exist_ok=True)
    return free_port(), workspace.with_name(workspace.name + ".out")


def _arguments(port: int, workspace: Path, options: Sequence[str]) -> list[str]:
    return ["app", "--no-browser", "--port", str(port), "--workspace", str(workspace), *options]


def _serve(arguments: list[str], env: dict[str, str], output: Path) -> None:
    """What the console script does, in a process that has just been forked."""
    from isoplan.app.cli import main

    with output.open("wb") as sink:
        for stream in (1, 2):
            os.dup2(sink.fileno(), stream)
    os.environ.update(env)
    sys.argv = ["isoplan", *arguments]
    main()


def _served(server: Server) -> Iterator[Server]:
    try:
        wait_healthy(server)
        yield server
    finally:
        stop(server.process)


def stop(process: Process) -> None:
    """End a server by SIGTERM; fail if it does not end."""
    process.send_signal(signal.SIGTERM)
    try:
        progress.end(process)
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A TCP port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_healthy(server: Server) -> None:
    """Wait until the server answers; fail with what it printed when it ends instead."""

    def answers() -> bool:
        if server.process.poll() is not None:
            pytest.fail(f"the server ended: {server.output.read_text()}")
        try:
            with urlopen(server.url + "/healthz", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    progress.wait(answers, server.workspace, why=server.output.read_text)
