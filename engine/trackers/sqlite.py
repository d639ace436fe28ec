"""SQLite databases of trackers, which are opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from isoplan.engine.errors import PlannerError

BEGINNING = b"SQLite format 3\0"
"""First bytes of an SQLite database."""
WAIT = 20
"""Seconds to wait for a process that writes to the database."""


@contextmanager
def opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite database, which cannot be changed through this connection.

    Raises PlannerError if the database is damaged, locked or of another kind, also while the connection is used.
    """
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            yield database
    except sqlite3.Error as error:
        raise PlannerError(f"{file} cannot be read ({error}): check that it is the database of this tracker.") from None


def has_tables(file: Path, *names: str) -> bool:
    """Return whether ``file`` is an SQLite database with these tables. Views do not count."""
    try:
        with file.open("rb") as content:
            if content.read(len(BEGINNING)) != BEGINNING:
                return False
        with opened(file) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except (OSError, PlannerError):
        return False
    return tables.issuperset(names)
