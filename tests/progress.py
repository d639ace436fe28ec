"""Waits without a fixed timeout. A slow test on a busy machine does not fail, but a test without progress fails.

A test makes progress if a process starts or ends, if processes of the test use CPU time, if a file grows, or if
another sign that the test chooses appears. Heartbeats are not progress, because a process that hangs can still write
heartbeats.
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
"""CPU seconds that count as progress.

This is 3 % of one core for ``STILL`` seconds. On a busy machine, a working process may get only 3 % of a core. A
browser and a server that are idle together use up to 0.8 % of a core.
"""
LAST = 900.0
"""Seconds after which CPU time alone no longer counts as progress.

The same value is the timeout of browsers and other libraries that require a timeout. Only a test that hangs reaches it.
"""
LOOK = 2.0
"""Seconds between two checks of processes and files."""
ALIVE = ("beat-", "runner.json", "runner.lock")
"""Prefixes of files that show only that a process is alive. Changes of these files do not count as progress."""

T = TypeVar("T")


class Ending(Protocol):
    """Interface of a process with the method ``poll``, such as ``subprocess.Popen``."""

    def poll(self) -> int | None: ...


@dataclass
class Clock:
    """Clock that measures the time since the last progress of child processes and of the files in ``folders``."""

    folders: Sequence[Path] = ()
    looked: float = -LOOK
    moved: float = 0.0
    changed: float = 0.0
    work: float = 0.0
    seen: object = None

    def still(self) -> float:
        """Return the seconds since the last progress. Check for progress at most once per ``LOOK`` seconds."""
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
    """Call ``done`` repeatedly, and return its first true result.

    The test fails after ``STILL`` seconds without progress of child processes or in ``folders``. The failure message
    contains the result of ``why``.
    """
    clock = Clock(folders)
    while not (found := done()):
        if clock.still() > STILL:
            raise AssertionError(f"Nothing has progressed for {STILL:g} s. {why()}")
        time.sleep(pause)
    return found


def end(process: Ending, *folders: Path) -> int:
    """Wait until a process ends and return its exit code. The test fails without progress, as in ``wait``."""
    wait(lambda: process.poll() is not None, *folders)
    code = process.poll()
    assert code is not None
    return code


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as ``subprocess.run`` does, with captured text. The test fails if the process makes no progress."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(list(command), **{**pipes, **options}) as process, watched(process.kill):
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def heard(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait until a process ends, and return its standard output and standard error. The test fails without progress."""
    with watched(process.kill):
        return process.communicate()


def lives(process: psutil.Process) -> bool:
    """Return whether a process is running. A zombie counts as ended."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


@contextmanager
def watched(stop: Callable[[], object], *folders: Path) -> Iterator[None]:
    """Fail the test if the ``with`` block makes no progress for ``STILL`` seconds. ``stop`` must end the block."""
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
    """Return the CPU time of all child processes of this process, in seconds."""
    total = 0.0
    for process in _below():
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def _files(folder: Path) -> tuple[int, int, int]:
    """Return the number of files in a folder, their total size in bytes, and the time of the last change.

    Files with a prefix in ``ALIVE`` do not count.
    """
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
