"""Layout of the database (its tables and columns), and the migration of older layouts.

``SCHEMA`` is the number of the current layout. To change the layout, increase ``SCHEMA`` by one and add an entry to
``MIGRATIONS``: the SQL statements that convert the previous layout. ``LAYOUT`` always creates the newest layout.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb

from isoplan.engine.errors import PlannerError

SCHEMA = 8

ACTUALS = """CREATE TABLE actuals (
        id VARCHAR PRIMARY KEY, plan_hash VARCHAR NOT NULL, created TIMESTAMP NOT NULL, deleted BOOLEAN NOT NULL,
        body VARCHAR NOT NULL)"""

ANSWERS = """CREATE TABLE answers (
        hash VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, kind VARCHAR NOT NULL, sentence VARCHAR NOT NULL,
        query VARCHAR NOT NULL, created TIMESTAMP NOT NULL, deleted BOOLEAN NOT NULL, body VARCHAR NOT NULL)"""

CELLS = """CREATE TABLE cells (
        name VARCHAR PRIMARY KEY, family VARCHAR NOT NULL, state VARCHAR NOT NULL, number BIGINT NOT NULL,
        created VARCHAR NOT NULL, sweep VARCHAR NOT NULL, row_id BIGINT)"""

LOGGED = "CREATE TABLE logged (name VARCHAR PRIMARY KEY)"

IMPORTS = "CREATE TABLE imports (table_id VARCHAR PRIMARY KEY, record VARCHAR NOT NULL)"

LAYOUT = (
    "CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)",
    """CREATE TABLE tables (
        id VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, nrows BIGINT NOT NULL, sha256 VARCHAR NOT NULL,
        source VARCHAR NOT NULL, created TIMESTAMP NOT NULL, read_only BOOLEAN NOT NULL, deleted BOOLEAN NOT NULL,
        provenance VARCHAR NOT NULL, notes VARCHAR NOT NULL, columns VARCHAR NOT NULL, roles VARCHAR NOT NULL,
        kind VARCHAR DEFAULT 'runs', runs_id VARCHAR DEFAULT '', layout VARCHAR DEFAULT '')""",
    """CREATE TABLE withdrawn (
        table_id VARCHAR NOT NULL, row_id BIGINT NOT NULL, reason VARCHAR NOT NULL, moment TIMESTAMP NOT NULL)""",
    """CREATE TABLE snapshots (
        hash VARCHAR PRIMARY KEY, table_id VARCHAR NOT NULL, ids BLOB NOT NULL, n BIGINT NOT NULL,
        roles VARCHAR NOT NULL, filter VARCHAR NOT NULL, values_hash VARCHAR NOT NULL)""",
    """CREATE TABLE fits (
        hash VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, table_id VARCHAR NOT NULL, snapshot_hash VARCHAR NOT NULL,
        law VARCHAR NOT NULL, created TIMESTAMP NOT NULL, deleted BOOLEAN NOT NULL, body VARCHAR NOT NULL,
        note VARCHAR DEFAULT '')""",
    """CREATE TABLE plans (
        hash VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, fit_hash VARCHAR NOT NULL,
        created TIMESTAMP NOT NULL, deleted BOOLEAN NOT NULL, body VARCHAR NOT NULL)""",
    "CREATE TABLE views (hash VARCHAR PRIMARY KEY, created TIMESTAMP NOT NULL, body VARCHAR NOT NULL)",
    ACTUALS,
    ANSWERS,
    CELLS,
    LOGGED,
    IMPORTS,
)

MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE tables ADD COLUMN kind VARCHAR DEFAULT 'runs'",
        "ALTER TABLE tables ADD COLUMN runs_id VARCHAR DEFAULT ''",
    ),
    2: ("ALTER TABLE fits ADD COLUMN note VARCHAR DEFAULT ''",),
    3: (ACTUALS,),
    4: (ANSWERS,),
    5: (CELLS,),
    6: (LOGGED, IMPORTS),
    7: ("ALTER TABLE tables ADD COLUMN IF NOT EXISTS layout VARCHAR DEFAULT ''",),
}


class BadLayout(PlannerError):
    """Error: the layout number in the database is not valid."""


def schema_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the layout number that an open database contains; 0 for an empty database.

    Raises BadLayout if the stored number is not valid, and PlannerError if Isoplan did not write the database.
    """
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
    names = {row[0] for row in connection.execute(query).fetchall()}
    if not names:
        return 0
    found = []
    if "meta" in names:
        found = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchall()
    if not found:
        raise PlannerError(
            "isoplan.duckdb in this workspace was not written by Isoplan: choose another workspace folder."
        )
    text = str(found[0][0])
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise BadLayout(f"its layout {text[:40]!r} is not a number, so the database is damaged.")
    return int(text)


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables of the current layout in an empty database, in one transaction."""
    _run(connection, (*LAYOUT, f"INSERT INTO meta VALUES ('schema', '{SCHEMA}')"))


def refuse_newer(found: int, file: Path) -> None:
    """Raise PlannerError if the layout number ``found`` shows that a newer Isoplan wrote ``file``."""
    if found > SCHEMA:
        raise PlannerError(
            f"{file} was written by a newer Isoplan (layout {found}; this version reads up to {SCHEMA}): "
            "update Isoplan or choose another workspace with --workspace."
        )


def keep_copy(file: Path, found: int) -> Path:
    """Copy a closed database file of layout ``found`` before its migration, and return the path of the copy.

    The copy is in the same folder. Raises PlannerError if the copy cannot be written; a partial copy is removed.
    """
    copy = file.with_name(f"{file.stem}.layout{found}{file.suffix}")
    fresh = copy.with_name(f".{copy.name}")
    try:
        shutil.copy2(file, fresh)
        fresh.replace(copy)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise PlannerError(
            f"{file} has an older layout and must be copied before it is updated, but the copy cannot be "
            f"written ({error.strerror}): "
            "free some disk space and try again."
        ) from None
    return copy


def migrate(connection: duckdb.DuckDBPyConnection, found: int) -> None:
    """Convert an open database of layout ``found`` to the current layout, in one transaction."""
    steps = [statement for number in range(found, SCHEMA) for statement in MIGRATIONS[number]]
    _run(connection, (*steps, f"UPDATE meta SET value = '{SCHEMA}' WHERE key = 'schema'"))


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Run the block as one transaction: commit its changes at the end, or roll all of them back after an error."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _run(connection: duckdb.DuckDBPyConnection, statements: tuple[str, ...]) -> None:
    with transaction(connection):
        for statement in statements:
            connection.execute(statement)
