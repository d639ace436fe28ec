"""Read-only access to the SQLite databases of trackers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from isoplan.engine.errors import PlannerError

BEGINNING = b"SQLite format 3\0"
"""First bytes of an SQLite database."""
WAIT = 20
"""Longest time, in seconds, to wait for a process that writes to the database."""
CACHE_KILOBYTES = 128 * 1024
"""Size of the page cache of a database, in KB. It is large enough for a million logged values.

The values of one run are far apart in a database. With a smaller cache, most pages are read many times.
"""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"


@contextmanager
def opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite database with a connection that cannot change it.

    Raises PlannerError if the database is damaged, locked or of another kind. The error can also occur later, while the
    connection is used.
    """
    try:
        with closing(_connect(file)) as database:
            yield database
    except sqlite3.Error as error:
        raise PlannerError(f"{file} cannot be read ({error}): check that it is the database of this tracker.") from None


def _connect(file: Path) -> sqlite3.Connection:
    """Return a read-only connection that does not call unsafe functions from the schema of the database.

    A database in WAL mode in a folder without write permission can be opened only as immutable. This is safe if the
    WAL file is empty or missing, because no process writes to the database then.
    """
    address, log = f"{file.resolve().as_uri()}?mode=ro", file.with_name(f"{file.name}-wal")
    try:
        return _checked(address)
    except sqlite3.OperationalError:
        if log.exists() and log.stat().st_size:
            raise
        return _checked(f"{address}&immutable=1")


def _checked(address: str) -> sqlite3.Connection:
    """Return a connection after a successful test query."""
    database = sqlite3.connect(address, uri=True, timeout=WAIT)
    try:
        database.text_factory = lambda raw: raw.decode(errors="replace")
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.execute("PRAGMA temp_store = MEMORY")  # a view can sort rows without end, which would fill the disk
        database.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        database.close()
        raise
    return database


def has_tables(file: Path, *names: str) -> bool:
    """Return whether ``file`` is an SQLite database with these tables. Views and virtual tables do not count."""
    if not file.is_file():  # reading from a pipe may not end
        return False
    try:
        with file.open("rb") as content:
            if content.read(len(BEGINNING)) != BEGINNING:
                return False
        with opened(file) as database:
            tables = {name for (name,) in database.execute(_TABLES)}
    except (OSError, PlannerError):
        return False
    return tables.issuperset(names)
