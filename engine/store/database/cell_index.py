"""Index of cells (training runs) in the database. It lets a page read the states of all cells with one query.

The index is a copy of the states in the folder of the queue and can be rebuilt from this folder at any time. It also
contains the row id of each finished cell in its run table. The run table, not the index, determines whether this row
exists.
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
    """A cell (one training run) in the index, with its state in the folder of the queue.

    ``number`` is the number of the last attempt to train the cell. ``row`` is the id of its row in the run table of its
    family, or None if the cell has no row.
    """

    name: str
    family: str
    state: str
    number: int = 0
    created: str = ""
    sweep: str = ""
    row: int | None = None


T = TypeVar("T", CellRow, Indexed)


def index(db: Database) -> dict[str, Indexed]:
    """Return all cells in the index: name -> cell, sorted by name."""
    with db.read() as cursor:
        return _index(cursor)


def counts(db: Database, family: str) -> dict[str, int]:
    """Return the number of cells of a family in each state; a state without cells is left out."""
    query = "SELECT state, count(*) FROM cells WHERE family = ? GROUP BY state ORDER BY state"
    with db.read() as cursor:
        return dict(cursor.execute(query, [family]).fetchall())


def grow(
    db: Database,
    cells: Sequence[Indexed],
    finished: Sequence[CellRow],
    before_commit: Callable[[], None] = lambda: None,
) -> int:
    """Make the index equal to ``cells``, and add a run-table row for each ``finished`` cell that has no row yet.

    Returns the number of new rows. A repeated call changes nothing. Cells that are not in ``cells`` are removed from
    the index, but not from the run tables. All changes are one transaction. ``before_commit`` is called after all
    writes and before the commit.
    """

    def change(cursor: Cursor) -> int:
        rows, new = _rows(cursor, finished)
        _bring_index(cursor, cells, rows)
        before_commit()
        return new

    return db.write(change)


def delete(db: Database, names: Sequence[str]) -> None:
    """Remove deleted cells from the index and mark their rows as withdrawn in the run tables of their families."""
    chosen = set(names)

    def change(cursor: Cursor) -> None:
        for family, found in _by_family([cell for cell in _index(cursor).values() if cell.name in chosen]).items():
            cell_tables.withdraw(cursor, family, [cell.name for cell in found])
        cursor.execute("DELETE FROM cells WHERE list_contains(?::VARCHAR[], name)", [list(chosen)])

    db.write(change)


def _rows(cursor: Cursor, finished: Sequence[CellRow]) -> tuple[dict[str, int], int]:
    """Add rows for the finished cells; return the row id of each cell by name, and the number of new rows."""
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
    """Make the index equal to ``cells``, with the row ids in ``rows`` (cell name -> row id).

    A cell that is not in ``rows`` keeps its previous row id.
    """
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
