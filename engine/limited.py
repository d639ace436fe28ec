"""Run scripts that read untrusted files in a child process, with limits of time and memory.

The child is a separate Python file that reads its input from standard input and writes its result to standard output.
Its first statement is ``limit(...)``. Its import path does not contain the folder of the script.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import IO

MEGABYTE = 2**20
PATIENCE = 6
"""Wall-time limit divided by the processor-time limit.

The ratio exceeds 1 because a process on a busy machine also waits for the processor.
"""


class Exceeded(Exception):
    """The child exceeded its time limit."""


class Failed(Exception):
    """The child ended without a result.

    The message is the last line of the child's error output. It is empty if the child was killed.
    """


def run(
    script: Path,
    arguments: Sequence[str] = (),
    *,
    given: bytes = b"",
    seconds: int,
    megabytes: int,
    follow: Callable[[str], None] = lambda line: None,
) -> bytes:
    """Run ``script`` with ``given`` as its standard input and return its standard output.

    ``seconds`` limits the processor time, and ``megabytes`` the address space, on systems that support these limits. A
    script that needs more memory fails. On every system, the wall time is limited to ``PATIENCE`` times ``seconds``.
    The first two arguments of the script are ``seconds`` and ``megabytes``, followed by ``arguments``. ``follow`` is
    called with each line of the error output as soon as the script writes it. If ``follow`` raises an error, the script
    is killed. Raises Exceeded if a time limit is reached, and Failed if the script ends with an error.
    """
    command = [sys.executable, "-P", str(script), str(seconds), str(megabytes), *arguments]
    late, pipe = Event(), subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child,
        ThreadPoolExecutor(2) as threads,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        timer = Timer(PATIENCE * seconds, _end, (child, late))
        timer.start()
        output, last = threads.submit(child.stdout.read), ""
        threads.submit(_feed, child.stdin, given)
        try:
            for line in child.stderr:
                if text := line.decode(errors="replace").strip():
                    last = text
                    follow(text)
            child.wait()
        finally:
            timer.cancel()
            child.kill()
    if late.is_set() or child.returncode == -getattr(signal, "SIGXCPU", 0):
        raise Exceeded
    if child.returncode != 0:
        raise Failed(last if child.returncode == 1 else "")
    return output.result()


def _end(child: subprocess.Popen[bytes], late: Event) -> None:
    """Kill a child that has reached the wall-time limit, and set ``late``."""
    late.set()
    child.kill()


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """Write ``given`` to the standard input of a child. A child may end before it has read everything."""
    with suppress(BrokenPipeError), pipe:
        pipe.write(given)


def limit(seconds: int, megabytes: int) -> None:
    """Limit the processor time and the address space of this process.

    A limit that the system does not support is skipped.
    """
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", megabytes * MEGABYTE)):
        try:
            resource.setrlimit(getattr(resource, name), (value, value + 1 if name == "RLIMIT_CPU" else value))
        except (AttributeError, ValueError, OSError):
            continue
