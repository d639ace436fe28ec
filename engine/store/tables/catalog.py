"""The list of stored tables (name, rows, columns, mapping), and the rows of a table as a data frame."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from isoplan.engine.arrays import Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Roles
from isoplan.engine.store.columns.column import COLUMNS, Column, TableKind
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, Database, first

if TYPE_CHECKING:
    import pandas as pd

INFO = "id, name, nrows, sha256, source, created, read_only, deleted, provenance, notes, kind, runs_id, layout"


@dataclass(frozen=True)
class TableInfo:
    """An entry in the list of stored tables.

    If ``kind`` is "runs", the table has one row per run. If it is "curves", the table has one row per point of training
    curves, and the runs of these curves are in the table ``runs_id``. ``layout`` is "plain" if the user chose to read
    the rows of the file unchanged. Otherwise it names the layout in which the table was in the file, such as "a pivot
    table"; it is empty for a table with one row per run. ``known`` is true if an import found this table
    already stored, because a file with the same bytes was imported before.
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
    kind: TableKind = "runs"
    runs_id: str = ""
    layout: str = ""
    known: bool = False


def get(db: Database, table_id: str) -> TableInfo:
    """Return the table with this id, even if it is deleted; raises PlannerError if there is none."""
    info = find(db, table_id)
    if info is None:
        raise PlannerError(f"Table {table_id} is not in this workspace: import its file again.")
    return info


def columns(db: Database, table_id: str) -> tuple[Column, ...]:
    """Return the columns of a table in the order of the file, with their profiles.

    The profiles were computed when rows were last imported.
    """
    return COLUMNS.validate_json(_stored(db, table_id, "columns"))


def roles(db: Database, table_id: str) -> Roles:
    """Return the mapping (role -> column) of a table: the user's mapping or, if the user set none, the suggestion."""
    return Roles.model_validate_json(_stored(db, table_id, "roles"))


def find(db: Database, table_id: str) -> TableInfo | None:
    with db.read() as cursor:
        row = first(cursor, f"SELECT {INFO} FROM tables WHERE id = ?", [table_id])
    return info_of(row) if row else None


def info_of(row: tuple[Any, ...]) -> TableInfo:
    fields = dict(zip(INFO.split(", "), row, strict=True))
    return TableInfo(rows=fields.pop("nrows"), notes=tuple(json.loads(fields.pop("notes"))), **fields)


def insert(cursor: Cursor, info: TableInfo, columns: Sequence[Column], roles: Roles) -> None:
    """Add a table with its columns and its mapping to the list of tables."""
    fields = vars(info) | {"nrows": info.rows, "notes": json.dumps(info.notes)}
    stored = [*(fields[name] for name in INFO.split(", ")), COLUMNS.dump_json(tuple(columns)).decode()]
    query = f"INSERT INTO tables ({INFO}, columns, roles) VALUES ({', '.join('?' * 15)})"
    cursor.execute(query, [*stored, roles.model_dump_json()])


def _stored(db: Database, table_id: str, field: str) -> str:
    with db.read() as cursor:
        row = first(cursor, f"SELECT {field} FROM tables WHERE id = ?", [table_id])
    if row is None:
        get(db, table_id)  # raises the PlannerError for a table that does not exist
        raise AssertionError("unreachable")
    return str(row[0])


def rows_frame(
    db: Database, table_id: str, chosen: Ints | None = None, limit: int | None = None, offset: int = 0
) -> pd.DataFrame:
    """Return rows of a table as a data frame with the column names of the file and a first column ``row id``.

    If at least one row of the table is withdrawn, the second column, ``withdrawn``, contains the reasons. ``chosen``
    are ascending row ids, None for all rows. ``limit`` and ``offset`` select a page of the chosen rows.
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
    """Return ``name``, with spaces appended until it differs from the name of every column."""
    while name in frame.columns:
        name = f"{name} "
    return name


def _whole(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole numbers as integers, so that they are shown without a decimal point.

    A column with an infinity or with a number of 2^53 or more is unchanged: an integer cannot represent infinity, and
    floats of this size are not exact.
    """
    finite = np.isfinite(values.to_numpy(dtype=float, na_value=0.0))
    fits = finite.all() and not values.abs().max() >= 2**53
    return values.astype("Int64") if fits else values
