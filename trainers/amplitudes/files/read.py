"""Events from files: looked at before they are loaded, and row by row after that."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlannerError
from trainers.amplitudes.events import Events, check_events
from trainers.amplitudes.files.formats import (
    AMPLITUDE,
    COMPONENTS,
    MOMENTA,
    PROCESS,
    WEIGHT,
    columns_of,
    damaged,
    format_of,
)
from trainers.amplitudes.files.memory import need_memory

Real = NDArray[np.float64]


def read_events(path: Path, process: str | None = None) -> Events:
    """The events of a file; ``process`` names the built-in process where the file does not, "" one of the user's own.

    Raises PlannerError, one sentence, for a file that is not there, empty, cut short, of another format or larger than
    the memory; for columns that are missing, of another shape or no numbers; and as ``check_events``.
    """
    kind = format_of(path)
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: give the file of the events.")
    if path.stat().st_size == 0:
        raise PlannerError(f"{path} is empty: copy or make it again.")
    with damaged(path):
        arrays, named = READERS[kind](path)
    if process and named and process != named:
        raise PlannerError(f"{path} holds events of {named}, not of {process}: name that process, or none.")
    momenta, amplitude = _real(path, MOMENTA, arrays), _real(path, AMPLITUDE, arrays)
    weight = _real(path, WEIGHT, arrays) if WEIGHT in arrays else np.ones(len(momenta))
    try:
        events = Events(momenta, amplitude, weight, named if process is None else process)
        if not len(events):
            raise PlannerError("there are no events in it: leave it out or make it again.")
        check_events(events)
    except PlannerError as error:
        raise PlannerError(f"{path}: {error}") from None
    return events


def _real(path: Path, name: str, arrays: Mapping[str, NDArray[Any]]) -> Real:
    """A column in double precision, whatever kind of real number it has."""
    array = arrays[name]
    if array.dtype.kind not in "fiu":
        raise PlannerError(f"{path}: {name} holds {array.dtype}, not real numbers: write it as float64.")
    return np.ascontiguousarray(array, np.float64)


def _need(path: Path, names: set[str]) -> None:
    if missing := [name for name in (MOMENTA, AMPLITUDE) if name not in names]:
        held = ", ".join(sorted(names)) or "nothing"
        raise PlannerError(
            f"{path} has no {' and no '.join(missing)} but {held}: name its arrays momenta and amplitude."
        )


def _need_room(path: Path, shape: tuple[int, ...]) -> None:
    """Before anything is loaded; what shapes must be is said later."""
    need_memory(shape[0] if shape else 0, max(1, int(np.prod(shape[1:])) // 4), f"the events of {path}")


def _npz(path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    if not zipfile.is_zipfile(path):
        raise PlannerError(f"{path} is no NPZ file, or is cut short: make it with numpy.savez.")
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
        _need(path, names)
        with archive.open(f"{MOMENTA}.npy") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            _need_room(path, header(file)[0])
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: _unpickled(path, file, name) for name in (MOMENTA, AMPLITUDE, WEIGHT) if name in names}
        return arrays, str(file[PROCESS]) if PROCESS in names else ""


def _unpickled(path: Path, file: Any, name: str) -> NDArray[Any]:
    try:
        return file[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise PlannerError(f"{path}: {name} holds Python objects, not numbers: write it as float64.") from None


def _hdf5(path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    import h5py

    if not h5py.is_hdf5(path):
        raise PlannerError(f"{path} is no HDF5 file: make it with h5py, with data sets momenta and amplitude.")
    with h5py.File(path, "r") as file:
        names = {name for name, held in file.items() if isinstance(held, h5py.Dataset)}
        _need(path, names)
        _need_room(path, file[MOMENTA].shape)
        return {name: file[name][()] for name in (MOMENTA, AMPLITUDE, WEIGHT) if name in names}, _text(
            file.attrs.get(PROCESS, "")
        )


def _parquet(path: Path) -> tuple[dict[str, NDArray[Any]], str]:
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise PlannerError(f"{path} is no Parquet file: write it with pandas, pyarrow or polars.")
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
        _need_room(path, (file.metadata.num_rows, particles * 4))
        table = file.read(columns=wanted + [WEIGHT] * (WEIGHT in schema.names))
        numbers = {name: table[name].to_numpy() for name in table.column_names}
        momenta = np.stack([_number(path, name, numbers[name]) for name in columns_of(particles)], axis=1)
        named = (schema.metadata or {}).get(PROCESS.encode(), b"").decode()
    rest = {name: numbers[name] for name in (AMPLITUDE, WEIGHT) if name in numbers}
    return {MOMENTA: momenta.reshape(-1, particles, 4), **rest}, named


def _number(path: Path, name: str, column: NDArray[Any]) -> Real:
    return _real(path, name, {name: column})


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


READERS: dict[str, Callable[[Path], tuple[dict[str, NDArray[Any]], str]]] = {
    "npz": _npz,
    "hdf5": _hdf5,
    "parquet": _parquet,
}
