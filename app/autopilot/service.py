"""The autopilots of a workspace that should run, each in a process of its own: ``isoplan autopilot KEY``."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from isoplan.app.autopilot.stored_decisions import LOG, folder_of, is_working, read_orders, stored_keys
from isoplan.trainers.backend.runner.runner_process import start_module

SOON, LATE = 5.0, 60.0
"""Delay in seconds before a process that ended early is started again. It is ``SOON`` at first and doubles each time,
up to ``LATE``."""
LIVED = 60.0
"""A process ended early if it ran for less than this time in seconds."""
ENDED = (0, 1)
"""Exit codes of a process that ended as intended: at a stop or at a pause."""
ENDING = 5.0
"""Maximum time in seconds that the service waits, when it ends, for each of its processes."""


@dataclass(eq=False)
class Started:
    """The last process of an autopilot, its start time in seconds, and the delay before the next one."""

    process: subprocess.Popen[bytes]
    begun: float = field(default_factory=time.monotonic)
    delay: float = SOON


@contextmanager
def autopilots(root: Path) -> Iterator[Callable[[], None]]:
    """Yield a function that starts a process for each autopilot that should run and has no process.

    When the context ends, the processes that were started are terminated. They continue if this process is killed.
    """
    started: dict[str, Started] = {}
    try:
        yield lambda: _start_waiting(root, started)
    finally:
        for one in started.values():
            one.process.terminate()
        for one in started.values():
            with suppress(subprocess.TimeoutExpired):
                one.process.wait(ENDING)


def _start_waiting(root: Path, started: dict[str, Started]) -> None:
    for key in stored_keys(root):
        last = started.get(key)
        if last is not None and (last.process.poll() is None or _waits(last)):
            continue
        if read_orders(root, key).wanted != "run" or is_working(root, key):
            continue
        started[key] = Started(_start(root, key), delay=SOON if last is None else _next_delay(last))


def _waits(last: Started) -> bool:
    """Return whether ``last`` ended early and the delay before its replacement is not over."""
    return last.process.returncode not in ENDED and time.monotonic() - last.begun < last.delay


def _next_delay(last: Started) -> float:
    return SOON if time.monotonic() - last.begun >= LIVED else min(2 * last.delay, LATE)


def _start(root: Path, key: str) -> subprocess.Popen[bytes]:
    with (folder_of(root, key) / LOG).open("ab") as log:
        return start_module("isoplan.app", ["autopilot", key, "--workspace", str(root.resolve()), "--yes"], log, root)
