"""One import in a separate process: its verdict, its time and its memory."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.reliability.files.case import Case, Expected
from benchmarks.reliability.files.judge import Verdict, Way, judge

LIMIT = 300.0
"""Maximum elapsed time of an import in seconds. After this time, the import is stopped and counts as broken."""
ADDRESSES = 16 * 2**30
"""Maximum address space of an import in bytes. If a file needs more, only the process of this import ends."""
CONTEXT = multiprocessing.get_context("forkserver")
PRELOADED = "benchmarks.reliability.files.warm"


@dataclass(frozen=True)
class Cost:
    """Time and memory of one import.

    ``importing`` is the processor time of reading and storing the file, and ``processor`` the total processor time.
    Both are in seconds and include child processes. ``wall`` is the elapsed time in seconds. ``megabytes`` is the peak
    memory of one process.
    """

    importing: float = 0.0
    processor: float = 0.0
    wall: float = 0.0
    megabytes: float = 0.0


@dataclass(frozen=True)
class Result:
    """Verdict, time and memory of one file, imported in the terminal or on the page (``way``)."""

    case: Case
    way: Way
    verdict: Verdict
    cost: Cost


def measure(case: Case, way: Way, path: Path) -> Result:
    """Import the file at ``path`` in a child process, and return the verdict and the cost."""
    CONTEXT.set_forkserver_preload([PRELOADED])
    receiver, sender = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_attempt, args=(sender, way, path, _plain(case.expected)))
    child.start()
    sender.close()
    found = None
    with suppress(EOFError):
        found = receiver.recv() if receiver.poll(LIMIT) else None
    if found is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()
        text = f"stopped after {LIMIT:g} s" if child.exitcode == -signal.SIGKILL else f"ended with {child.exitcode}"
        return Result(case, way, Verdict("broke", text), Cost(wall=LIMIT))
    child.join()
    before, after, cost = found
    return Result(case, way, judge(way, case.expected, path, before, after), cost)


def _plain(expected: Expected) -> tuple[bool, bool, tuple[str, ...]]:
    """Return whether a question is expected, whether the file has runs, and the answers to the question."""
    return bool(expected.asks), expected.rows is not None, expected.answers


def _attempt(sender: Connection, way: Way, path: Path, plan: tuple[bool, bool, tuple[str, ...]]) -> None:
    from benchmarks.reliability.files.attempt import Clock, imported

    with suppress(OSError):
        os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    start, clock = time.perf_counter(), Clock()
    before, after = imported(way, path, *plan, clock)
    wall = time.perf_counter() - start
    own, below = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    processor = own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime
    unit = 2**20 if sys.platform == "darwin" else 2**10
    sender.send((before, after, Cost(clock.seconds, processor, wall, max(own.ru_maxrss, below.ru_maxrss) / unit)))
    sender.close()
