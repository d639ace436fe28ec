"""Work on files from outside in a child process, under limits of time and memory.

The child is a Python file of its own that reads its input on standard input and writes its result to standard output;
its first statement is ``limit(...)``. It starts without the user's site packages path and environment.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 2**20


class Exceeded(Exception):
    """The child took longer than it may."""


class Failed(Exception):
    """The child ended without a result; the text is the last line that it wrote, empty where it was killed."""


def run(script: Path, arguments: Sequence[str] = (), *, given: bytes = b"", seconds: float, megabytes: int) -> bytes:
    """What ``script`` writes for ``given``. Raises Exceeded after ``seconds``, and Failed where it ends badly.

    ``megabytes`` bound its address space where the system can; a script that asks for more ends badly.
    """
    command = [sys.executable, "-P", str(script), str(megabytes), *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Exceeded from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() if done.returncode == 1 else []
        raise Failed(lines[-1] if lines else "")
    return done.stdout


def limit(megabytes: int) -> None:
    """Bound the address space of this process; nothing happens where the system has no such limit."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE, megabytes * MEGABYTE))
    except (ImportError, ValueError, OSError):
        pass
