"""Named moments at which a process may die: tests of faults kill it right there, and nothing else happens.

``ISOPLAN_DIE_AT=name:FILE`` ends the process that reaches ``name`` first, as kill -9 does, and writes FILE so that it
happens once.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "ISOPLAN_DIE_AT"


def fault_point(name: str) -> None:
    """The process is at the moment ``name``."""
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
