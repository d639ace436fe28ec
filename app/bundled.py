"""The run tables that come with Isoplan, in every workspace: read-only and always there."""

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
"""Names of tasks that families, bundled tables and published laws write differently."""


def load_bundled(database: Database) -> None:
    """Add the trained, simulated and published tables that the workspace does not hold yet, each with its mapping.

    Those of an earlier version are put away, and fits made from them go on working. The first is added last, so that
    it is the newest: a page without a table in its link opens with it.
    """
    kept = []
    for demo in reversed(BUNDLED):
        table = tables.add(database, Path(str(path(demo.file))), demo.name, read_only=True, provenance=demo.provenance)
        if not table.known:
            tables.set_roles(database, table.id, demo.roles)
        kept.append(table.id)
    tables.retire(database, kept)


def opening(table: TableInfo) -> Demo | None:
    """The entry of a bundled table, which says with what law it is opened; None for any other table."""
    return next((demo for demo in BUNDLED if table.read_only and demo.name == table.name), None)


def task_of(db: Database, table_id: str) -> str:
    """What the runs of a table train: the family of their cells, or the task in a bundled table's name.

    Empty for a table of the user, whose task is not known.
    """
    table = next((t for t in tables.all(db) if t.id == table_id), None)
    if table is None:
        return ""
    family = cell_index.family_of(table)
    return TASKS.get(family, family) if family else task_named(table.name) if table.read_only else ""


def task_named(name: str) -> str:
    """The task of a bundled table or a published law, by the beginning of its name: ``Jets, N x D grid``."""
    words = name.partition(",")[0].partition(":")[0].lower()
    return TASKS.get(words) or TASKS.get(words.split(" ")[0], words)
