"""Who lives: one runner for a workspace, and attempts that beat."""

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
"""The runner's lock, and what it says of itself."""
BEAT = 1.0
"""Seconds between two signs of life of an attempt."""
SILENT = 20.0
"""Seconds without a beat after which an attempt elsewhere counts as dead, by the watch of the one who looks."""

_SAID = re.compile(rb"(\S+) ([0-9]{1,9})\s+([0-9]{1,12})\s")
"""What an attempt writes at each beat: its host, its process, and how many beats there were."""


@contextlib.contextmanager
def hold_lock(path: Path, patience: float = 0.0) -> Iterator[bool]:
    """Whether this process got the lock at ``path``; the system frees it when the process ends.

    Tries for ``patience`` seconds: whoever asks ``is_held`` has the lock for an instant.
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
    """Whether another process holds the lock at ``path``."""
    if not path.exists():
        return False
    with hold_lock(path) as got:
        return not got


def lived(folder: Path, number: int) -> float:
    """Seconds that attempt ``number`` has beaten for; 0 where it has not begun, or its file is damaged."""
    said = _SAID.match(_read(folder, number))
    return float(said[3]) * BEAT if said else 0.0


def _read(folder: Path, number: int) -> bytes:
    try:
        return beat_of(folder, number).read_bytes()
    except OSError:
        return b""


@dataclass(eq=False)
class HeartbeatMonitor:
    """What was last seen of attempts' beats, and when: clocks of other machines are not believed."""

    seen: dict[tuple[str, int], tuple[bytes, float]] = field(default_factory=dict)

    def begun(self, folder: Path, number: int) -> bool:
        """Whether attempt ``number`` has beaten at all."""
        return beat_of(folder, number).exists()

    def alive(self, folder: Path, number: int) -> bool:
        """Whether attempt ``number`` may still live: its process is there, or its beat has changed lately.

        One that has not begun belongs to a runner that is gone, and so does not live.
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
