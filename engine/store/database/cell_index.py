"""Index of cells: a copy of the state in the queue's folder, so that pages can read it with one query.

The index can be rebuilt from the folder at any time. It adds the row of the run table that a finished cell became.
Whether this row exists is stored in the run tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from isoplan.engine.store.database.database import Cursor, Database
from isoplan.engine.store.tables import cell_tables
from isoplan.engine.store.tables.cell_tables import CellRow, family_of, table_of

__all__ = ["CellRow", "Indexed", "counts", "delete", "family_of", "grow", "index", "table_of"]
_FIELDS = ("name", "family", "state", "number", "created", "sweep")


@dataclass(frozen=True)
class Indexed:
    """State of a cell in its folder; ``number`` is its last attempt, ``row`` its row in the table of its family."""

    name: str
    family: str
    state: str
    number: int = 0
    created: str = ""
    sweep: str = ""
    row: int | None = None


T = TypeVar("T", CellRow, Indexed)


def index(db: Database) -> dict[str, Indexed]:
    """Return all cells by name, in the order of their names."""
    with db.read() as cursor:
        return _index(cursor)


def counts(db: Database, family: str) -> dict[str, int]:
    """Count the cells of a family by state; states without cells are left out."""
    query = "SELECT state, count(*) FROM cells WHERE family = ? GROUP BY state ORDER BY state"
    with db.read() as cursor:
        return dict(cursor.execute(query, [family]).fetchall())


def grow(
    db: Database,
    cells: Sequence[Indexed],
    finished: Sequence[CellRow],
    before_commit: Callable[[], None] = lambda: None,
) -> int:
    """Update the index to ``cells`` and add a row for each of the ``finished`` without one.

    Returns the number of new rows. All changes are one transaction; a repeated call changes nothing. Removed cells
    leave the index, and their rows stay. ``before_commit`` is called after all writes and before the commit.
    """

    def change(cursor: Cursor) -> int:
        rows, new = _rows(cursor, finished)
        _bring_index(cursor, cells, rows)
        before_commit()
        return new

    return db.write(change)


def delete(db: Database, names: Sequence[str]) -> None:
    """Remove deleted cells from the index and withdraw their rows from the table of their family."""
    chosen = set(names)

    def change(cursor: Cursor) -> None:
        for family, found in _by_family([cell for cell in _index(cursor).values() if cell.name in chosen]).items():
            cell_tables.withdraw(cursor, family, [cell.name for cell in found])
        cursor.execute("DELETE FROM cells WHERE list_contains(?::VARCHAR[], name)", [list(chosen)])

    db.write(change)


def _rows(cursor: Cursor, finished: Sequence[CellRow]) -> tuple[dict[str, int], int]:
    """Return the row of each finished cell by name, and the number of new rows."""
    found: dict[str, int] = {}
    new = 0
    for family, rows in _by_family(finished).items():
        there, added = cell_tables.grow(cursor, family, rows)
        found |= there
        new += added
    return found, new


def _index(cursor: Cursor) -> dict[str, Indexed]:
    rows = cursor.execute(f"SELECT {', '.join(_FIELDS)}, row_id FROM cells ORDER BY name").fetchall()
    return {row[0]: Indexed(*row) for row in rows}


def _bring_index(cursor: Cursor, cells: Sequence[Indexed], rows: dict[str, int]) -> None:
    """Write the differences to ``cells``; a cell keeps its row."""
    import pandas as pd

    before = _index(cursor)
    wanted = {}
    for cell in cells:
        old = before.get(cell.name)
        row = rows.get(cell.name, old.row if old is not None else None)
        wanted[cell.name] = Indexed(cell.name, cell.family, cell.state, cell.number, cell.created, cell.sweep, row)
    changed = [cell for name, cell in wanted.items() if before.get(name) != cell]
    gone = [name for name in before if name not in wanted]
    if gone:
        cursor.execute("DELETE FROM cells WHERE list_contains(?::VARCHAR[], name)", [gone])
    if changed:
        fresh = pd.DataFrame({name: [getattr(cell, name) for cell in changed] for name in (*_FIELDS, "row")})
        cursor.register("changed", fresh.astype({"row": "Int64"}))
        cursor.execute(f"INSERT OR REPLACE INTO cells SELECT {', '.join(_FIELDS)}, row FROM changed")
        cursor.unregister("changed")


def _by_family(found: Sequence[T]) -> dict[str, list[T]]:
    grouped: dict[str, list[T]] = defaultdict(list)
    for one in found:
        grouped[one.family].append(one)
    return grouped
