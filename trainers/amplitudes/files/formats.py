"""Formats of event files: column names, detection of the format, and the memory that the events need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.cluster.machine import usable_memory

MOMENTA, AMPLITUDE, WEIGHT, PROCESS = "momenta", "amplitude", "weight", "process"
COMPONENTS = ("E", "px", "py", "pz")
FORMATS = {".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5", ".parquet": "parquet"}


def columns_of(particles: int) -> list[str]:
    """Return the names of the momentum columns in Parquet, particle by particle."""
    return [f"p{leg}_{name}" for leg in range(particles) for name in COMPONENTS]


def format_of(path: Path) -> str:
    """Return the format of a file: ``npz``, ``hdf5`` or ``parquet``.

    Raises PlannerError if the extension is unknown, or if the format is HDF5 and h5py is not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise PlannerError(f"{path} is no file of events by its name: use one that ends in {', '.join(FORMATS)}.")
    kind = FORMATS[path.suffix.lower()]
    if kind == "hdf5" and find_spec("h5py") is None:
        raise PlannerError(
            "HDF5 files need the extra amplitudes (h5py): install it with pip install 'isoplan[amplitudes]'."
        )
    return kind


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Convert any error of a file library into a PlannerError with one sentence."""
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise almost any exception
        raise PlannerError(f"{path} is damaged or cut short: copy or make it again.") from error


COPIES = 3
"""Upper estimate of the number of copies of all values in memory while events are read, checked or generated."""
SHARE = 0.8
"""Maximum fraction of the machine's memory that events may use."""


def bytes_of(n: int, particles: int) -> int:
    """Return the memory in bytes of ``n`` events: momenta, amplitude and weight in double precision."""
    return 8 * n * (4 * particles + 2)


def no_memory(what: str) -> PlannerError:
    """Return the error for ``what`` that ran out of memory although ``need_memory`` accepted it."""
    return PlannerError(f"{what[0].upper()}{what[1:]} take more memory than is free: give fewer events, or free some.")


def need_memory(n: int, particles: int, what: str) -> None:
    """Check that the ``n`` events of ``what`` fit into memory.

    Raises PlannerError otherwise; the message gives the number of events that would fit.
    """
    usable = usable_memory() * SHARE
    need = COPIES * bytes_of(n, particles)
    if usable and need > usable:
        most = int(usable // (COPIES * bytes_of(1, particles)))
        raise PlannerError(
            f"{what[0].upper()}{what[1:]} take {need / 1e9:.1f} GB of memory and {usable / 1e9:.1f} GB may be used: "
            f"{most:,} events would fit."
        )
