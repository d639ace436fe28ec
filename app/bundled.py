"""Bundled run tables. They are part of Isoplan. Every workspace contains them, and users cannot change them."""

from __future__ import annotations

from pathlib import Path

from isoplan.data.catalogue import BUNDLED, Demo, path
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

TASKS = {
    "behavior": "recommender",
    "teacher and student": "teacher-student",
    "jet": "jets",
    "amplitude": "amplitudes",
}
"""Names of tasks, by alternative name.

The alternative names are used by cell families, bundled tables and published laws.
"""


def load_bundled(database: Database) -> None:
    """Add each bundled table that the workspace does not contain yet, with the roles of its columns.

    Bundled tables of an earlier version of Isoplan are marked as deleted, but their fits keep working. The first table
    of ``BUNDLED`` is added last, so that it is the newest table. A page whose link names no table opens with the newest
    table.
    """
    kept = []
    for demo in reversed(BUNDLED):
        table = tables.add(database, Path(str(path(demo.file))), demo.name, read_only=True, provenance=demo.provenance)
        if not table.known:
            tables.set_roles(database, table.id, demo.roles)
        kept.append(table.id)
    tables.retire(database, kept)


def opening(table: TableInfo) -> Demo | None:
    """Return the catalogue entry of a bundled table; None for any other table.

    The entry contains, for example, the default law of the table.
    """
    return next((demo for demo in BUNDLED if table.read_only and demo.name == table.name), None)


def task_of(db: Database, table_id: str) -> str:
    """Return the name of the task that the runs of a table were trained on, such as 'jets'.

    A table of trained cells has the task of its cell family. A bundled table has the task in its name. For any other
    table, the task is unknown and the function returns "".
    """
    table = next((t for t in tables.all(db) if t.id == table_id), None)
    if table is None:
        return ""
    family = cell_index.family_of(table)
    return TASKS.get(family, family) if family else task_named(table.name) if table.read_only else ""


def task_named(name: str) -> str:
    """Return the task with which the name of a table or a law begins, such as 'jets' for ``Jets, N x D grid``."""
    words = name.partition(",")[0].partition(":")[0].lower()
    return TASKS.get(words) or TASKS.get(words.split(" ")[0], words)
