"""What the store knows of its tables, without their rows: name, rows, columns, mapping."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Roles
from isoplan.engine.store.columns.column import COLUMNS, Column
from isoplan.engine.store.database.database import Database, first

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
    found = find(db, table_id)
    if found is None:
        raise PlannerError(f"Table {table_id} is not in this workspace: import its file again.")
    return found


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
