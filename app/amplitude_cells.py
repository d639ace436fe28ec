"""Trained cells of amplitude surrogates, read from bundled tables, the workspace, or a file."""

from __future__ import annotations

from pathlib import Path

from isoplan.data.amplitudes import trained_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cells import MOST_ROWS, NEEDED, TrainedCell, read_frame
from isoplan.engine.store.database.database import Database, memory
from isoplan.engine.store.tables import tables

MARK = "width_used"
"""Column that only tables of amplitude cells have. Tables with this column and the columns ``NEEDED`` are read."""


def of_workspace(db: Database) -> tuple[TrainedCell, ...]:
    """Return the amplitude cells of the bundled scans of D, and of the user's run tables in ``db``.

    Withdrawn rows are left out. The bundled scans of C are not used. In a scan of C, only the longest-trained cell at
    each D could be a point of the law of D, and only if D limits its loss. This could be tested with a cell that has
    the same D and half the compute, but the scans contain no such cell.
    """
    found = [trained_cells()]
    for table in (one for one in tables.all(db) if not one.read_only):
        names = {column.name for column in tables.columns(db, table.id)}
        if {*NEEDED, MARK} <= names:
            found.append(_read(db, table.id, table.name))
    return tuple(dict.fromkeys(cell for some in found for cell in some))


def of_file(path: Path) -> tuple[TrainedCell, ...]:
    """Return the amplitude cells of a table file. Raises PlannerError if the file has no such cells."""
    if not path.is_file():
        raise PlannerError(f"There is no file {path}: check the path.")
    with memory() as db:
        return _read(db, tables.add(db, path, path.name).id, path.name)


def _read(db: Database, table: str, name: str) -> tuple[TrainedCell, ...]:
    return read_frame(tables.frame(db, table, limit=MOST_ROWS), name)
