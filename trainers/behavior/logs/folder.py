"""The folder of an event log: its tables, the roles of the columns in ``columns.toml``, and memory-mapped arrays.

Each table is a CSV, TSV or Parquet file. The table ``events`` can also be a file of lines ``user item``
(``events.txt``). ``columns.toml`` has one section per table, with the fields of
``isoplan.trainers.behavior.logs.read.Columns``::

    [events]
    user = "customer"
    item = "article"
    time = "bought"
    leave = ["comment"]

    [items]
    text = ["name", "details"]
    categories = ["shelf"]
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import shutil
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import TEMPORARY, room, sync_folder, write_json
from isoplan.trainers.behavior.logs.log import Features, Items, Log, texts
from isoplan.trainers.behavior.logs.read import AUTO, Columns, read_items, read_log

MAPPED = 2**16
"""Minimum size in bytes of a file that is mapped into memory. Smaller files are read completely."""
ABOUT = "log.json"
TYPES = {
    "starts": "<i8", "events": "<i4", "times": "<f8", "event_categories": "<i4", "event_numbers": "<f4",
    "tokens": "<i4", "token_starts": "<i8", "item_categories": "<i4", "item_numbers": "<f4",
}  # fmt: skip
"""Data types of the arrays of a log. Each array has its own file, such as ``times.npy``."""


def save_arrays(log: Log, folder: Path) -> Log:
    """Write a log to ``folder`` atomically, and return it memory-mapped from this folder.

    An existing folder is not changed. Raises PlannerError if the folder cannot be written or opened.
    """
    place = folder.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{folder.name}")
    with room(folder.parent):
        try:
            place.mkdir(parents=True)
            for name, values in _arrays(log).items():
                with (place / f"{name}.npy").open("wb") as file:
                    np.save(file, np.ascontiguousarray(values, TYPES[name]), allow_pickle=False)
                    os.fsync(file.fileno())
            write_json(place / ABOUT, _about(log))
            if not folder.exists():
                os.rename(place, folder)
                sync_folder(folder.parent)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return load_arrays(folder)


def load_arrays(folder: Path) -> Log:
    """Load a log from the arrays in ``folder``.

    Raises PlannerError if a file is missing, damaged, or has a wrong data type.
    """
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
        a = {name: _array(folder / f"{name}.npy", kind) for name, kind in TYPES.items()}
        item_features = _features(a["item_categories"], a["item_numbers"], about["items"])
        catalogue = Items(texts(about["names"]), a["tokens"], a["token_starts"], about["vocabulary"], item_features)
        features = _features(a["event_categories"], a["event_numbers"], about["events"])
        return Log(
            texts(about["users"]), a["starts"], a["events"], a["times"], features, catalogue,
            about["timed"], tuple(about["notes"]),
        )  # fmt: skip
    except (OSError, ValueError, EOFError, KeyError, TypeError, IndexError):
        raise PlannerError(
            f"{folder} contains no readable log: delete this folder, then the log is read again."
        ) from None


def _arrays(log: Log) -> dict[str, NDArray[Any]]:
    items = log.catalogue
    return {
        "starts": log.starts, "events": log.items, "times": log.times, "event_categories": log.features.categories,
        "event_numbers": log.features.numbers, "tokens": items.tokens, "token_starts": items.starts,
        "item_categories": items.features.categories, "item_numbers": items.features.numbers,
    }  # fmt: skip


def _about(log: Log) -> dict[str, Any]:
    about = [
        {"sizes": list(f.sizes), "category_names": list(f.category_names), "number_names": list(f.number_names)}
        for f in (log.features, log.catalogue.features)
    ]
    names = {"users": log.users.tolist(), "names": log.catalogue.names.tolist()}
    kept = {"vocabulary": log.catalogue.vocabulary, "timed": log.timed, "notes": list(log.notes)}
    return {"events": about[0], "items": about[1], **kept, **names}


def _features(categories: NDArray[Any], numbers: NDArray[Any], about: dict[str, Any]) -> Features:
    named = {name: tuple(about[name]) for name in ("category_names", "number_names")}
    return Features(categories, tuple(about["sizes"]), numbers, **named)


def _array(path: Path, kind: str) -> NDArray[Any]:
    array = np.load(path, mmap_mode="r" if path.stat().st_size >= MAPPED else None, allow_pickle=False)
    if array.dtype != np.dtype(kind):
        raise ValueError(f"{path} holds {array.dtype}")
    return np.asarray(array)


EVENTS, ITEMS, COLUMNS = "events", "items", "columns.toml"
ENDS = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
PREPARED = "prepared"
VERSION = 3
"""Version of the stored arrays. Increase it if a change of the code gives other arrays for given files."""


def open_log(folder: Path) -> Log:
    """Return the log of a folder, memory-mapped.

    The tables are read once, and the arrays are stored in the subfolder ``prepared``. After a change of a table, the
    tables are read again. Raises PlannerError if the folder has no table of events, and in the cases of ``read_log``
    and ``read_items``.
    """
    events, items, said = _file(folder, EVENTS), _file(folder, ITEMS), _columns(folder)
    if events is None:
        raise PlannerError(f"{folder} contains no table {EVENTS}: put {EVENTS}.csv, .parquet or .txt there.")
    there = [path for path in (events, items, folder / COLUMNS) if path is not None and path.exists()]
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in there]
    place = folder / PREPARED / hashlib.sha256(repr((VERSION, files)).encode()).hexdigest()[:16]
    if place.is_dir():
        with suppress(PlannerError):
            return load_arrays(place)
        shutil.rmtree(place, ignore_errors=True)
    catalogue = None if items is None else read_items(items, said.get(ITEMS, AUTO))
    log = save_arrays(read_log(events, said.get(EVENTS, AUTO), catalogue), place)
    # Delete the arrays of older files. A process that has mapped these arrays can still use them.
    for other in (folder / PREPARED).iterdir():
        if other.is_dir() and other != place and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    return log


def _file(folder: Path, name: str) -> Path | None:
    """Return the file with the given ``name`` and any supported extension, or None. Case is ignored.

    Raises PlannerError if there are two such files.
    """
    whole = [f"{name}{end}" for end in ENDS]
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    matches = [path for path in there if path.name.lower() in whole and path.is_file()]
    matches.sort(key=lambda path: whole.index(path.name.lower()))
    if len(matches) > 1:
        raise PlannerError(f"{folder} holds {matches[0].name} and {matches[1].name}: keep one of them.")
    return matches[0] if matches else None


def _columns(folder: Path) -> dict[str, Columns]:
    """Return the column roles in ``columns.toml`` by the name of the table.

    The result is empty if the file does not exist.
    """
    path = folder / COLUMNS
    if not path.is_file():
        return {}
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlannerError(f"{COLUMNS} cannot be read ({error}): save it as valid TOML in UTF-8.") from None
    return {part: _part(part, fields) for part, fields in raw.items()}


def _part(part: str, fields: Any) -> Columns:
    if part not in (EVENTS, ITEMS) or not isinstance(fields, dict):
        raise PlannerError(f"{COLUMNS} has {part!r}, which is not a valid section: use [{EVENTS}] and [{ITEMS}].")
    kinds = {field.name: isinstance(field.default, tuple) for field in dataclasses.fields(Columns)}
    given: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in kinds:
            raise PlannerError(f"{COLUMNS} has the unknown key {name!r} in [{part}]: use {', '.join(kinds)}.")
        whole = [value] if isinstance(value, str) else value
        if not isinstance(whole, list) or not all(isinstance(one, str) for one in whole):
            raise PlannerError(f"{COLUMNS} has {value!r} for {name} in [{part}]: write the names of columns as texts.")
        if not kinds[name] and len(whole) != 1:
            raise PlannerError(f"{COLUMNS} has {value!r} for {name} in [{part}]: name one column.")
        given[name] = tuple(whole) if kinds[name] else whole[0]
    return Columns(**given)
