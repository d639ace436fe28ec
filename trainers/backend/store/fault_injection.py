"""Fault points: named points in the code at which a test can kill the process. Otherwise they do nothing.

``ISOPLAN_DIE_AT=name:FILE`` kills the first process that reaches ``name``, as kill -9 does. FILE is written so that
this happens only once.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "ISOPLAN_DIE_AT"


def fault_point(name: str) -> None:
    """Kill the process if the environment asks for it at the fault point ``name``."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    where, _, marker = asked.partition(":")
    if where != name:
        return
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
