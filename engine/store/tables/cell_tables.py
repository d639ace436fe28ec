"""Run tables of cells (training runs): each finished cell of a family becomes a row in the run table of this family.

The caller provides the transaction. Stored values never change, so snapshots stay valid: rows are only added or marked
as withdrawn. The row of a deleted cell is marked as withdrawn. If a later cell has a new field or metric, the table
gets a new column.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from isoplan.engine.schema import Direction, Metric, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.mapping import uses
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first
from isoplan.engine.store.saved.saved_items import now
from isoplan.engine.store.tables import grown
from isoplan.engine.store.tables.catalog import TableInfo
from isoplan.engine.store.tables.grown import Value, as_value
from isoplan.engine.store.tables.loading import stored_types

DELETED = "its cell was deleted"
"""Stored reason why the row of a deleted cell is withdrawn. If the cell is trained again, it gets another row."""
SIZES = ("N", "D", "U", "C")
RUN, SEED, SWEEP = "run", "seed", "sweep"
HOW_IT_RAN = (SEED, "threads", "deterministic")
"""Fields that every cell has and that are not hyperparameters."""
_OURS = (RUN, SWEEP, *SIZES, "family", "version", "seconds", "begun", "host", "device", "attempts")
_WHY = dict.fromkeys(_OURS, "How and where the cell ran.") | {
    RUN: "The name of the cell.",
    SWEEP: "The grid that the cell came from.",
    "N": "Number of parameters, counted by the rule of this family of cells.",
    "D": "Samples seen in training, counted by the rule of this family of cells.",
    "U": "Unique samples, counted by the rule of this family of cells.",
    "C": "Training compute in FLOPs, counted by the rule of this family of cells.",
    "version": "Version of the code that trained the cell.",
    "seconds": "Seconds of training, measured.",
}


@dataclass(frozen=True)
class CellRow:
    """A finished cell (training run), with the values that are stored in its row of the run table.

    ``fields`` are the settings of the cell. ``sizes`` are its known values of N (parameters), D (samples seen), U
    (unique samples) and C (compute in FLOPs). ``metrics`` are the measured values. ``loss`` is the name of the metric
    to which laws are fitted. ``directions`` states for other metrics whether lower or higher values are better.
    ``seconds`` is the measured training time. ``version`` is the version of the code that trained the cell.
    """

    name: str
    family: str
    fields: Mapping[str, Any]
    metrics: Mapping[str, float]
    sizes: Mapping[str, float] = field(default_factory=dict)
    loss: str = "loss"
    directions: Mapping[str, Direction] = field(default_factory=dict)
    version: str = ""
    sweep: str = ""
    seconds: float | None = None
    begun: datetime | None = None
    host: str = ""
    device: str = ""
    attempts: int = 1

    @property
    def usable(self) -> bool:
        """Whether the cell has a finite loss. A cell without a finite loss gets no row."""
        return math.isfinite(self.metrics.get(self.loss, math.nan))


def table_of(family: str) -> str:
    """Return the id of the run table of a family. The id is the same in every workspace."""
    return _digest(family)[:12]


def _digest(family: str) -> str:
    return hashlib.sha256(f"cells/{family}".encode()).hexdigest()


def family_of(table: TableInfo) -> str:
    """Return the family of the cells in ``table``; empty for an imported table."""
    return table.source if table.id == table_of(table.source) else ""


def grow(cursor: Cursor, family: str, rows: Sequence[CellRow]) -> tuple[dict[str, int], int]:
    """Add a row for each cell in ``rows`` that has no row yet and has a finite loss.

    Returns the row ids (cell name -> row id), and the number of new rows. ``rows`` contains cells of one family.
    """
    table = sql.data(table_of(family))
    old, mapped = grown.stored(cursor, table_of(family))
    known = present(cursor, family, [row.name for row in rows])
    fresh = [row for row in {row.name: row for row in rows}.values() if row.name not in known and row.usable]
    if not fresh:
        return known, 0
    placed, columns = grown.place([(_cells(row), _why(row)) for row in fresh], old)
    about = f"Finished cells of {family}, trained in this workspace; a row is added when a cell is done."
    grown.create(cursor, table_of(family), f"{family} cells", family, _digest(family), about)
    fields = dict.fromkeys(column for row in fresh for column in _fields(row).values())
    before = _varied(cursor, table, columns, fields)
    start = grown.insert(cursor, table_of(family), columns, placed)
    varied = [name for name in _varied(cursor, table, columns, fields) if name not in before]
    roles = _roles(mapped, old, columns, fresh, varied)
    _describe(cursor, family, columns, roles)
    return known | {row.name: start + i for i, row in enumerate(fresh)}, len(fresh)


def present(cursor: Cursor, family: str, names: Sequence[str]) -> dict[str, int]:
    """Return the row ids of the cells ``names``: cell name -> row id. Cells without a row are left out.

    A row that was withdrawn because its cell was deleted does not count.
    """
    position = next((i for i, c in enumerate(grown.stored(cursor, table_of(family))[0]) if c.name == RUN), None)
    if position is None:
        return {}
    query = (
        f"SELECT c{position}, rid FROM {sql.data(table_of(family))} WHERE list_contains(?::VARCHAR[], c{position}) "
        "AND rid NOT IN (SELECT row_id FROM withdrawn WHERE table_id = ? AND reason = ?)"
    )
    return dict(cursor.execute(query, [list(names), table_of(family), DELETED]).fetchall())


def withdraw(cursor: Cursor, family: str, names: Sequence[str]) -> None:
    """Mark the rows of deleted cells as withdrawn. Existing fits that used these rows are unchanged."""
    rows = list(present(cursor, family, names).values())
    query = "DELETE FROM withdrawn WHERE table_id = ? AND list_contains(?::BIGINT[], row_id)"
    cursor.execute(query, [table_of(family), rows])
    query = "INSERT INTO withdrawn SELECT ?, unnest(?::BIGINT[]), ?, ?"
    cursor.execute(query, [table_of(family), rows, DELETED, now()])


def _fields(row: CellRow) -> dict[str, str]:
    """Return the column names for the fields of a cell: field -> column.

    The column has the name of the field. If a column that Isoplan adds has this name, "(cell)" is appended.
    """
    return {name: f"{name} (cell)" if name in _OURS else name for name in row.fields}


def _metrics(row: CellRow) -> dict[str, str]:
    """Return the column names for the metrics of a cell, except N, D, U and C: metric -> column.

    The column has the name of the metric. If this is also the name of a field, or of a column that Isoplan adds,
    "(measured)" is appended.
    """
    taken = {*_OURS, *row.fields}
    return {name: f"{name} (measured)" if name in taken else name for name in row.metrics if name not in SIZES}


def _cells(row: CellRow) -> dict[str, Value]:
    """Return the values of the row of a cell: column -> value, without missing values.

    If the training reported a size such as N, the reported size replaces the size that was computed from the fields.
    """
    fields, metrics = _fields(row), _metrics(row)
    sizes = {name: x for name in SIZES if (x := row.metrics.get(name, row.sizes.get(name))) is not None}
    found: dict[str, Any] = {RUN: row.name, SWEEP: row.sweep or None}
    found |= {fields[name]: value for name, value in row.fields.items() if name not in HOW_IT_RAN}
    found |= sizes
    found |= {metrics[name]: row.metrics[name] for name in sorted(metrics, key=lambda name: name != row.loss)}
    found |= {name: row.fields.get(name) for name in HOW_IT_RAN}
    found |= {"seconds": row.seconds, "begun": row.begun, "host": row.host or None, "device": row.device or None}
    found |= {"attempts": row.attempts, "family": row.family, "version": row.version or None}
    return {name: value for name, raw in found.items() if (value := as_value(raw)) is not None}


def _why(row: CellRow) -> dict[str, str]:
    """Return what the columns of a cell contain: column -> sentence."""
    texts = dict.fromkeys(_metrics(row).values(), "Measured by the training.")
    return texts | dict.fromkeys(_fields(row).values(), "A field of the cell.") | _WHY


def _varied(cursor: Cursor, table: str, columns: Sequence[Column], fields: Iterable[str]) -> list[str]:
    """Return the columns in ``fields`` that contain at least two different values."""
    stored = len(stored_types(cursor, table))
    places = {c.name: i for i, c in enumerate(columns) if i < stored}
    asked = [name for name in fields if name in places]
    if not asked:
        return []
    found = first(cursor, f"SELECT {', '.join(f'min(c{places[n]}) < max(c{places[n]})' for n in asked)} FROM {table}")
    return [name for name, varies in zip(asked, found or (), strict=True) if varies]


def _describe(cursor: Cursor, family: str, columns: Sequence[Column], roles: Roles) -> None:
    """Recompute the profile of the table from its rows, and store it with the mapping ``roles``."""
    used = {name: role for role, name in uses(roles)}
    described = tuple(
        replace(c, guess=used.get(c.name, Role.UNUSED), why=old.why)
        for c, old in zip(grown.profiled(cursor, table_of(family), columns), columns, strict=True)
    )
    grown.describe(cursor, table_of(family), described, roles)


def _roles(
    roles: Roles, old: Sequence[Column], columns: Sequence[Column], fresh: Sequence[CellRow], varied: Sequence[str]
) -> Roles:
    """Return the mapping ``roles`` with roles for the new columns. Existing roles do not change.

    ``varied`` are the columns of fields that had one value before and have several values now. A column of numbers or
    booleans in ``varied`` becomes a hyperparameter. The first text column becomes the group if there is no group yet.
    """
    new = {c.name for c in columns} - {c.name for c in old}
    kinds = {c.name: c.kind for c in columns}
    taken = {name for _, name in uses(roles)}
    single = {**dict(zip(SIZES, SIZES, strict=True)), "run": RUN, "seed": SEED}
    single["loss"] = next(_metrics(row).get(row.loss, row.loss) for row in fresh)
    changes: dict[str, Any] = {
        role: name
        for role, name in single.items()
        if name in new and name not in taken and roles.column(Role(role)) is None
    }
    taken |= set(changes.values())
    better = {_metrics(row)[m]: d for row in fresh for m, d in row.directions.items() if m in _metrics(row)}
    metrics = [Metric(column=m, direction=d) for m, d in better.items() if m in new and m not in taken]
    free = [name for name in varied if name not in {*taken, *HOW_IT_RAN, *better}]
    changes["metrics"] = (*roles.metrics, *metrics)
    changes["hyper"] = (*roles.hyper, *(name for name in free if kinds[name] in ("number", "bool")))
    words = [name for name in free if kinds[name] == "text"]
    if words and roles.group is None:
        changes["group"] = words[0]
    return roles.model_copy(update=changes)
