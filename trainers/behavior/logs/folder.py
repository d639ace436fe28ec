"""A folder with a log: ``events``, perhaps ``items``, and perhaps ``columns.toml``, which says what their columns are.

Each table is a CSV, TSV or Parquet file, ``events`` also lines of ``user item`` (``events.txt``). ``columns.toml`` has
a part for each, with the fields of ``isoplan.trainers.behavior.logs.columns.Columns``::

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
import shutil
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.logs.columns import Columns
from isoplan.trainers.behavior.logs.log import Log
from isoplan.trainers.behavior.logs.log_cache import load, save
from isoplan.trainers.behavior.logs.read import AUTO, read_items, read_log

EVENTS, ITEMS, COLUMNS = "events", "items", "columns.toml"
ENDS = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
PREPARED = "prepared"
VERSION = 2
"""To be raised where the same files give another log."""


def open_log(folder: Path) -> Log:
    """The log of a folder, mapped; read once and found in its ``prepared`` until a file changes.

    Raises PlannerError for a folder without events, and for what ``read_log`` and ``read_items`` refuse.
    """
    events, items, said = _file(folder, EVENTS), _file(folder, ITEMS), _columns(folder)
    if events is None:
        raise PlannerError(f"{folder} holds no {EVENTS}: put {EVENTS}.csv, .parquet or .txt there.")
    there = [path for path in (events, items, folder / COLUMNS) if path is not None and path.exists()]
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in there]
    place = folder / PREPARED / hashlib.sha256(repr((VERSION, files)).encode()).hexdigest()[:16]
    if place.is_dir():
        with suppress(PlannerError):
            return load(place)
        shutil.rmtree(place, ignore_errors=True)
    catalogue = None if items is None else read_items(items, said.get(ITEMS, AUTO))
    log = save(read_log(events, said.get(EVENTS, AUTO), catalogue), place)
    for other in (folder / PREPARED).iterdir():  # of files as they were; who has it mapped keeps it
        if other.is_dir() and other != place and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    return log


def _file(folder: Path, name: str) -> Path | None:
    """The one file of this name, whatever its ending, in capitals or not. Raises PlannerError for two."""
    whole = [f"{name}{end}" for end in ENDS]
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    found = [path for path in there if path.name.lower() in whole and path.is_file()]
    found.sort(key=lambda path: whole.index(path.name.lower()))
    if len(found) > 1:
        raise PlannerError(f"{folder} holds {found[0].name} and {found[1].name}: keep one of them.")
    return found[0] if found else None


def _columns(folder: Path) -> dict[str, Columns]:
    """What ``columns.toml`` says of each table; nothing where there is no such file."""
    path = folder / COLUMNS
    if not path.is_file():
        return {}
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlannerError(f"{COLUMNS} cannot be read ({error}): correct that line.") from None
    return {part: _part(part, fields) for part, fields in raw.items()}


def _part(part: str, fields: Any) -> Columns:
    if part not in (EVENTS, ITEMS) or not isinstance(fields, dict):
        raise PlannerError(f"{COLUMNS} has a part {part!r}: write [{EVENTS}] and [{ITEMS}] with columns in them.")
    kinds = {field.name: isinstance(field.default, tuple) for field in dataclasses.fields(Columns)}
    given: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in kinds:
            raise PlannerError(f"{COLUMNS} has {name!r} in [{part}]: use {', '.join(kinds)}.")
        whole = [value] if isinstance(value, str) else value
        if not isinstance(whole, list) or not all(isinstance(one, str) for one in whole):
            raise PlannerError(f"{COLUMNS} has {value!r} as {name} in [{part}]: write the names of columns as texts.")
        if not kinds[name] and len(whole) != 1:
            raise PlannerError(f"{COLUMNS} has {value!r} as {name} in [{part}]: name one column.")
        given[name] = tuple(whole) if kinds[name] else whole[0]
    return Columns(**given)
