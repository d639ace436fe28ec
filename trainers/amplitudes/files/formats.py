"""Formats of event files: names of columns, which format a file has, and the memory that its events take."""

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
    """The columns of momenta in Parquet, particle by particle."""
    return [f"p{leg}_{name}" for leg in range(particles) for name in COMPONENTS]


def format_of(path: Path) -> str:
    """``npz``, ``hdf5`` or ``parquet``. Raises PlannerError for another name, and where h5py is missing."""
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
    """Whatever a file makes of the library that reads it is one sentence."""
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:  # a damaged file raises almost anything
        raise PlannerError(f"{path} is damaged or cut short: copy or make it again.") from error


COPIES = 3
"""Of all numbers that reading, checking and making events hold at once, counted generously."""
SHARE = 0.8
"""Of the machine's memory, which events may take."""


def bytes_of(n: int, particles: int) -> int:
    """Of ``n`` events: double precision for momenta, amplitude and weight."""
    return 8 * n * (4 * particles + 2)


def no_memory(what: str) -> PlannerError:
    """That ``what`` took more memory than there was left, though ``need_memory`` let it pass."""
    return PlannerError(f"{what[0].upper()}{what[1:]} take more memory than is free: give fewer events, or free some.")


def need_memory(n: int, particles: int, what: str) -> None:
    """Raises PlannerError where ``what``, ``n`` events, takes more memory than there is; says how many would fit."""
    usable = usable_memory() * SHARE
    need = COPIES * bytes_of(n, particles)
    if usable and need > usable:
        most = int(usable // (COPIES * bytes_of(1, particles)))
        raise PlannerError(
            f"{what[0].upper()}{what[1:]} take {need / 1e9:.1f} GB of memory and {usable / 1e9:.1f} GB may be used: "
            f"{most:,} events would fit."
        )
