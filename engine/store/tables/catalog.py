"""Metadata of stored tables (name, rows, columns, mapping), and their rows as a data frame."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoplan.engine.arrays import Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Roles
from isoplan.engine.store.columns.column import COLUMNS, Column
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Database, first

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["runs", "curves"]
INFO = "id, name, nrows, sha256, source, created, read_only, deleted, provenance, notes, kind, runs_id"


@dataclass(frozen=True)
class TableInfo:
    """A stored table: one row a run, or (``kind`` "curves") one row a point of the training curves of the runs in the
    table ``runs_id``. ``known``: the same bytes were here already, and this is that table.
    """

    id: str
    name: str
    rows: int
    sha256: str
    source: str
    created: datetime
    read_only: bool
    deleted: bool
    provenance: str
    notes: tuple[str, ...]
    kind: Kind = "runs"
    runs_id: str = ""
    known: bool = False


def get(db: Database, table_id: str) -> TableInfo:
    """The table with that id, deleted or not; raises PlannerError when there is none."""
    info = find(db, table_id)
    if info is None:
        raise PlannerError(f"Table {table_id} is not in this workspace: import its file again.")
    return info


def columns(db: Database, table_id: str) -> tuple[Column, ...]:
    """The columns in the order of the file, as they were profiled when rows last came in."""
    return COLUMNS.validate_json(_stored(db, table_id, "columns"))


def roles(db: Database, table_id: str) -> Roles:
    """The mapping of a table: as it was set, else as it was guessed."""
    return Roles.model_validate_json(_stored(db, table_id, "roles"))


def find(db: Database, table_id: str) -> TableInfo | None:
    with db.read() as cursor:
        row = first(cursor, f"SELECT {INFO} FROM tables WHERE id = ?", [table_id])
    return info_of(row) if row else None


def info_of(row: tuple[Any, ...]) -> TableInfo:
    fields = dict(zip(INFO.split(", "), row, strict=True))
    return TableInfo(rows=fields.pop("nrows"), notes=tuple(json.loads(fields.pop("notes"))), **fields)


def _stored(db: Database, table_id: str, field: str) -> str:
    with db.read() as cursor:
        row = first(cursor, f"SELECT {field} FROM tables WHERE id = ?", [table_id])
    if row is None:
        get(db, table_id)  # says that there is no such table
        raise AssertionError("unreachable")
    return str(row[0])


def rows_frame(
    db: Database, table_id: str, chosen: Ints | None = None, limit: int | None = None, offset: int = 0
) -> pd.DataFrame:
    """Rows under their original names, ``row id`` first and ``withdrawn`` (the reason) second where any row is.

    ``chosen`` are ascending row ids, None for all rows; ``limit`` and ``offset`` page through them.
    """
    import pandas as pd

    stored = columns(db, table_id)
    end = None if limit is None else offset + limit
    with db.read() as cursor:
        reasons = dict(cursor.execute("SELECT row_id, reason FROM withdrawn WHERE table_id = ?", [table_id]).fetchall())
        if chosen is None:
            clause = f"rid >= {int(offset)}" + (f" AND rid < {int(end)}" if end is not None else "")
        else:
            cursor.register("chosen", pd.DataFrame({"rid": chosen[offset:end]}))
            clause = "rid IN (SELECT rid FROM chosen)"
        frame = cursor.execute(f"SELECT * FROM {sql.data(table_id)} WHERE {clause} ORDER BY rid").df()
    ids = frame.pop("rid")
    for i, column in enumerate(stored):
        if column.kind == "number" and column.whole:
            frame[f"c{i}"] = _whole(frame[f"c{i}"])
    frame.columns = pd.Index([c.name for c in stored])
    if reasons:
        frame.insert(0, _unused("withdrawn", frame), ids.map(reasons).fillna(""))
    frame.insert(0, _unused("row id", frame), ids)
    return frame


def _unused(name: str, frame: pd.DataFrame) -> str:
    """``name``, or a variant that no column of the table has."""
    while name in frame.columns:
        name = f"{name} "
    return name


def _whole(values: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers without a decimal point; numbers beyond 2^53 and infinities stay as they are."""
    finite = np.isfinite(values.to_numpy(dtype=float, na_value=0.0))
    fits = finite.all() and not values.abs().max() >= 2**53
    return values.astype("Int64") if fits else values
