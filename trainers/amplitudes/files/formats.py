"""What the three formats share: names of columns, which format a file has, and packages that come with an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from isoplan.engine.errors import PlannerError

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
    found = FORMATS[path.suffix.lower()]
    if found == "hdf5" and find_spec("h5py") is None:
        raise PlannerError(
            "HDF5 files need the extra amplitudes (h5py): install it with pip install 'isoplan[amplitudes]'."
        )
    return found


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Whatever a file makes of the library that reads it is one sentence."""
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:  # a damaged file raises almost anything
        raise PlannerError(f"{path} is damaged or cut short: copy or make it again.") from error
