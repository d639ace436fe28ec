"""Run tables with rows that training scripts log. Each table is identified by its name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.tables.catalog import TableInfo
from isoplan.engine.store.tables.updated_runs import Growing, grow

ABOUT = "Rows that training scripts logged; `isoplan append` and isoplan.log add rows."


@dataclass(frozen=True)
class Entry:
    """Rows that were logged together for the table called ``table``. ``name`` identifies the entry and is unique."""

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

    The names of added entries are recorded, and an entry with a recorded name is skipped. A recorded name is deleted if
    it sorts before ``forget`` and is not in ``entries``.
    """

    def change(cursor: Cursor) -> int:
        names = [entry.name for entry in entries]
        query = "DELETE FROM logged WHERE name < ? AND NOT list_contains(?::VARCHAR[], name)"
        cursor.execute(query, [forget, names])
        query = "SELECT name FROM logged WHERE list_contains(?::VARCHAR[], name)"
        known = {row[0] for row in cursor.execute(query, [names]).fetchall()}
        fresh = [entry for entry in entries if entry.name not in known]
        for table in dict.fromkeys(entry.table for entry in fresh):
            rows = [row for entry in fresh if entry.table == table for row in entry.rows]
            grow(cursor, Growing(table_of(table), table, table, _digest(table), ABOUT), rows)
        cursor.execute("INSERT INTO logged SELECT unnest(?::VARCHAR[])", [[entry.name for entry in fresh]])
        return sum(len(entry.rows) for entry in fresh)

    return db.write(change)


def _digest(name: str) -> str:
    return hashlib.sha256(f"logged/{name}".encode()).hexdigest()
