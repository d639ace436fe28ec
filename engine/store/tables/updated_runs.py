"""Tables to which rows of runs are added. A new row updates its run if the table already contains this run.

An update adds a row and marks the previous row of the run as withdrawn, so stored values never change. Values that the
update does not contain are copied from the previous row. A row without a run is always added. The caller
provides the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from isoplan.engine.schema import SINGLE_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column, Kind
from isoplan.engine.store.columns.guess import guess_roles, with_guesses
from isoplan.engine.store.columns.mapping import uses
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor
from isoplan.engine.store.saved.saved_items import now
from isoplan.engine.store.tables import grown
from isoplan.engine.store.tables.grown import Value, as_value

REPLACED = "a later row of this run replaces it"
"""Reason that is stored with a row that an update withdraws."""


@dataclass(frozen=True)
class Growing:
    """A table to which rows are added: its id ``key``, its name, and the origin of its rows (``source`` and ``about``).

    ``digest`` is a hash of the source. ``by`` is the column whose value identifies a run.
    """

    key: str
    name: str
    source: str
    digest: str
    about: str
    by: str = "run"


def grow(cursor: Cursor, table: Growing, rows: Sequence[Mapping[str, Any]]) -> int:
    """Add ``rows`` (column -> value) to ``table``; return the number of rows that are stored.

    The table is created if needed. Rows that change nothing are not stored. Several rows of one run are merged into one
    row with the latest values. A value of None removes the earlier value.
    """
    key, by = table.key, table.by
    old, mapped = grown.stored(cursor, key)
    runs = {str(row[by]) for row in rows if row.get(by) is not None}
    before = _current(cursor, table, old, runs)
    fresh = _merged(rows, {run: values for run, (_, values) in before.items()}, by)
    if not fresh:
        return 0
    grown.create(cursor, key, table.name, table.source, table.digest, table.about)
    placed, columns = grown.place([(values, {}) for values in fresh], old)
    start = grown.insert(cursor, key, columns, placed)
    updated = ((start + i, before[run][0]) for i, row in enumerate(fresh) if (run := str(row.get(by, ""))) in before)
    _replace(cursor, key, updated)
    described = with_guesses(grown.profiled(cursor, key, columns))
    grown.describe(cursor, key, described, _roles(mapped, old, described))
    return len(fresh)


def _current(
    cursor: Cursor, table: Growing, columns: Sequence[Column], runs: Collection[str]
) -> dict[str, tuple[int, dict[str, Value]]]:
    """Return the latest stored row of each run: run -> (row id, values by column). Runs without a row are left out."""
    names = [c.name for c in columns]
    if table.by not in names or not runs:
        return {}
    key, place = table.key, f"c{names.index(table.by)}"
    last = f"SELECT max(rid) FROM {sql.data(key)} WHERE list_contains(?::VARCHAR[], {place}) GROUP BY {place}"
    cells = ", ".join(f"c{i}" for i in range(len(names)))
    query = f"SELECT rid, {cells} FROM {sql.data(key)} WHERE rid IN ({last})"
    found = {}
    for rid, *values in cursor.execute(query, [sorted(runs)]).fetchall():
        row = {name: x for name, raw in zip(names, values, strict=True) if (x := as_value(raw)) is not None}
        found[str(row[table.by])] = (int(rid), row)
    return found


def _merged(
    rows: Iterable[Mapping[str, Any]], before: Mapping[str, Mapping[str, Value]], by: str
) -> list[dict[str, Value]]:
    """Add the earlier values of each run to ``rows``, and return the rows that change something.

    ``before`` contains the stored values: run -> values by column.
    """
    merged: dict[str | int, dict[str, Value | None]] = {}
    for i, row in enumerate(rows):
        run = None if row.get(by) is None else str(row[by])
        place = i if run is None else run
        there: dict[str, Value | None] = dict(merged.get(place) or (before.get(run, {}) if run is not None else {}))
        for column, raw in row.items():
            value = run if column == by else as_value(raw)
            there[column] = value
            for other in (f"{column} ({kind})" for kind in get_args(Kind)):
                there.pop(other, None)
        merged[place] = there
    kept = {place: {name: x for name, x in row.items() if x is not None} for place, row in merged.items()}
    return [row for place, row in kept.items() if row and row != before.get(str(place))]


def _replace(cursor: Cursor, key: str, pairs: Iterable[tuple[int, int]]) -> None:
    """Withdraw the old row of each pair (new row, old row); the new row instead if the user withdrew the old one."""
    new = {old: fresh for fresh, old in pairs}
    query = "SELECT row_id, reason FROM withdrawn WHERE table_id = ? AND list_contains(?::BIGINT[], row_id)"
    by_user = dict(cursor.execute(query, [key, list(new)]).fetchall())
    rows = [new[old] if old in by_user else old for old in new]
    reasons = [by_user.get(old, REPLACED) for old in new]
    query = "INSERT INTO withdrawn SELECT ?, unnest(?::BIGINT[]), unnest(?::VARCHAR[]), ?"
    cursor.execute(query, [key, rows, reasons, now()])


def _roles(roles: Roles, old: Sequence[Column], columns: Sequence[Column]) -> Roles:
    """Return the mapping for ``columns``: the suggestion if the user did not change the mapping ``roles``.

    Otherwise the existing roles are kept, and roles are added only for columns that are not in ``old``.
    """
    suggested = guess_roles(columns)
    if roles == guess_roles(old):
        return suggested
    new = {c.name for c in columns} - {c.name for c in old} - {name for _, name in uses(roles)}
    changes: dict[str, Any] = {
        role.value: name
        for role in SINGLE_ROLES
        if (name := suggested.column(Role(role))) in new and roles.column(role) is None
        and role.value not in roles.derived
    }  # fmt: skip
    changes["metrics"] = (*roles.metrics, *(m for m in suggested.metrics if m.column in new))
    changes["hyper"] = (*roles.hyper, *(name for name in suggested.hyper if name in new))
    return roles.model_copy(update=changes)
