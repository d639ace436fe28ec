"""Event files in the formats NPZ, HDF5 and Parquet; the file name extension determines the format.

- ``.npz``, ``.h5`` and ``.hdf5``: arrays ``momenta`` (events, particles, 4), ``amplitude`` (events,) and, for
  weighted events, ``weight`` (events,). Momenta are in GeV as (E, px, py, pz). The two incoming particles come first.
  The name of a built-in process can be stored in the array ``process`` (NPZ) or in the attribute ``process`` (HDF5).
- ``.parquet``: columns ``p0_E``, ``p0_px``, ``p0_py``, ``p0_pz``, ``p1_E``, ..., ``amplitude`` and ``weight``. The
  order of the particles and the units are the same. The process name is in the metadata of the schema.

A file without a process name contains events of a user-defined process.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events, check_events, check_shapes
from isoplan.trainers.backend.cluster.machine import usable_memory
from isoplan.trainers.backend.store.files import replace, writing

MOMENTA, AMPLITUDE, WEIGHT, PROCESS = "momenta", "amplitude", "weight", "process"
COMPONENTS = ("E", "px", "py", "pz")
FORMATS = {".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5", ".parquet": "parquet"}


def columns_of(particles: int) -> list[str]:
    """Return the names of the momentum columns of a Parquet file: ``p0_E``, ``p0_px``, ``p0_py``, ``p0_pz``, ..."""
    return [f"p{leg}_{name}" for leg in range(particles) for name in COMPONENTS]


def format_of(path: Path) -> str:
    """Return the format of a file: ``npz``, ``hdf5`` or ``parquet``.

    Raises PlannerError if the extension is unknown, or if the format is HDF5 and h5py is not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise PlannerError(f"{path} does not have the extension of an event file: use {', '.join(FORMATS)}.")
    kind = FORMATS[path.suffix.lower()]
    if kind == "hdf5" and find_spec("h5py") is None:
        raise PlannerError("HDF5 files need the package h5py: install it with pip install 'isoplan[amplitudes]'.")
    return kind


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Raise a one-sentence PlannerError in place of any error of a file library in the ``with`` block."""
    try:
        yield
    except (PlannerError, MemoryError):
        raise
    except Exception as error:  # a file library can raise almost any exception for a damaged file
        raise PlannerError(f"{path} is damaged or cut short: copy or make it again.") from error


COPIES = 3
"""Upper estimate of the number of copies of all events in memory while events are read, checked or generated."""
SHARE = 0.8
"""Maximum fraction of the machine's memory that events may use."""


def bytes_of(n: int, particles: int) -> int:
    """Return the memory in bytes of ``n`` events: momenta, amplitude and weight in double precision."""
    return 8 * n * (4 * particles + 2)


def no_memory(what: str) -> PlannerError:
    """Return the error for events that do not fit into memory, although ``need_memory`` accepted them.

    ``what`` describes the events in the message, for example "the events of events.npz".
    """
    return PlannerError(
        f"{what[0].upper()}{what[1:]} need more memory than available: use fewer events, or free memory."
    )


def need_memory(n: int, particles: int, what: str) -> None:
    """Check that ``n`` events fit into memory.

    ``what`` describes the events in the message. Raises PlannerError if they do not fit; the message contains the
    number of events that would fit.
    """
    usable = usable_memory() * SHARE
    need = COPIES * bytes_of(n, particles)
    if usable and need > usable:
        most = int(usable // (COPIES * bytes_of(1, particles)))
        raise PlannerError(
            f"{what[0].upper()}{what[1:]} take {need / 1e9:.1f} GB of memory, but only {usable / 1e9:.1f} GB may be "
            f"used: {most:,} events would fit."
        )


Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and dtype of an array. Files store them separately, so they can be read without the values of the array."""
HEADER = 2**16
"""Number of bytes to read from the start of an NPZ array. The shape and dtype of a valid array are in these bytes."""
NAME_BYTES = 4_000
"""Maximum size in bytes of the process name in a file."""
CHUNK = 2**24
"""Maximum number of values in an HDF5 chunk. HDF5 always loads a whole chunk into memory.

A chunk with more values is accepted if its dataset is at least as large, because the whole dataset is loaded anyway.
"""


def read_events(path: Path, process: str | None = None) -> Events:
    """Read and check the events of a file.

    ``process`` is the built-in process of the events, for a file without a process name. If ``process`` is None, the
    name in the file applies. If ``process`` is "", the events are treated as events of a user-defined
    process.

    Raises PlannerError with a one-sentence message in these cases:

    - The file is missing, empty, truncated, in a wrong format, or larger than the memory.
    - The file contains the name of another process.
    - Columns are missing, have a wrong shape, or are not numeric.
    - ``check_events`` rejects the values.
    """
    kind = format_of(path)
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: give the file of the events.")
    if path.stat().st_size == 0:
        raise PlannerError(f"{path} is empty: copy or make it again.")
    try:
        return _read(path, kind, process)
    except MemoryError:
        raise no_memory(f"the events of {path}") from None


def _read(path: Path, kind: str, process: str | None) -> Events:
    with damaged(path):
        arrays, named = READERS[kind](path)
    if process and named and process != named:
        raise PlannerError(
            f"{path} contains events of {named}, not of {process}: give the process {named}, or no process."
        )
    real = {name: np.ascontiguousarray(array, np.float64) for name, array in arrays.items()}
    weight = real.get(WEIGHT, np.ones(len(real[MOMENTA])))
    try:
        events = Events(real[MOMENTA], real[AMPLITUDE], weight, named if process is None else process)
        if not len(events):
            raise PlannerError("The file contains no events: use another file, or make this file again.")
        check_events(events)
    except PlannerError as error:
        raise PlannerError(f"{path}: {error}") from None
    return events


def _need(path: Path, names: set[str]) -> None:
    if missing := [name for name in (MOMENTA, AMPLITUDE) if name not in names]:
        held = ", ".join(sorted(names)) or "nothing"
        raise PlannerError(
            f"{path} has no {' and no '.join(missing)}, it contains {held}: name its arrays momenta and amplitude."
        )


def _need_events(path: Path, headers: Mapping[str, Header]) -> None:
    """Check the shape and dtype of each array of an event file.

    Arrays must contain real numbers, have the shapes of events, and fit into memory. Raises PlannerError otherwise.
    """
    for name, (_, dtype) in headers.items():
        if dtype.kind not in "fiu":
            raise PlannerError(f"{path}: {name} holds {dtype}, not real numbers: write it as float64.")
    momenta = headers[MOMENTA][0]
    try:
        check_shapes(momenta, {name: shape for name, (shape, _) in headers.items() if name != MOMENTA})
    except PlannerError as error:
        raise PlannerError(f"{path}: {error}") from None
    need_memory(momenta[0], momenta[1], f"the events of {path}")


def _need_name(path: Path, kinds: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Check that the stored process name is a single string, from its ``shape`` and ``dtype``.

    ``kinds`` contains the allowed kinds of a NumPy dtype: "U" in NPZ files, "S" and "O" in HDF5 files. Raises
    PlannerError otherwise.
    """
    if shape or dtype.kind not in kinds or dtype.itemsize > NAME_BYTES:
        raise PlannerError(
            f"{path}: process holds {dtype} of the shape {shape}, not one text: write the name of a built-in process, "
            "or leave it out."
        )


def _npz(path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    if not zipfile.is_zipfile(path):
        raise PlannerError(f"{path} is not an NPZ file, or is cut short: make it with numpy.savez.")
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}
        _need(path, names)
        columns = [name for name in (MOMENTA, AMPLITUDE, WEIGHT) if name in names]
        _need_events(path, {name: _header(archive, name) for name in columns})
        if PROCESS in names:
            _need_name(path, "U", *_header(archive, PROCESS))
        arrays = {name: _array(archive, name) for name in columns}
        return arrays, str(_array(archive, PROCESS)) if PROCESS in names else ""


def _header(archive: zipfile.ZipFile, name: str) -> Header:
    """Return the shape and dtype of the array ``name`` in an NPZ archive, without loading its values."""
    with archive.open(f"{name}.npy") as file:
        start = io.BytesIO(file.read(HEADER))
    version = np.lib.format.read_magic(start)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(start)
    return shape, dtype


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _hdf5(path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    import h5py

    if not h5py.is_hdf5(path):
        raise PlannerError(f"{path} is not an HDF5 file: make it with h5py, with datasets momenta and amplitude.")
    with h5py.File(path, "r") as file:
        links = {name: file.get(name, getlink=True) for name in file}
        own = {name for name, link in links.items() if isinstance(link, h5py.HardLink)}
        names = {name for name in links if name not in own or isinstance(file[name], h5py.Dataset)}
        _need(path, names)
        columns = {name: _stored(path, file, name, own) for name in (MOMENTA, AMPLITUDE, WEIGHT) if name in names}
        _need_events(path, {name: (found.shape or (), found.dtype) for name, found in columns.items()})
        return {name: found[()] for name, found in columns.items()}, _attribute(path, file)


def _stored(path: Path, file: Any, name: str, own: set[str]) -> Any:
    """Return the HDF5 dataset ``name`` without loading its values.

    ``own`` contains the names of the objects that are stored in this file itself. Names of links are not in ``own``.
    Raises PlannerError if the values are in another file or dataset, or if the chunks are too large.
    """
    if name not in own or file[name].external is not None or file[name].is_virtual:
        raise PlannerError(
            f"{path}: {name} is a link to numbers that are stored elsewhere: store the numbers in {name} itself."
        )
    found = file[name]
    if math.prod(found.chunks or ()) > max(found.size or 0, CHUNK):
        raise PlannerError(
            f"{path}: {name} has chunks of the shape {found.chunks}: store it in smaller chunks, or without chunks."
        )
    return found


def _attribute(path: Path, file: Any) -> str:
    if PROCESS not in file.attrs:
        return ""
    held = file.attrs.get_id(PROCESS)
    _need_name(path, "SO", held.shape, held.dtype)
    value = file.attrs[PROCESS]
    return value.decode() if isinstance(value, bytes) else str(value)


def _parquet(path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise PlannerError(f"{path} is not a Parquet file: write it with pandas, pyarrow or polars.")
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        legs = [int(found[1]) for name in schema.names if (found := re.fullmatch(r"p(\d{1,3})_E", name))]
        particles = max(legs, default=-1) + 1
        wanted = [*columns_of(max(particles, 1)), AMPLITUDE]
        if missing := [name for name in wanted if name not in schema.names]:
            raise PlannerError(
                f"{path} has no column {', '.join(missing[:4])}{', ...' if len(missing) > 4 else ''}: name the columns "
                f"p0_{', p0_'.join(COMPONENTS)}, p1_E and so on, and amplitude."
            )
        for name in [*wanted, WEIGHT] if WEIGHT in schema.names else wanted:
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise PlannerError(f"{path}: {name} holds {kind}, not real numbers: write it as float64.")
        need_memory(file.metadata.num_rows, particles, f"the events of {path}")
        table = file.read(columns=wanted + [WEIGHT] * (WEIGHT in schema.names))
        numbers = {name: table[name].to_numpy() for name in table.column_names}
        momenta = np.stack([np.asarray(numbers[name], np.float64) for name in columns_of(particles)], axis=1)
        named = (schema.metadata or {}).get(PROCESS.encode(), b"").decode()
    rest = {name: numbers[name] for name in (AMPLITUDE, WEIGHT) if name in numbers}
    return {MOMENTA: momenta.reshape(-1, particles, 4), **rest}, named


READERS: dict[str, Callable[[Path], tuple[dict[str, NDArray[Any]], str]]] = {
    "npz": _npz,
    "hdf5": _hdf5,
    "parquet": _parquet,
}


def write_events(path: Path, events: Events) -> None:
    """Write ``events`` with their weights to ``path``. The extension of ``path`` determines the format.

    Raises PlannerError if the extension is unknown, the folder cannot be written, or the disk is full.
    """
    write = WRITERS[format_of(path)]
    with writing(path.parent):
        replace(path, lambda place: write(place, events))


def need_place(path: Path) -> None:
    """Check that a new event file can be written to ``path``.

    Raises PlannerError if the extension is unknown, the file exists, or the folder does not exist.
    """
    format_of(path)
    if path.exists():
        raise PlannerError(f"{path} already exists: name another file with --out, or delete it.")
    if not path.parent.is_dir():
        raise PlannerError(f"There is no folder {path.parent}: make it, or name a file in another folder with --out.")


def _write_npz(place: Path, events: Events) -> None:
    numbers = {MOMENTA: events.momenta, AMPLITUDE: events.amplitude, WEIGHT: events.weight}
    arrays: dict[str, Any] = {**numbers, PROCESS: np.array(events.process)}
    with place.open("wb") as file:
        np.savez(file, **arrays)


def _write_hdf5(place: Path, events: Events) -> None:
    import h5py

    with h5py.File(place, "w") as file:
        file[MOMENTA], file[AMPLITUDE], file[WEIGHT] = events.momenta, events.amplitude, events.weight
        file.attrs[PROCESS] = events.process


def _write_parquet(place: Path, events: Events) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    particles = events.momenta.shape[1]
    numbers = events.momenta.reshape(len(events), -1)
    columns = {name: numbers[:, i] for i, name in enumerate(columns_of(particles))}
    table = pa.table({**columns, AMPLITUDE: events.amplitude, WEIGHT: events.weight})
    pq.write_table(table.replace_schema_metadata({PROCESS: events.process}), place)


WRITERS: dict[str, Callable[[Path, Events], None]] = {"npz": _write_npz, "hdf5": _write_hdf5, "parquet": _write_parquet}
