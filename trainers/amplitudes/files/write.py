"""Write events to files. A file is written completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files.formats import AMPLITUDE, MOMENTA, PROCESS, WEIGHT, columns_of, format_of
from isoplan.trainers.backend.store.files import replace, writing


def write_events(path: Path, events: Events) -> None:
    """Write ``events`` to ``path``, weights included, in the format given by its extension.

    Raises PlannerError if the extension is unknown, the folder cannot be written, or the disk is full.
    """
    write = WRITERS[format_of(path)]
    with writing(path.parent):
        replace(path, lambda place: write(place, events))


def need_place(path: Path) -> None:
    """Check that events can be written to ``path``.

    Raises PlannerError if the extension is unknown, the file exists, or the folder does not exist.
    """
    format_of(path)
    if path.exists():
        raise PlannerError(f"{path} is there already: name another file with --out, or delete it.")
    if not path.parent.is_dir():
        raise PlannerError(f"There is no folder {path.parent}: make it, or name a file in another one with --out.")


def _npz(place: Path, events: Events) -> None:
    numbers = {MOMENTA: events.momenta, AMPLITUDE: events.amplitude, WEIGHT: events.weight}
    arrays: dict[str, Any] = {**numbers, PROCESS: np.array(events.process)}
    with place.open("wb") as file:
        np.savez(file, **arrays)


def _hdf5(place: Path, events: Events) -> None:
    import h5py

    with h5py.File(place, "w") as file:
        file[MOMENTA], file[AMPLITUDE], file[WEIGHT] = events.momenta, events.amplitude, events.weight
        file.attrs[PROCESS] = events.process


def _parquet(place: Path, events: Events) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    particles = events.momenta.shape[1]
    numbers = events.momenta.reshape(len(events), -1)
    columns = {name: numbers[:, i] for i, name in enumerate(columns_of(particles))}
    table = pa.table({**columns, AMPLITUDE: events.amplitude, WEIGHT: events.weight})
    pq.write_table(table.replace_schema_metadata({PROCESS: events.process}), place)


WRITERS: dict[str, Callable[[Path, Events], None]] = {"npz": _npz, "hdf5": _hdf5, "parquet": _parquet}
