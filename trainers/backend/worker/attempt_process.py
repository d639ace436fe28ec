"""One attempt of one cell in a worker process: train the cell, report progress, write the result."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.fault_injection import fault_point
from isoplan.trainers.backend.store.record import CHECKPOINT, DIED, LEASE, beat_of, log_of, read_record, result_of
from isoplan.trainers.backend.worker.attempt import Attempt
from isoplan.trainers.cell import Cell, Died, Family, Stopped
from isoplan.trainers.families import find_family, read_cell

TRIM, MMAP = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's mallopt."""
KEPT = 2**30
"""Maximum number of free bytes at the end of the heap."""
LARGEST = 2**25
"""Maximum size in bytes of arrays on the heap. glibc allows no larger value."""


@contextlib.contextmanager
def reuse_freed_memory() -> Iterator[None]:
    """Keep freed memory in this process until the context ends, then return it to the system.

    Dask makes its workers return every freed page, so that a training step would need up to half of its time to get the
    pages of its activations again. Without glibc nothing is done.
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


LOG_BYTES = 20_000_000
"""Maximum number of bytes of a log. A cell that prints more continues without a log."""


def run_cell(folder: str, number: int, device: str = "cpu") -> str:
    """Run attempt ``number`` of the cell in ``folder`` on ``device`` and return its final state.

    The state is done, failed, stopped, died or stale. An exception of the training becomes a result with one sentence;
    the log contains the traceback. Raises DiskFull if the result cannot be written.
    """
    place = Path(folder)
    record = read_record(place)
    if record is None or record.damage or record.number != number or record.result is not None:
        return "stale"
    if beat_of(place, number).exists():  # a scheduler submits again if a worker died
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
            (place / CHECKPOINT).unlink(missing_ok=True)
    return state


def _train(family_name: str, raw: dict[str, Any], attempt: Attempt) -> tuple[str, str, dict[str, Any]]:
    """Train the cell. Returns the final state, the reason, and for a finished cell the result fields."""
    try:
        family = find_family(family_name, attempt.root)
        cell = read_cell(family, raw)
        about = _about(family, cell)
        with _threads(cell), reuse_freed_memory(), files.room(attempt.folder):
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
    except OSError as error:
        traceback.print_exc()
        return "failed", f"The training ended with {type(error).__name__}: {error}.", {}
    except MemoryError:
        traceback.print_exc()
        return "failed", "The training ran out of memory: make the cell smaller, or give it more.", {}
    except Exception as error:
        traceback.print_exc()
        return "failed", f"The training ended with {type(error).__name__}: {error}.", {}


def _about(family: Family[Any], cell: Cell) -> dict[str, Any]:
    """Return the additional fields of a row of the run table, from the family that trains the cell."""
    sizes = {name: float(x) for name, x in asdict(family.sizes(cell)).items() if x is not None and math.isfinite(x)}
    return {"version": family.version, "sizes": sizes, "loss": family.loss, "directions": dict(family.metrics)}


def _checked(family: Family[Any], measured: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics as numbers. Raises PlannerError if the loss is missing or a value is not finite."""
    metrics = {str(name): float(value) for name, value in measured.items()}
    if family.loss not in metrics:
        raise PlannerError(f"The training ended without a {family.loss}: it must return one.")
    for name, value in metrics.items():
        if value != value or value in (float("inf"), float("-inf")):
            raise PlannerError(f"The training diverged: its {name} is {value}.")
    return metrics


def _ours(folder: Path, number: int) -> bool:
    """Return whether the lease is still that of attempt ``number``."""
    return (files.read_json(folder / LEASE) or {}).get("number") == number


@contextlib.contextmanager
def _threads(cell: Cell) -> Iterator[None]:
    """Limit the threads of the numerical libraries to those of the cell."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(cell.threads):
        yield


@contextlib.contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    """Redirect the output of this process and its libraries to ``log``."""
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
