"""One attack in a forked child process with limits: its outcome, its processor time and its memory."""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from isoplan.engine.errors import PlannerError

SECONDS, MEGABYTES = 30, 4096
"""Limits of the child process: processor time in seconds, and memory in MB above the memory of its parent."""
WAIT = 300.0
"""Elapsed time in seconds after which a child process counts as hanging."""
ONE_SENTENCE = 700
"""Maximum length of a refusal, in characters."""
_forks = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    """Outcome of an attack. ``kind`` is 'refused', 'evaluated', 'traceback' or 'killed'.

    ``text`` is the message, the traceback, or the reason why the process was killed. ``value`` is the result of an
    evaluated text.
    """

    kind: str
    text: str = ""
    value: float = math.nan
    seconds: float = 0.0
    megabytes: float = 0.0


def attempt(work: Callable[[str], float], text: str) -> Outcome:
    """Run ``work(text)`` in a child process and return the outcome."""
    here, there = _forks.Pipe(duplex=False)
    child = _forks.Process(target=_child, args=(work, text, there))
    child.start()
    there.close()
    try:
        found = here.recv() if here.poll(WAIT) else Outcome("killed", "it hangs")
    except EOFError:
        found = None
    child.kill()
    child.join()
    return found or Outcome("killed", f"the child ended with {child.exitcode}", seconds=float(SECONDS))


def _child(work: Callable[[str], float], text: str, to: Connection) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    room = before.ru_maxrss * 1024 + MEGABYTES * 2**20
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + room, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", errors="strict") as sink:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(sink.fileno(), 2)
        found = _result(work, text, sink.fileno())
        os.chdir("/")
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    to.send(Outcome(*found, seconds=seconds, megabytes=(after.ru_maxrss - before.ru_maxrss) / 1024))


def _result(work: Callable[[str], float], text: str, sink: int) -> tuple[str, str, float]:
    try:
        return "evaluated", "", work(text)
    except PlannerError as error:
        return _refused(str(error))
    except SystemExit as end:  # the command has written its message to standard error
        sys.stderr.flush()
        said = os.pread(sink, 2**20, 0).decode(errors="replace")
        lines = [line for line in said.strip().splitlines() if line.startswith("isoplan: ")] or [said]
        return _refused(lines[-1]) if end.code == 2 else ("traceback", f"exit {end.code}: {said}", math.nan)
    except BaseException:
        return "traceback", traceback.format_exc(limit=-3), math.nan


def _refused(sentence: str) -> tuple[str, str, float]:
    """Return the outcome of a refusal: 'refused' if it is a sentence that can be shown, and 'traceback' otherwise."""
    shown = sentence.isprintable() and sentence.encode(errors="replace").decode() == sentence
    if not shown or not 10 <= len(sentence) <= ONE_SENTENCE:
        return "traceback", f"no sentence: {sentence[:200]!r}", math.nan
    return "refused", sentence, math.nan


def _address_space() -> int:
    """Return the size of the address space of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
