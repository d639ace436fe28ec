"""Run tables that are part of Isoplan and available in every workspace, read-only."""

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
"""Common names of tasks for which families, bundled tables and published laws use different names."""


def load_bundled(database: Database) -> None:
    """Add the bundled tables that the workspace does not contain yet, each with its mapping.

    Tables of an earlier version are retired; their fits keep working. The first table is added last, so that it is the
    newest: a page whose link names no table opens with it.
    """
    kept = []
    for demo in reversed(BUNDLED):
        table = tables.add(database, Path(str(path(demo.file))), demo.name, read_only=True, provenance=demo.provenance)
        if not table.known:
            tables.set_roles(database, table.id, demo.roles)
        kept.append(table.id)
    tables.retire(database, kept)


def opening(table: TableInfo) -> Demo | None:
    """Return the entry of a bundled table, which names its default law; None for any other table."""
    return next((demo for demo in BUNDLED if table.read_only and demo.name == table.name), None)


def task_of(db: Database, table_id: str) -> str:
    """Return the task of the runs of a table: the family of its cells, or the task in a bundled table's name.

    Returns "" for a user's table, because its task is unknown.
    """
    table = next((t for t in tables.all(db) if t.id == table_id), None)
    if table is None:
        return ""
    family = cell_index.family_of(table)
    return TASKS.get(family, family) if family else task_named(table.name) if table.read_only else ""


def task_named(name: str) -> str:
    """Return the task of a bundled table or a published law from the start of its name: ``Jets, N x D grid``."""
    words = name.partition(",")[0].partition(":")[0].lower()
    return TASKS.get(words) or TASKS.get(words.split(" ")[0], words)
