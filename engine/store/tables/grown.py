"""Functions that add rows to a table, create its new columns, and update its profile.

The caller provides the transaction. Rows are only added; stored values never change. If the type of a value differs
from the type of its column, the value is stored in an additional column.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from isoplan.engine.schema import Roles
from isoplan.engine.store.columns.column import COLUMNS, Column, Kind
from isoplan.engine.store.columns.profile import KINDS, profile
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first
from isoplan.engine.store.files.text import MAX_COLUMNS
from isoplan.engine.store.saved.saved_items import now
from isoplan.engine.store.tables import catalog
from isoplan.engine.store.tables.catalog import TableInfo
from isoplan.engine.store.tables.loading import count, stored_types

Value = float | str | bool | datetime
"""Value of one column in a row."""
_TYPES = {kind: stored for stored, kind in KINDS.items()}


def stored(cursor: Cursor, key: str) -> tuple[tuple[Column, ...], Roles]:
    """Return the columns and the mapping of the table with the id ``key``; both are empty if there is no table."""
    row = first(cursor, "SELECT columns, roles FROM tables WHERE id = ?", [key])
    return (COLUMNS.validate_json(row[0]), Roles.model_validate_json(row[1])) if row else ((), Roles())


def create(cursor: Cursor, key: str, name: str, source: str, digest: str, about: str) -> None:
    """Add an empty table to the list of tables, if there is no table with the id ``key``.

    ``source`` names the origin of the rows, ``digest`` is a hash of this name, and ``about`` is a sentence about the
    origin.
    """
    if not first(cursor, "SELECT 1 FROM tables WHERE id = ?", [key]):
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {sql.data(key)} (rid BIGINT)")
        catalog.insert(cursor, TableInfo(key, name, 0, digest, source, now(), False, False, about, ()), (), Roles())


def as_value(raw: Any) -> Value | None:
    """Convert a value to the type that is stored; return None if the value is missing or not finite.

    Numbers become floats. Texts, booleans and times are unchanged. Any other value becomes JSON text.
    """
    if raw is None or isinstance(raw, str | bool | datetime):
        return raw
    if isinstance(raw, int | float):
        try:
            number = float(raw)
        except OverflowError:
            return str(raw)
        return number if math.isfinite(number) else None
    return json.dumps(raw, sort_keys=True, default=str)


def place(
    rows: Iterable[tuple[Mapping[str, Value], Mapping[str, str]]], columns: Sequence[Column]
) -> tuple[list[dict[str, Value]], tuple[Column, ...]]:
    """Choose the column of each value; return the rows (column -> value) and all columns, with new columns at the end.

    Each item of ``rows`` is a row (name -> value) and the texts ``why`` for its new columns (name -> text). The type of
    a stored column never changes. A value of another type is stored in an additional column, such as ``x (text)``. If
    the table has ``MAX_COLUMNS`` columns, values that need a new column are left out.
    """
    known = {c.name: c for c in columns}
    placed = []
    for values, why in rows:
        there: dict[str, Value] = {}
        for wanted, value in values.items():
            kind = _kind(value)
            name = wanted if wanted not in known or known[wanted].kind == kind else f"{wanted} ({kind})"
            if name not in known and len(known) >= MAX_COLUMNS:
                continue
            known.setdefault(name, Column(name, kind, why=why.get(wanted, "")))
            there[name] = value
        placed.append(there)
    return placed, tuple(known.values())


def insert(cursor: Cursor, key: str, columns: Sequence[Column], placed: Sequence[Mapping[str, Value]]) -> int:
    """Add rows to the data table of ``key``; return the row id of the first new row."""
    import pandas as pd

    table = sql.data(key)
    start = count(cursor, table)
    for i in range(len(stored_types(cursor, table)), len(columns)):
        cursor.execute(f"ALTER TABLE {table} ADD COLUMN c{i} {_TYPES[columns[i].kind]}")
    fresh: dict[str, Any] = {"rid": np.arange(start, start + len(placed))}
    for i, column in enumerate(columns):
        values = pd.Series([row.get(column.name) for row in placed], dtype="object")
        fresh[f"c{i}"] = pd.to_numeric(values).astype("float64") if column.kind == "number" else values
    cursor.register("fresh", pd.DataFrame(fresh))
    names = ", ".join(fresh)
    casts = ", ".join(["rid", *(f"CAST(c{i} AS {_TYPES[c.kind]})" for i, c in enumerate(columns))])
    cursor.execute(f"INSERT INTO {table} ({names}) SELECT {casts} FROM fresh")
    cursor.unregister("fresh")
    return start


def profiled(cursor: Cursor, key: str, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Profile the rows of a table; return its columns with this profile.

    No conversion from text to numbers is suggested, because training programs report numbers as numbers.
    """
    table = sql.data(key)
    found = profile(cursor, table, tuple(c.name for c in columns), stored_types(cursor, table))
    return tuple(replace(c, conversion=None, unread=None) for c in found)


def describe(cursor: Cursor, key: str, columns: Sequence[Column], roles: Roles) -> None:
    """Store the number of rows, the profiled ``columns`` and the mapping of a table. A deleted table is restored."""
    notes = [f"The table is full: columns beyond {MAX_COLUMNS:,} are left out."] if len(columns) >= MAX_COLUMNS else []
    kept = [COLUMNS.dump_json(tuple(columns)).decode(), roles.model_dump_json(), json.dumps(notes)]
    query = "UPDATE tables SET nrows = ?, columns = ?, roles = ?, notes = ?, deleted = false WHERE id = ?"
    cursor.execute(query, [count(cursor, sql.data(key)), *kept, key])


def _kind(value: Value) -> Kind:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, float) else "date" if isinstance(value, datetime) else "text"
