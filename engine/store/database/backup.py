"""Consistent copies of the database of a workspace, and checksums to compare two copies.

A copy and its checksums are made in one transaction, so the checksums fit the copy even if other threads write rows at
the same time. A process that has the database open must not open the file a second time, because closing the second
handle would release DuckDB's lock.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from pydantic import BaseModel, ConfigDict

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import migration, sql
from isoplan.engine.store.database.damage import FILE, disk_full, explain
from isoplan.engine.store.database.database import Cursor, Database, first, memory, read_closed

SPARE = 20e6
"""Disk space in bytes that must stay free after a copy is written, because an open workspace continues to write."""


class TableSum(BaseModel):
    """Checksum of a table: its number of rows, the sum of the 64-bit hashes of its rows, and its CREATE statement.

    The sum does not depend on the order of the rows.
    """

    model_config = ConfigDict(frozen=True)
    rows: int
    hash: str
    sql: str


class Contents(BaseModel):
    """Summary of a database: a checksum of every SQL table, and the numbers of run tables, of their rows and of fits.

    ``run_tables``, ``rows`` and ``fits`` do not count deleted tables and fits. ``duckdb`` is the version of DuckDB that
    computed the hashes in the checksums. Another version may compute other hashes.
    """

    model_config = ConfigDict(frozen=True)
    layout: int
    duckdb: str
    tables: dict[str, TableSum]
    run_tables: int
    rows: int
    fits: int


def copy_open(db: Database, target: Path) -> Contents:
    """Copy an open database to the new file ``target`` and return its contents. Writes can continue during the copy.

    Raises PlannerError if the disk does not have enough space.
    """
    folder = db.folder
    if folder is not None:
        size = sum(file.stat().st_size for file in (folder / FILE, folder / f"{FILE}.wal") if file.exists())
        free = shutil.disk_usage(target.parent).free
        if free < size + SPARE:
            raise PlannerError(
                f"The disk of {target.parent} has {free / 1e6:,.0f} MB free and the copy of the database needs "
                f"{(size + SPARE) / 1e6:,.0f} MB: free some space and try again."
            )
    with db.read() as cursor:
        return _copy(cursor, target)


def copy_closed(folder: Path, target: Path) -> Contents:
    """Copy the database of a workspace that no process has open, and return its contents.

    If the workspace has no database, an empty one is written. Raises WorkspaceInUse if a process has the workspace
    open. Raises PlannerError if the database is damaged, if a newer Isoplan wrote it, or if the disk of ``target`` is
    full.
    """
    if not (folder / FILE).exists():
        with memory() as db, db.read() as cursor:
            return _copy(cursor, target)
    with read_closed(folder) as cursor:
        return _copy(cursor, target)


def contents_of(folder: Path) -> Contents:
    """Return the contents of the database in ``folder``; raises PlannerError if it cannot be read."""
    with read_closed(folder) as cursor:
        return _contents(cursor)


def differences(expected: Contents, found: Contents) -> list[str]:
    """Return the names of the tables that differ between two databases.

    If different versions of DuckDB computed the hashes, only the numbers of rows are compared.
    """
    names = sorted({*expected.tables, *found.tables})
    if expected.duckdb == found.duckdb:
        return [name for name in names if expected.tables.get(name) != found.tables.get(name)]
    rows = [{name: table.rows for name, table in one.tables.items()} for one in (expected, found)]
    return [name for name in names if rows[0].get(name) != rows[1].get(name)]


def _copy(cursor: Cursor, target: Path) -> Contents:
    """Copy the current database of ``cursor`` to ``target`` and return its contents.

    After an error, the partial copy is deleted.
    """
    try:
        with _attached(cursor, target) as name, migration.transaction(cursor):
            cursor.execute(f"COPY FROM DATABASE {_current(cursor)} TO {name}")
            return _contents(cursor)
    except BaseException as error:
        for file in (target, target.with_name(f"{target.name}.wal")):
            file.unlink(missing_ok=True)
        if isinstance(error, duckdb.Error) and explain(error, target.parent):
            raise disk_full(target.parent) from error
        raise


def _current(cursor: Cursor) -> str:
    found = first(cursor, "SELECT current_database()")
    assert found is not None
    return f'"{found[0]}"'


@contextmanager
def _attached(cursor: Cursor, target: Path) -> Iterator[str]:
    """Attach the new database file ``target`` during the block and yield its name in SQL.

    After the block the file is complete and closed.
    """
    name = f"copy_{secrets.token_hex(8)}"
    cursor.execute(f"ATTACH {sql.text(str(target))} AS {name}")
    try:
        yield name
    finally:
        cursor.execute(f"DETACH {name}")


def _contents(cursor: Cursor) -> Contents:
    query = "SELECT table_name, sql FROM duckdb_tables() WHERE database_name = current_database() ORDER BY table_name"
    tables = {}
    for name, statement in cursor.execute(query).fetchall():
        quoted = name.replace('"', '""')
        sums = first(cursor, f'SELECT count(*), coalesce(sum(hash(t)), 0)::VARCHAR FROM "{quoted}" t')
        assert sums is not None
        tables[str(name)] = TableSum(rows=sums[0], hash=sums[1], sql=statement)
    run_tables, rows, fits = _counts(cursor) if "tables" in tables else (0, 0, 0)
    return Contents(
        layout=migration.schema_of(cursor),
        duckdb=duckdb.__version__,
        tables=tables,
        run_tables=run_tables,
        rows=rows,
        fits=fits,
    )


def _counts(cursor: Cursor) -> tuple[int, int, int]:
    """Return the numbers of run tables, their rows, and fits, without deleted tables and fits."""
    tables = first(cursor, "SELECT count(*), coalesce(sum(nrows), 0)::BIGINT FROM tables WHERE NOT deleted")
    fits = first(cursor, "SELECT count(*) FROM fits WHERE NOT deleted")
    assert tables is not None
    assert fits is not None
    return tables[0], tables[1], fits[0]
