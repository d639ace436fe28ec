"""One attempt of one cell in a worker process: its run context, the training, and its result."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import platform
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Self

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.files import fault_point
from isoplan.trainers.backend.store.heartbeat import BEAT
from isoplan.trainers.backend.store.record import (
    CHECKPOINT,
    DIED,
    LEASE,
    STOP,
    beat_of,
    events_of,
    log_of,
    read_record,
    result_of,
    saved_at,
)
from isoplan.trainers.cell import Cell, Died, Family, Stopped
from isoplan.trainers.families import find_family, read_cell

GRACE = 5.0
"""Seconds that an attempt has to stop after a stop request. Its process is ended after this time."""
CHECKPOINT_EVERY = 15.0
"""Seconds between two checkpoints."""
POINTS = 400
"""Number of points of a learning curve after which the interval between the written steps doubles.

At first, every step with values is written. After ``POINTS`` points, only even steps are written, later only multiples
of four, and so on.
"""


class Attempt:
    """The run context of attempt ``number`` of the cell in ``folder``.

    A thread writes heartbeats and checks the lease. The thread ends the process in three cases: the lease has a new
    number, the training has not stopped 5 s after a stop request, or the parent process of the worker has ended.
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
        """The path of the checkpoint that an earlier attempt has saved, or None."""
        place = self.folder / CHECKPOINT
        return place if place.exists() else None

    @property
    def further(self) -> bool:
        """Whether this attempt has saved a checkpoint."""
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
        """Report the current step, the total number of steps, and measured values.

        Raises Stopped if a stop was requested.
        """
        self.steps = step
        if values and step % self._every == 0:
            self._write(step, total, values)
        if self.stopping:
            raise Stopped

    @property
    def checkpoint_due(self) -> bool:
        """Whether a checkpoint should be saved now: the last one is too old, or a stop was requested."""
        return time.monotonic() - self._saved > CHECKPOINT_EVERY or self.stopping

    def save(self, write: Callable[[Path], None]) -> None:
        """Replace the checkpoint. The function ``write`` must write the new checkpoint to the path that it receives."""

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
            # If the disk is full, this thread must continue. The training then ends with its own error.
            with contextlib.suppress(OSError):
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
        """Overwrite the heartbeat file in place, so that the modification time of the folder does not change."""
        self._beat.seek(0)
        self._beat.write(f"{socket.gethostname()} {os.getpid()} {beats:>12}\n".encode())

    def _end(self, why: str) -> None:
        """Write the result of a stopped attempt with the note ``why``, and end the process."""
        seconds = time.monotonic() - self._began
        ended = {"number": self.number, "state": "stopped", "metrics": {}, "why": self.why, "note": why}
        try:
            files.write_json(result_of(self.folder, self.number), {**ended, "seconds": seconds, "device": self.device})
        finally:
            os._exit(5)


TRIM, MMAP = -1, -3
"""Numbers of the parameters M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's function mallopt."""
KEPT = 2**30
"""Maximum number of free bytes at the end of the heap that the process does not return to the system."""
LARGEST = 2**25
"""Maximum size in bytes of arrays that are allocated on the heap. glibc allows no larger value."""


@contextlib.contextmanager
def reuse_freed_memory() -> Iterator[None]:
    """Keep freed memory in this process during the ``with`` block, then return the memory to the system.

    By default, Dask workers return every freed page to the system. A training step would then spend up to half of its
    time on allocating memory for its activations again. On a system without glibc, nothing is changed.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):
        yield
        return
    libc.mallopt(TRIM, KEPT)
    libc.mallopt(MMAP, LARGEST)
    try:
        yield
    finally:
        libc.malloc_trim(0)


def run_cell(folder: str, number: int, device: str = "cpu") -> str:
    """Run attempt ``number`` of the cell in ``folder`` on ``device`` and return its final state.

    The state is done, failed, stopped, died, or stale (the attempt is no longer valid). If the training raises an
    exception, the result file contains one sentence about it, and the log contains the traceback. Raises DiskFull if
    the result cannot be written.
    """
    place = Path(folder)
    record = read_record(place)
    if record is None or record.damage or record.number != number or record.result is not None:
        return "stale"
    if beat_of(place, number).exists():  # submitted again by the scheduler after a worker died
        return "stale"
    fault_point("after-lease")
    begun, clock = datetime.now(UTC), time.monotonic()
    with files.room(place), Attempt(place, number, device) as attempt, _printing_to(log_of(place, number)):
        state, why, said = _train(record.family, record.cell, attempt)
    ended: dict[str, Any] = {
        "number": number,
        "state": state,
        "metrics": {},
        "begun": begun.isoformat(timespec="milliseconds"),
        "seconds": time.monotonic() - clock,
        "host": platform.node(),
        "device": device,
        "steps": attempt.steps,
        **({"why": why} if why else {}),
        **said,
    }
    if not _ours(place, number):
        return "stale"
    files.write_json(result_of(place, number), ended, "result")
    if state == "done":
        with contextlib.suppress(OSError):
            (place / CHECKPOINT).unlink()
    return state


def _train(family_name: str, raw: dict[str, Any], attempt: Attempt) -> tuple[str, str, dict[str, Any]]:
    """Train a cell and return (final state, reason, additional fields of the result).

    The reason is "" for a finished cell. The additional fields of a finished cell include its metrics.
    """
    try:
        from threadpoolctl import threadpool_limits  # limits the threads of numerical libraries

        family = find_family(family_name, attempt.root)
        cell = read_cell(family, raw)
        about = _about(family, cell)
        with threadpool_limits(cell.threads), reuse_freed_memory(), files.room(attempt.folder):
            measured = family.train(cell, attempt)
        return "done", "", {"metrics": _checked(family, measured), **about}
    except Stopped:
        return "stopped", attempt.why, {}
    except Died as error:
        return DIED, str(error), {"counts": not attempt.further}
    except files.DiskFull:
        return "stopped", files.FULL, {}
    except PlannerError as error:
        return "failed", str(error), {}
    except MemoryError:
        traceback.print_exc()
        return "failed", "The training ran out of memory: make the cell smaller, or provide more memory.", {}
    except Exception as error:
        traceback.print_exc()
        return "failed", f"The training ended with {type(error).__name__}: {error}.", {}


def _about(family: Family[Any], cell: Cell) -> dict[str, Any]:
    """Return the fields that the family adds to the result of a cell: version, sizes, loss and metrics."""
    sizes = {name: float(x) for name, x in asdict(family.sizes(cell)).items() if x is not None and math.isfinite(x)}
    return {"version": family.version, "sizes": sizes, "loss": family.loss, "directions": dict(family.metrics)}


def _checked(family: Family[Any], measured: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics as floats. Raises PlannerError if the loss is missing or a value is not finite."""
    metrics = {str(name): float(value) for name, value in measured.items()}
    if family.loss not in metrics:
        raise PlannerError(f"The training ended without a {family.loss}: it must return one.")
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise PlannerError(f"The training diverged: its {name} is {value}.")
    return metrics


def _ours(folder: Path, number: int) -> bool:
    """Return whether the lease of the cell still belongs to attempt ``number``."""
    return (files.read_json(folder / LEASE) or {}).get("number") == number


@contextlib.contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    """Redirect the output of this process and of its libraries to ``log`` during the ``with`` block."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    with log.open("ab", buffering=0) as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        for stream, old in zip((1, 2), saved, strict=True):
            os.dup2(old, stream)
            os.close(old)
