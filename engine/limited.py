"""Run scripts that read untrusted files in a child process, with limits of time and memory.

The child is a separate Python file that reads its input from standard input and writes its result to standard output.
Its first statement is ``limit(...)``. Its import path does not contain the folder of the script.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MEGABYTE = 2**20
PATIENCE = 6
"""Wall-time limit divided by the processor-time limit. It exceeds 1 because a process waits on a busy machine."""


class Exceeded(Exception):
    """The child exceeded its time limit."""


class Failed(Exception):
    """The child ended without a result.

    The message is the last line of the child's error output. It is empty if the child was killed.
    """


def run(script: Path, arguments: Sequence[str] = (), *, given: bytes = b"", seconds: int, megabytes: int) -> bytes:
    """Run ``script`` with ``given`` as its standard input and return its standard output.

    ``seconds`` limits the processor time, and ``megabytes`` the address space, on systems that support these limits. A
    script that needs more memory fails. On every system, the wall time is limited to ``PATIENCE`` times ``seconds``.
    The first two arguments of the script are ``seconds`` and ``megabytes``, followed by ``arguments``. Raises Exceeded
    if a time limit is reached, and Failed if the script ends with an error.
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
    """Limit the processor time and the address space of this process. A limit that the system lacks is skipped."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", megabytes * MEGABYTE)):
        try:
            resource.setrlimit(getattr(resource, name), (value, value + 1 if name == "RLIMIT_CPU" else value))
        except (AttributeError, ValueError, OSError):
            continue
