"""Snapshots: the rows of a table that a fit uses, their mapping and filter, and a hash of their values.

Rows of a table are added, but never changed, so a snapshot always gives the same runs.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import LABEL_ROLES, NUMERIC_ROLES, Category, Curves, Roles, Runs
from isoplan.engine.store.columns import categories, derive
from isoplan.engine.store.columns.column import Column, Reading, read_conversion
from isoplan.engine.store.columns.histories import one_row_each
from isoplan.engine.store.columns.mapping import check_roles, choice_notes, formula_columns, unknown_column
from isoplan.engine.store.columns.names import seconds_column, seconds_each
from isoplan.engine.store.columns.unread_roles import withheld
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, Database, first
from isoplan.engine.store.tables import catalog
from isoplan.engine.store.tables import curves as training
from isoplan.engine.store.tables.runs import build

_LABEL_LENGTH = 80
_INPUT = "\0"
"""Prefix for the names of columns that the formulas of a mapping read. With the prefix, the name of a column differs
from the name of every role.
"""


class Filter(BaseModel):
    """A filter that selects the rows of a table that satisfy all four fields. Withdrawn rows are never selected.

    ``where`` is an SQL condition. ``ranges`` maps a column to its minimum and maximum, both inclusive; None means no
    limit. ``values`` maps a column to its allowed values as text. ``exclude_ids`` are the ids of rows to leave out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    where: str = ""
    ranges: dict[str, tuple[float | None, float | None]] = Field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    exclude_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """The selected rows of a table and their mapping; ``n`` is the number of rows.

    ``ranges`` (k, 2) are the ids of the rows as k ranges [first, end); ``end`` is not in the range.
    """

    hash: str
    table_id: str
    roles: Roles
    filter: Filter
    n: int
    values_hash: str
    ranges: Ints = field(repr=False, compare=False)

    @property
    def ids(self) -> Ints:
        """The row ids (n,) in ascending order."""
        return expand(self.ranges)


def take(db: Database, table_id: str, roles: Roles | None = None, filter: Filter | None = None) -> Snapshot:
    """Take a snapshot of the rows that pass the filter, save it, and return it.

    The same rows with the same mapping and filter give the same hash. ``roles`` defaults to the mapping of the table.
    Raises PlannerError if the mapping or the filter does not fit the table, if all rows are withdrawn, or if no row
    passes the filter.
    """
    info, known = catalog.get(db, table_id), catalog.columns(db, table_id)
    roles, filter = roles or catalog.roles(db, table_id), filter or Filter()
    check_roles(known, roles, info.kind)
    ids = _select(db, table_id, known, roles, filter)
    if len(ids) == 0 and info.rows and filter == Filter():
        raise PlannerError(f"{info.name}: all runs are withdrawn. Bring runs back, or choose another table.")
    if len(ids) == 0:
        raise PlannerError(f"The filter leaves no runs of {info.name}: widen a range or clear the condition.")
    ranges = compress(ids)
    with db.read() as cursor:
        cells, labels = _cells(cursor, table_id, known, roles, ids)
    values_hash = _hash_values(cells, labels)
    stored = [model.model_dump_json() for model in (roles, filter)]
    body = [info.id, values_hash, hashlib.sha256(ranges.tobytes()).hexdigest(), *stored]
    snapshot = Snapshot(_short_hash(body), table_id, roles, filter, len(ids), values_hash, ranges)
    db.write(lambda cursor: _save(cursor, snapshot, stored))
    return snapshot


def newer(db: Database, snapshot: Snapshot) -> int:
    """Return the number of rows that pass the filter of ``snapshot`` now and are not in the snapshot."""
    known = catalog.columns(db, snapshot.table_id)
    now = _select(db, snapshot.table_id, known, snapshot.roles, snapshot.filter)
    return len(np.setdiff1d(now, snapshot.ids, assume_unique=True))


def get(db: Database, hash: str) -> Snapshot:
    """Return the snapshot with this hash; raises PlannerError if the store does not contain it."""
    with db.read() as cursor:
        query = "SELECT hash, table_id, roles, filter, n, values_hash, ids FROM snapshots WHERE hash = ?"
        row = first(cursor, query, [hash])
    if row is None:
        raise PlannerError(f"Snapshot {hash} is not in this workspace: fit its table again.")
    roles, filter = Roles.model_validate_json(row[2]), Filter.model_validate_json(row[3])
    return Snapshot(row[0], row[1], roles, filter, row[4], row[5], _unpack(row[6]))


@dataclass(frozen=True, eq=False)
class MappedRows:
    """The rows of a snapshot, one row per run, before any value is derived and before unusable rows are left out.

    ``ids`` (n,) are ascending row ids. ``cells`` are numbers (n,) by role or column name, with units converted and
    formulas computed. ``labels`` are texts (n,) by role. ``categories`` are the columns with few values. ``seconds`` is
    a pair: the name of the column of run durations, and the durations (n,) in seconds. ``notes`` state which row of a
    run was selected.
    """

    ids: Ints
    cells: dict[str, Floats]
    labels: dict[str, NDArray[np.str_]]
    categories: dict[str, Category]
    seconds: tuple[str, Floats] | None
    notes: tuple[str, ...]

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> MappedRows:
        """Return the rows at ``index`` (positions or mask), in the order of ``index``."""
        return replace(
            self,
            ids=self.ids[index],
            cells={name: x[index] for name, x in self.cells.items()},
            labels={role: x[index] for role, x in self.labels.items()},
            categories={name: category.take(index) for name, category in self.categories.items()},
            seconds=self.seconds and (self.seconds[0], self.seconds[1][index]),
        )


def mapped_rows(db: Database, snapshot: Snapshot) -> MappedRows:
    """Return the rows of a snapshot, with units converted and one row per run."""
    known, ids = catalog.columns(db, snapshot.table_id), snapshot.ids
    with db.read() as cursor:
        cells, labels = _cells(cursor, snapshot.table_id, known, snapshot.roles, ids)
        few = categories.read(cursor, snapshot.table_id, known, snapshot.roles, ids)
        took = _seconds(cursor, snapshot.table_id, known, ids)
    chosen, points = one_row_each(cells, labels, snapshot.roles, len(ids))
    rows = MappedRows(ids, cells, labels, few, took, tuple(points))
    return rows.take(chosen) if points else rows


def runs(db: Database, snapshot: Snapshot) -> Runs:
    """Return the runs of a snapshot. Missing values are derived, and rows that no fit can use are left out."""
    info, known = catalog.get(db, snapshot.table_id), catalog.columns(db, snapshot.table_id)
    rows = mapped_rows(db, snapshot)
    named, extra = _named(snapshot.roles), formula_columns(snapshot.roles)
    others = {name: x for name, x in rows.cells.items() if name in extra and name not in named}
    cells = {name: x for name, x in rows.cells.items() if name not in others}
    reasons = withheld(known, snapshot.roles)
    formulas = derive.proposals(known, snapshot.roles)
    reasons |= {role: _to_derive(role, text) for role, text in formulas.items() if role not in reasons}
    built = build(rows.ids, cells, rows.labels, snapshot.roles, info.name, info.sha256, others, rows.categories,
                  rows.seconds, reasons)  # fmt: skip
    if "C" in reasons and "N" in built and "D" not in built:
        reasons["D"] = reasons["C"]
    unused = [f"C is not read: {reasons['C']}."] if "C" in reasons and "C" in built else []
    notes = (*rows.notes, *choice_notes(known, snapshot.roles), *built.notes, *unused)
    return replace(built, withheld={**built.withheld, **reasons}, notes=notes)


def _to_derive(role: str, formula: str) -> str:
    option = shlex.quote(f"{role} = {formula}")
    return f"no column contains it; compute it as {formula} on the Data page (--derive {option} in the terminal)"


def curves(db: Database, snapshot: Snapshot, runs: Runs) -> Curves:
    """Return the training curves of a snapshot of a curve table, linked to ``runs`` by the names of the runs.

    Raises PlannerError if the curves cannot be linked to the runs, or if no column measures the training progress.
    """
    info, known = catalog.get(db, snapshot.table_id), catalog.columns(db, snapshot.table_id)
    with db.read() as cursor:
        cells, labels = _cells(cursor, snapshot.table_id, known, snapshot.roles, snapshot.ids, written=np.inf)
    kept = {name: x for name, x in cells.items() if name not in formula_columns(snapshot.roles)}
    built = training.build(kept, labels, snapshot.roles, runs, info.name, info.sha256)
    return replace(built, snapshot=snapshot.hash)


def compress(ids: Ints) -> Ints:
    """Convert ascending ids to k ranges of consecutive ids, an array (k, 2) with rows [first id, last id + 1].

    >>> compress(np.array([0, 1, 2, 7])).tolist()
    [[0, 3], [7, 8]]
    """
    ids = np.asarray(ids, dtype=np.int64)
    breaks = np.flatnonzero(np.diff(ids) != 1) + 1
    starts, ends = ids[np.r_[0, breaks]], ids[np.r_[breaks - 1, len(ids) - 1]] + 1
    return np.column_stack([starts, ends]).astype(np.int64)


def expand(ranges: Ints) -> Ints:
    """Return the ascending ids that the ranges (k, 2) contain; the inverse of ``compress``."""
    if len(ranges) == 1:
        return np.arange(*ranges[0], dtype=np.int64)
    lengths = ranges[:, 1] - ranges[:, 0]
    offsets = np.repeat(ranges[:, 0] - np.r_[0, np.cumsum(lengths)[:-1]], lengths)
    return (np.arange(lengths.sum(), dtype=np.int64) + offsets).astype(np.int64)


def _select(db: Database, table_id: str, known: Sequence[Column], roles: Roles, filter: Filter) -> Ints:
    """Return the ascending ids of the rows that pass the filter. Withdrawn rows are left out."""
    positions = {c.name: i for i, c in enumerate(known)}
    for name in (*filter.ranges, *filter.values):
        if name not in positions:
            raise unknown_column(name, list(positions), "of the filter")
    clauses = ["rid NOT IN (SELECT row_id FROM withdrawn WHERE table_id = ?)"]
    parameters: list[object] = [table_id]
    for name, (low, high) in filter.ranges.items():
        number = sql.numeric(known[positions[name]], positions[name], roles.conversions.get(name))
        for bound, sign in ((low, ">="), (high, "<=")):
            if bound is not None:
                clauses.append(f"{number} {sign} ?")
                parameters.append(float(bound))
    for name, allowed in filter.values.items():
        clauses.append(f"list_contains(?::VARCHAR[], {sql.label(known[positions[name]], positions[name])})")
        parameters.append(list(allowed))
    with db.read() as cursor:
        query = f"SELECT rid FROM {sql.data(table_id)} WHERE {' AND '.join(clauses)} ORDER BY rid"
        ids = np.asarray(cursor.execute(query, parameters).fetchnumpy()["rid"], dtype=np.int64)
    if filter.where.strip():
        from isoplan.engine.store.tables.condition import matching_rows  # imported here because this import takes 0.1 s

        ids = np.intersect1d(ids, matching_rows(db, table_id, filter.where, roles.conversions), assume_unique=True)
    if filter.exclude_ids:
        ids = np.setdiff1d(ids, np.asarray(filter.exclude_ids, dtype=np.int64), assume_unique=True)
    return ids


def _cells(
    cursor: Cursor, table_id: str, known: Sequence[Column], roles: Roles, ids: Ints, written: float = np.nan
) -> tuple[dict[str, Floats], dict[str, NDArray[np.str_]]]:
    """Return the mapped columns of the rows ``ids``: numbers by role or column name, and labels by role, each (n,).

    Units are converted and formulas are computed. An empty cell becomes NaN. A cell that contains NaN in the file
    becomes ``written``.
    """
    positions = {c.name: i for i, c in enumerate(known)}
    numbers = {_INPUT + name: name for name in derive.inputs(roles)}
    numbers |= {name: name for name in (*formula_columns(roles), *_named(roles))}
    numbers |= {role.value: name for role in NUMERIC_ROLES if (name := roles.column(role)) is not None}
    labels = {role.value: name for role in LABEL_ROLES if (name := roles.column(role)) is not None}
    fields = [sql.numeric(known[i], i, roles.conversions.get(n)) for n in numbers.values() for i in (positions[n],)]
    fields += [f"left({sql.label(known[i], i)}, {_LABEL_LENGTH})" for n in labels.values() for i in (positions[n],)]
    found = sql.read_columns(cursor, table_id, {f"f{k}": field for k, field in enumerate(fields)}, ids)
    units = {name: read_conversion(how, name) for name, how in roles.conversions.items()}
    cells = {
        role: units.get(name, Reading(None, ""))(_number(found[f"f{k}"], written).astype(np.float64))
        for k, (role, name) in enumerate(numbers.items())
    }
    read = {name: cells.pop(_INPUT + name) for name in derive.inputs(roles)}
    cells |= derive.compute(roles, read, ids)
    texts = {role: _filled(found[f"f{k}"], "").astype(np.str_) for k, role in enumerate(labels, len(numbers))}
    return cells, texts


def _seconds(cursor: Cursor, table_id: str, known: Sequence[Column], ids: Ints) -> tuple[str, Floats] | None:
    """Return the name of the column of run durations, and the durations (n,) in seconds; NaN for an empty cell.

    Returns None if the table has no such column.
    """
    name = seconds_column([c.name for c in known if c.kind == "number"])
    if not name or not len(ids):
        return None
    place = next(i for i, c in enumerate(known) if c.name == name)
    cells = sql.read_columns(cursor, table_id, {"s": f"c{place}"}, ids)["s"]
    return name, _filled(cells, np.nan).astype(np.float64) * seconds_each(name)


def _named(roles: Roles) -> tuple[str, ...]:
    """Return the columns that are identified by column name instead of role: metrics and hyperparameters."""
    return (*(m.column for m in roles.metrics), *roles.hyper)


def _number(x: Any, written: float) -> Any:
    if not np.isnan(written):
        x[np.isnan(x)] = written
    return _filled(x, np.nan)


def _filled(x: Any, missing: float | str) -> Any:
    return x.filled(missing) if isinstance(x, np.ma.MaskedArray) else x


def _hash_values(cells: dict[str, Floats], labels: dict[str, NDArray[np.str_]]) -> str:
    digest = hashlib.sha256()
    for name, x in sorted(cells.items()):
        digest.update(name.encode() + b"\0" + np.ascontiguousarray(x + 0.0).tobytes())
    for name, text in sorted(labels.items()):
        digest.update(name.encode() + b"\0" + "\0".join(text.tolist()).encode())
    return digest.hexdigest()


def _save(cursor: Cursor, snapshot: Snapshot, stored: Sequence[str]) -> None:
    """Save a snapshot in the store; ``stored`` is the JSON of its mapping and the JSON of its filter."""
    packed = zlib.compress(np.diff(snapshot.ranges.ravel(), prepend=0).astype("<i8").tobytes())
    cursor.execute(
        "INSERT OR IGNORE INTO snapshots (hash, table_id, ids, n, roles, filter, values_hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [snapshot.hash, snapshot.table_id, packed, snapshot.n, *stored, snapshot.values_hash],
    )


def _unpack(packed: bytes) -> Ints:
    steps = np.frombuffer(zlib.decompress(packed), dtype="<i8")
    return np.cumsum(steps).reshape(-1, 2).astype(np.int64)


def _short_hash(body: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16]
