"""Work on files from outside in a child process, under limits of time and memory.

The child is a Python file of its own that reads its input on standard input and writes its result to standard output;
its first statement is ``limit(...)``. It starts without the user's site packages path.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 2**20
PATIENCE = 6
"""Wall time per second of processor time that a child may take: a busy machine shares its processors."""


class Exceeded(Exception):
    """The child took longer than it may."""


class Failed(Exception):
    """The child ended without a result; the text is the last line that it wrote, empty where it was killed."""


def run(script: Path, arguments: Sequence[str] = (), *, given: bytes = b"", seconds: int, megabytes: int) -> bytes:
    """What ``script`` writes for ``given``. Raises Exceeded after ``seconds``, and Failed where it ends badly.

    ``seconds`` are of processor time where the system can limit that, and ``PATIENCE`` times as many of wall time
    anywhere. ``megabytes`` bound the address space where the system can; a script that asks for more ends badly. The
    script gets both as its first two arguments.
    """
    command = [sys.executable, "-P", str(script), str(seconds), str(megabytes), *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE * seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Exceeded from None
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        raise Exceeded
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() if done.returncode == 1 else []
        raise Failed(lines[-1] if lines else "")
    return done.stdout


def limit(seconds: int, megabytes: int) -> None:
    """Bound the processor time and the address space of this process, each where the system has such a limit."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", megabytes * MEGABYTE)):
        try:
            resource.setrlimit(getattr(resource, name), (value, value + 1 if name == "RLIMIT_CPU" else value))
        except (AttributeError, ValueError, OSError):
            continue
