"""Trained cells of amplitudes, wherever they lie: in bundled tables, in the workspace, in a file."""

from __future__ import annotations

from pathlib import Path

from isoplan.data.amplitudes import trained_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude import TrainedCell, read_cells
from isoplan.engine.planning.amplitude.cells import NEEDED
from isoplan.engine.store.database.database import Database, memory
from isoplan.engine.store.tables import tables

MARK = "width_used"
"""A column that tables of amplitude cells have and others have not, beside those that are needed."""
MOST_ROWS = 20_000


def of_workspace(db: Database) -> tuple[TrainedCell, ...]:
    """Those of the bundled scans of D, and those of the user's run tables in ``db``; withdrawn rows are left out.

    Other bundled tables are left out: a scan of C at the same D has a longest cell without one of half its compute,
    which would take a place in the law of D.
    """
    found = [trained_cells()]
    for table in (one for one in tables.all(db) if not one.read_only):
        names = {column.name for column in tables.columns(db, table.id)}
        if {*NEEDED, MARK} <= names:
            found.append(_read(db, table.id, table.name))
    return tuple(dict.fromkeys(cell for some in found for cell in some))


def of_file(path: Path) -> tuple[TrainedCell, ...]:
    """Those of a table in a file. Raises PlannerError for one that cannot be read or holds no such cells."""
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: check the path.")
    with memory() as db:
        return _read(db, tables.add(db, path, path.name).id, path.name)


def _read(db: Database, table: str, name: str) -> tuple[TrainedCell, ...]:
    rows = tables.frame(db, table, limit=MOST_ROWS)
    if "withdrawn" in rows:
        rows = rows[rows["withdrawn"] == ""]
    return read_cells(rows.astype(object).where(rows.notna(), None).to_dict("records"), name)
