"""Execution of scripts on external files in a child process, with limits of time and memory.

The child is a separate Python file that reads its input from standard input and writes its result to standard output.
Its first statement is ``limit(...)``. It starts without the user's site packages path.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 2**20
PATIENCE = 6
"""Limit of wall time per second of processor time: on a busy machine, processes share the processors."""


class Exceeded(Exception):
    """The child exceeded its time limit."""


class Failed(Exception):
    """The child ended without a result. The text is the last line that it wrote, empty if it was killed."""


def run(script: Path, arguments: Sequence[str] = (), *, given: bytes = b"", seconds: int, megabytes: int) -> bytes:
    """Run ``script`` on ``given`` and return its output.

    Raises Exceeded if it takes too long, and Failed if it fails. ``seconds`` limit the processor time if the system
    supports it, and ``PATIENCE`` times ``seconds`` the wall time on every system. ``megabytes`` limit the address space
    if the system supports it; a script that needs more fails. The script gets both as its first two arguments.
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
    """Limit the processor time and the address space of this process, as far as the system supports each limit."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", megabytes * MEGABYTE)):
        try:
            resource.setrlimit(getattr(resource, name), (value, value + 1 if name == "RLIMIT_CPU" else value))
        except (AttributeError, ValueError, OSError):
            continue
