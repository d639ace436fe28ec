"""The run context of a running cell: the events of its attempt, and a watchdog that ends it if necessary."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Self

from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.fault_injection import fault_point
from isoplan.trainers.backend.store.heartbeat import BEAT
from isoplan.trainers.backend.store.record import CHECKPOINT, LEASE, STOP, beat_of, events_of, result_of, saved_at
from isoplan.trainers.cell import Stopped

GRACE = 5.0
"""Seconds that an attempt has to stop after a request."""
CHECKPOINT_EVERY = 15.0
"""Seconds between two checkpoints, unless the family sets other times."""
POINTS = 400
"""Number of points of a curve after which only every second one is written, then every fourth, and so on."""


class Attempt:
    """The run context of attempt ``number`` of the cell in ``folder``.

    A thread writes heartbeats and checks the lease. It ends the process if the lease has a new number, if a stop
    request is not followed within 5 s, or if the process that started the worker is gone.
    """

    def __init__(self, folder: Path, number: int, device: str) -> None:
        self.device, self.folder, self.number = device, folder, number
        self.steps, self.why = 0, ""
        self._every, self._written = 1, 0
        self._began = self._saved = time.monotonic()
        self._over = threading.Event()
        self._parent = os.getppid()
        self._before = saved_at(folder)

    def __enter__(self) -> Self:
        files.sweep(self.folder, CHECKPOINT, "result-*.json")
        self._events = FileIO(events_of(self.folder, self.number), "ab")
        self._beat = FileIO(beat_of(self.folder, self.number), "w")
        try:
            self._say_alive(0)
        except OSError:
            self._close()
            raise
        self._watch = threading.Thread(target=self._watching, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()
        self._close()

    def _close(self) -> None:
        self._events.close()
        self._beat.close()

    @property
    def root(self) -> Path:
        """The path of the workspace."""
        return self.folder.parents[1]

    @property
    def resume(self) -> Path | None:
        """The checkpoint of an earlier attempt, or None."""
        place = self.folder / CHECKPOINT
        return place if place.exists() else None

    @property
    def further(self) -> bool:
        """Whether this attempt has written a checkpoint."""
        return saved_at(self.folder) not in (0, self._before)

    @property
    def stopping(self) -> bool:
        """Whether this attempt was asked to stop."""
        place = self.folder / STOP
        if not place.exists():
            return False
        asked = files.read_json(place)
        if asked is None or asked.get("number") != self.number:
            return False
        self.why = str(asked.get("why", "stop"))
        fault_point("during-cancel")
        return True

    def step(self, step: int, total: int | None = None, /, **values: float) -> None:
        """Record the step and measured values. Raises Stopped if a stop was requested."""
        self.steps = step
        if values and step % self._every == 0:
            self._write(step, total, values)
        if self.stopping:
            raise Stopped

    @property
    def checkpoint_due(self) -> bool:
        """Whether a new checkpoint is due, by its time or because of a stop request."""
        return time.monotonic() - self._saved > CHECKPOINT_EVERY or self.stopping

    def save(self, write: Callable[[Path], None]) -> None:
        """Replace the checkpoint."""

        def whole(place: Path) -> None:
            write(place)
            fault_point("in-checkpoint")

        files.replace(self.folder / CHECKPOINT, whole)
        fault_point("after-checkpoint")
        self._saved = time.monotonic()

    def _write(self, step: int, total: int | None, values: dict[str, float]) -> None:
        said = {name: value if math.isfinite(value) else str(value) for name, value in values.items()}
        line = {"step": step, "at": round(time.time(), 3), **({"total": total} if total else {}), **said}
        self._events.write(json.dumps(line).encode() + b"\n")
        self._written += 1
        if self._written % POINTS == 0:
            self._every *= 2

    def _watching(self) -> None:
        asked: float | None = None
        beats = 0
        while not self._over.wait(BEAT):
            beats += 1
            with contextlib.suppress(OSError):  # a full disk must end the training, not this thread
                self._say_alive(beats)
            now = time.monotonic()
            if self.stopping:
                asked = asked or now
                if now - asked > GRACE:
                    self._end("The training did not stop when it was asked to, so its process was ended.")
            if os.getppid() != self._parent:
                os._exit(3)
            lease = files.read_json(self.folder / LEASE)
            if lease is None or lease.get("number") != self.number:
                os._exit(4)

    def _say_alive(self, beats: int) -> None:
        """Write the heartbeat in place, so that the modification time of the folder does not change."""
        self._beat.seek(0)
        self._beat.write(f"{socket.gethostname()} {os.getpid()} {beats:>12}\n".encode())

    def _end(self, why: str) -> None:
        """Write the result and end the process."""
        seconds = time.monotonic() - self._began
        ended = {"number": self.number, "state": "stopped", "metrics": {}, "why": self.why, "note": why}
        try:
            files.write_json(result_of(self.folder, self.number), {**ended, "seconds": seconds, "device": self.device})
        finally:
            os._exit(5)
