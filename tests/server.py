"""Start ``isoplan app`` for a test, wait until it answers, and stop it as a user would.

``running`` starts the command. ``forked`` forks a process that has already imported the modules of the server, which
saves two seconds. Tests that do not test the start of the server use ``forked``.
"""

from __future__ import annotations

import multiprocessing
import os
import re
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
    """Interface of a server process in tests, as in ``subprocess.Popen``."""

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
    """A running ``isoplan app``: its address, process and workspace. ``output`` is the file with its output."""

    url: str
    process: Process
    workspace: Path
    output: Path


@contextmanager
def running(
    workspace: Path, *options: str, command: Sequence[str] = (), env: dict[str, str] | None = None
) -> Iterator[Server]:
    """Run ``isoplan app`` for ``workspace`` on a free port. After the ``with`` block, SIGTERM must end the server.

    ``command`` replaces the console script of this checkout.
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
    """Run a server like ``running``, but in a forked process that has already imported the modules of this checkout."""
    port, output = _place(workspace)
    output.touch()
    process = _forks.Process(target=_serve, args=(_arguments(port, workspace, options), env or {}, output))
    with pytest.MonkeyPatch.context() as patch:  # hide __main__, which may still be a page of an earlier test
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        process.start()
    yield from _served(Server(f"http://localhost:{port}", Fork(process), workspace, output))


def _place(workspace: Path) -> tuple[int, Path]:
    """Return a free port for a new server, and the path of the file for its output."""
    workspace.parent.mkdir(parents=True, exist_ok=True)
    return free_port(), workspace.with_name(workspace.name + ".out")


def _arguments(port: int, workspace: Path, options: Sequence[str]) -> list[str]:
    return ["app", "--no-browser", "--port", str(port), "--workspace", str(workspace), *options]


def _serve(arguments: list[str], env: dict[str, str], output: Path) -> None:
    """Run the console script in a process that has just been forked."""
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
    """End a server by SIGTERM. The test fails if the server does not end."""
    process.send_signal(signal.SIGTERM)
    try:
        progress.end(process)
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a free TCP port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_healthy(server: Server) -> None:
    """Wait until the server answers. If the server ends instead, the test fails and shows the server's output."""

    def answers() -> bool:
        if server.process.poll() is not None:
            pytest.fail(f"the server ended: {server.output.read_text()}")
        try:
            with urlopen(server.url + "/healthz", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    progress.wait(answers, server.workspace, why=server.output.read_text)


def log_of(root: Path) -> str:
    """Return the log of the servers of the workspace ``root``, or "" if there is no log."""
    place = root / "logs" / "isoplan.log"
    return place.read_text() if place.exists() else ""


def rows_taken(root: Path) -> int:
    """Return the number of cells (training runs) that the servers of a workspace have added to its run tables."""
    return sum(int(found) for found in re.findall(r"(\d+) cells? became", log_of(root)))
