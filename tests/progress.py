"""Waits without a fixed timeout: a busy machine slows a test, and only a lack of progress makes it fail.

Progress is: a process that starts or ends, CPU time of the processes started by the test, files that grow, and other
signs named by a test. Heartbeats are not progress: a process that hangs has them too.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psutil
import pytest

STILL = 300.0
"""Seconds without progress after which a wait fails."""
WORK = 9.0
"""CPU seconds that count as progress, 3 % of a core over ``STILL``. A busy machine may give no more. A browser and
a server whose page is idle take up to 0.8 %."""
LAST = 900.0
"""Seconds after which CPU time alone does not count as progress. Also the timeout of browsers and of other libraries
that need one. Only a test that hangs reaches it."""
LOOK = 2.0
"""Seconds between two checks of processes and files."""
ALIVE = ("beat-", "runner.json", "runner.lock")
"""Prefixes of files that show that a process is alive, not that it works."""

T = TypeVar("T")


class Ending(Protocol):
    """A process with ``poll``, such as ``subprocess.Popen`` or those of ``tests.server``."""

    def poll(self) -> int | None: ...


@dataclass
class Clock:
    """The seconds since the last progress of the child processes of this one, and of the files in ``folders``."""

    folders: Sequence[Path] = ()
    looked: float = -LOOK
    moved: float = 0.0
    changed: float = 0.0
    work: float = 0.0
    seen: object = None

    def still(self) -> float:
        """Return the seconds since the last progress; checks at most once in ``LOOK`` seconds."""
        now = time.monotonic()
        if now - self.looked >= LOOK:
            self.looked = now
            total, seen = work(), (_processes(), [_files(folder) for folder in self.folders])
            if seen != self.seen:
                self.changed = now
            if seen != self.seen or (abs(total - self.work) >= WORK and now - self.changed < LAST):
                self.moved, self.work, self.seen = now, total, seen
        return now - self.moved


def wait(done: Callable[[], T], *folders: Path, why: Callable[[], object] = str, pause: float = 0.05) -> T:
    """Return the result of ``done`` when it is true.

    Fails, with the result of ``why``, after ``STILL`` seconds without progress of processes or in ``folders``.
    """
    clock = Clock(folders)
    while not (found := done()):
        if clock.still() > STILL:
            raise AssertionError(f"Nothing has progressed for {STILL:g} s. {why()}")
        time.sleep(pause)
    return found


def end(process: Ending, *folders: Path) -> int:
    """Wait until a process ends, like ``wait``, and return its exit code."""
    wait(lambda: process.poll() is not None, *folders)
    code = process.poll()
    assert code is not None
    return code


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``subprocess.run`` with captured text, while the process makes progress."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(list(command), **{**pipes, **options}) as process, watched(process.kill):
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def heard(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the output of a process to its pipes until it ends, while it makes progress."""
    with watched(process.kill):
        return process.communicate()


def lives(process: psutil.Process) -> bool:
    """Return whether a process has not ended; a zombie counts as ended."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


@contextmanager
def watched(stop: Callable[[], object], *folders: Path) -> Iterator[None]:
    """Call ``stop`` and fail if nothing progresses for ``STILL`` seconds in the context, which ``stop`` must end."""
    over, stalled = threading.Event(), threading.Event()

    def watch() -> None:
        clock = Clock(folders)
        while not over.wait(LOOK):
            if clock.still() > STILL:
                stalled.set()
                stop()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        if stalled.is_set():
            pytest.fail(f"Nothing has progressed for {STILL:g} s.")


def _below() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _processes() -> list[int]:
    return sorted(process.pid for process in _below())


def work() -> float:
    """Return the CPU seconds of the child processes of this one, which itself only waits."""
    total = 0.0
    for process in _below():
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def _files(folder: Path) -> tuple[int, int, int]:
    """Return the number of files in a folder, their bytes, and the time of the last change, without signs of life."""
    count = size = last = 0
    for place, folders, names in os.walk(folder):  # os.walk skips folders that vanish in the meantime
        for name in (*folders, *names):
            if name.startswith(ALIVE):
                continue
            try:
                state = os.stat(os.path.join(place, name))
            except OSError:
                continue
            count, size, last = count + 1, size + state.st_size, max(last, state.st_mtime_ns)
    return count, size, last
