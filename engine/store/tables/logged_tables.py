"""Run tables of logged rows: training scripts report rows, and each table is known by its name.

A row with the name of a run (column ``run``) updates the row of this run: values that it does not contain stay as they
were. Stored values never change, so an update adds a row and marks the previous row as withdrawn. A row without a name
of a run is always added. The caller provides the transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from isoplan.engine.schema import SINGLE_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column, Kind
from isoplan.engine.store.columns.guess import guess_roles, with_guesses
from isoplan.engine.store.columns.mapping import uses
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.saved.saved_items import now
from isoplan.engine.store.tables import grown
from isoplan.engine.store.tables.catalog import TableInfo
from isoplan.engine.store.tables.grown import Value, as_value

RUN = "run"
"""Column with the name of the run of a row."""
REPLACED = "a later row of this run replaces it"
"""Stored reason why a row is withdrawn after an update."""
ABOUT = "Rows that training scripts logged; `isoplan append` and isoplan.log add rows."


@dataclass(frozen=True)
class Entry:
    """Rows that were logged together, in their order, for the table called ``table``. ``name`` is unique."""

    name: str
    table: str
    rows: tuple[Mapping[str, Any], ...]


def table_of(name: str) -> str:
    """Return the id of the table of logged rows called ``name``. The id is the same in every workspace."""
    return _digest(name)[:12]


def is_logged(table: TableInfo) -> bool:
    """Return whether ``table`` contains logged rows."""
    return table.id == table_of(table.source)


def take_in(db: Database, entries: Sequence[Entry], forget: str = "") -> int:
    """Add the rows of ``entries`` to their tables, in one transaction; return the number of rows in new entries.

    An entry that was taken in before is left out. The names of earlier entries that sort before ``forget`` and are not
    in ``entries`` are deleted from the record of entries.
    """

    def change(cursor: Cursor) -> int:
        names = [entry.name for entry in entries]
        query = "DELETE FROM logged WHERE name < ? AND NOT list_contains(?::VARCHAR[], name)"
        cursor.execute(query, [forget, names])
        query = "SELECT name FROM logged WHERE list_contains(?::VARCHAR[], name)"
        known = {row[0] for row in cursor.execute(query, [names]).fetchall()}
        fresh = [entry for entry in entries if entry.name not in known]
        for table in dict.fromkeys(entry.table for entry in fresh):
            grow(cursor, table, [row for entry in fresh if entry.table == table for row in entry.rows])
        cursor.execute("INSERT INTO logged SELECT unnest(?::VARCHAR[])", [[entry.name for entry in fresh]])
        return sum(len(entry.rows) for entry in fresh)

    return db.write(change)


def grow(cursor: Cursor, name: str, rows: Sequence[Mapping[str, Any]]) -> int:
    """Add ``rows`` (column -> value) to the table called ``name``; return the number of rows that are stored.

    The table is created if needed. Rows that change nothing are not stored. Of several rows of one run, one row with
    the latest values is stored. A value of None removes the earlier value.
    """
    key = table_of(name)
    old, mapped = grown.stored(cursor, key)
    runs = {str(row[RUN]) for row in rows if row.get(RUN) is not None}
    before = _current(cursor, key, old, runs)
    fresh = _merged(rows, {run: values for run, (_, values) in before.items()})
    if not fresh:
        return 0
    grown.create(cursor, key, name, name, _digest(name), ABOUT)
    placed, columns = grown.place([(values, {}) for values in fresh], old)
    start = grown.insert(cursor, key, columns, placed)
    updated = ((start + i, before[run][0]) for i, row in enumerate(fresh) if (run := str(row.get(RUN, ""))) in before)
    _replace(cursor, key, updated)
    described = with_guesses(grown.profiled(cursor, key, columns))
    grown.describe(cursor, key, described, _roles(mapped, old, described))
    return len(fresh)


def _digest(name: str) -> str:
    return hashlib.sha256(f"logged/{name}".encode()).hexdigest()


def _current(
    cursor: Cursor, key: str, columns: Sequence[Column], runs: Collection[str]
) -> dict[str, tuple[int, dict[str, Value]]]:
    """Return the latest row of each of ``runs`` that has one: run -> (row id, values by column)."""
    names = [c.name for c in columns]
    if RUN not in names or not runs:
        return {}
    place = f"c{names.index(RUN)}"
    last = f"SELECT max(rid) FROM {sql.data(key)} WHERE list_contains(?::VARCHAR[], {place}) GROUP BY {place}"
    cells = ", ".join(f"c{i}" for i in range(len(names)))
    query = f"SELECT rid, {cells} FROM {sql.data(key)} WHERE rid IN ({last})"
    found = {}
    for rid, *values in cursor.execute(query, [sorted(runs)]).fetchall():
        row = {name: x for name, raw in zip(names, values, strict=True) if (x := as_value(raw)) is not None}
        found[str(row[RUN])] = (int(rid), row)
    return found


def _merged(rows: Iterable[Mapping[str, Any]], before: Mapping[str, Mapping[str, Value]]) -> list[dict[str, Value]]:
    """Return the rows to store: ``rows`` with the earlier values of their runs, without rows that change nothing.

    ``before`` contains the stored values of runs: run -> values by column.
    """
    merged: dict[str | int, dict[str, Value | None]] = {}
    for i, row in enumerate(rows):
        run = None if row.get(RUN) is None else str(row[RUN])
        place = i if run is None else run
        there: dict[str, Value | None] = dict(merged.get(place) or (before.get(run, {}) if run is not None else {}))
        for column, raw in row.items():
            value = run if column == RUN else as_value(raw)
            there[column] = value
            for other in (f"{column} ({kind})" for kind in get_args(Kind)):
                there.pop(other, None)
        merged[place] = there
    kept = {place: {name: x for name, x in row.items() if x is not None} for place, row in merged.items()}
    return [row for place, row in kept.items() if row and row != before.get(str(place))]


def _replace(cursor: Cursor, key: str, pairs: Iterable[tuple[int, int]]) -> None:
    """Withdraw the old row of each pair (new row, old row). If the user withdrew the old row, the new row is too."""
    new = {old: fresh for fresh, old in pairs}
    query = "SELECT row_id, reason FROM withdrawn WHERE table_id = ? AND list_contains(?::BIGINT[], row_id)"
    by_user = dict(cursor.execute(query, [key, list(new)]).fetchall())
    rows = [new[old] if old in by_user else old for old in new]
    reasons = [by_user.get(old, REPLACED) for old in new]
    query = "INSERT INTO withdrawn SELECT ?, unnest(?::BIGINT[]), unnest(?::VARCHAR[]), ?"
    cursor.execute(query, [key, rows, reasons, now()])


def _roles(roles: Roles, old: Sequence[Column], columns: Sequence[Column]) -> Roles:
    """Return the suggested mapping if the mapping ``roles`` is the suggestion for the ``old`` columns.

    If the user changed the mapping, the existing roles stay, and only new columns get a role.
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
