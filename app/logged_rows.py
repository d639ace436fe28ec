"""Addition of the rows that training scripts logged, from the folder of the workspace to the tables."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database, WorkspaceInUse, open_workspace
from isoplan.engine.store.tables.logged_tables import Entry, take_in
from isoplan.trainers import logged_rows
from isoplan.trainers.backend.store.files import fault_point

AT_ONCE = 2000
"""Largest number of files that are taken in with one transaction."""
REMEMBERED = 7 * 24 * 3600
"""Time in seconds after which the database forgets the name of a file that is deleted. A backup that is being written
may contain the file until then.
"""
_one_at_a_time = threading.Lock()

log = logging.getLogger("isoplan.logged")


def ingest(db: Database, root: Path) -> int:
    """Add all logged rows of the workspace ``root`` to their tables; return their number.

    The files are deleted after the commit. If the process is killed in between, the next call deletes them without
    adding their rows again. A damaged file is moved to the folder ``logged/damaged``.
    """
    total = 0
    with _one_at_a_time:
        while places := logged_rows.waiting(root, AT_ONCE):
            total += _ingest(db, places)
        if total:
            logged_rows.tidy(root)
    return total


def _ingest(db: Database, places: list[Path]) -> int:
    entries = []
    for place in places:
        found = logged_rows.read(place)
        if found is not None:
            entries.append(Entry(place.name, found[0], tuple(found[1])))
        elif place.exists():
            _set_aside(place)
    forget = logged_rows.stamp(time.time_ns() - REMEMBERED * 10**9)
    try:
        rows = take_in(db, entries, forget)
    except PlannerError:
        raise
    except Exception:
        if len(places) > 1:  # One file may contain a value that the database cannot store.
            return sum(_ingest(db, [place]) for place in places)
        _set_aside(places[0])
        return 0
    fault_point("after-logged-commit")
    logged_rows.delete(place.with_name(entry.name) for entry in entries)
    return rows


def _set_aside(place: Path) -> None:
    log.error("%s is damaged. It is moved to %s", place, logged_rows.set_aside(place))


def ingest_if_free(root: Path) -> bool:
    """Add all logged rows of the workspace ``root`` to their tables, and return whether this was possible.

    Returns False if another process has the workspace open: an app adds the rows itself within a second. Raises
    PlannerError if the workspace cannot be opened.
    """
    try:
        with open_workspace(root) as db:
            ingest(db, root)
            return True
    except WorkspaceInUse:
        return False
