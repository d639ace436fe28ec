"""Liveness: the lock that allows one runner per workspace, and the heartbeats of attempts."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from isoplan.trainers.backend.store.record import beat_of

LOCK, STATUS = "runner.lock", "runner.json"
"""Names of the lock file and of the status file of the runner."""
BEAT = 1.0
"""Seconds between two heartbeats of an attempt."""
SILENT = 20.0
"""Seconds without a new heartbeat, measured by the local clock, after which an attempt counts as dead."""

_SAID = re.compile(rb"(\S+) ([0-9]{1,9})\s+([0-9]{1,12})\s")
"""Pattern of a heartbeat file: host name, process id, and number of heartbeats so far."""


@contextlib.contextmanager
def hold_lock(path: Path, patience: float = 0.0) -> Iterator[bool]:
    """Try to acquire the lock at ``path``, and yield whether it was acquired.

    The lock is tried for ``patience`` seconds, because each call of ``is_held`` holds the lock briefly. The system
    releases the lock at the end of the ``with`` block or of the process.
    """
    until = time.monotonic() + patience
    with path.open("a") as file:
        while not (got := _lock(file)) and time.monotonic() < until:
            time.sleep(0.05)
        yield got


def _lock(file: IO[str]) -> bool:
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_held(path: Path) -> bool:
    """Return whether another process holds the lock at ``path``."""
    if not path.exists():
        return False
    with hold_lock(path) as got:
        return not got


def lived(folder: Path, number: int) -> float:
    """Return how long attempt ``number`` has run, in seconds, from its number of heartbeats.

    Returns 0 if the attempt has not begun or its heartbeat file is damaged.
    """
    said = _SAID.match(_read(folder, number))
    return float(said[3]) * BEAT if said else 0.0


def _read(folder: Path, number: int) -> bytes:
    try:
        return beat_of(folder, number).read_bytes()
    except OSError:
        return b""


@dataclass(eq=False)
class HeartbeatMonitor:
    """The latest heartbeat of each attempt, and the local time at which this heartbeat was first observed.

    Clocks of different machines can disagree, so the time in a heartbeat file of another machine is not used.
    """

    seen: dict[tuple[str, int], tuple[bytes, float]] = field(default_factory=dict)

    def begun(self, folder: Path, number: int) -> bool:
        """Return whether attempt ``number`` has written a heartbeat."""
        return beat_of(folder, number).exists()

    def alive(self, folder: Path, number: int) -> bool:
        """Return whether attempt ``number`` may be alive.

        An attempt that has not begun is not alive. An attempt on this machine is dead if its process no longer exists.
        An attempt on any machine counts as dead if its heartbeat has not changed for ``SILENT`` seconds.
        """
        if not self.begun(folder, number):
            return False
        said = _read(folder, number)
        found = _SAID.match(said)
        if found and found[1] == socket.gethostname().encode() and not _runs(int(found[2])):
            return False
        key, now = (folder.name, number), time.monotonic()
        before = self.seen.get(key)
        if before is None or before[0] != said:
            self.seen[key] = (said, now)
            return True
        return now - before[1] < SILENT


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
