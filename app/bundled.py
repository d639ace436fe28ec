"""The run tables that come with Isoplan, in every workspace: read-only and always there."""

from __future__ import annotations

from pathlib import Path

from data.catalogue import BUNDLED, Demo, path
from engine.store import tables
from engine.store.database import Database
from engine.store.tables import TableInfo


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
