"""A relation becomes a stored table: text that is all numbers becomes float64, rows get ids, columns a profile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from engine.errors import PlannerError
from engine.store.columns import Column
from engine.store.database import Cursor, Database, first
from engine.store.guess import with_guesses
from engine.store.profile import profile
from engine.store.sources import explain, open_relation
from engine.store.text import Relation
from engine.store.uploads import Upload

_SAMPLE_ROWS = 5000


@dataclass(frozen=True)
class Loaded:
    """What was stored: the number of rows, the columns with their guesses, and notes for the user."""

    rows: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...]


def load(db: Database, upload: Upload, part: str, table: str, register: Callable[[Cursor, Loaded], None]) -> None:
    """Store an upload as the data table ``table``: ``rid`` 0, 1, ... in the order of the file, then ``c0``, ``c1``, ...

    Types come from the first rows; only where a later row disagrees is the whole file looked at, then read again.
    ``register`` runs in the transaction that stores the rows. A table that exists by then is left as it is.
    """
    with tempfile.TemporaryDirectory(dir=db.folder) as scratch, _sentences(upload.name):
        with db.read() as cursor:
            relation = open_relation(cursor, upload, part, Path(scratch))
            types = _types(cursor, relation, _SAMPLE_ROWS)
        try:
            db.write(lambda cursor: _store(cursor, relation, types, table, upload.name, register))
        except duckdb.ConversionException:
            with db.read() as cursor:
                all_types = _types(cursor, relation, None)
            db.write(lambda cursor: _store(cursor, relation, all_types, table, upload.name, register))


@contextmanager
def _sentences(name: str) -> Iterator[None]:
    """What DuckDB says about a bad file, as one sentence."""
    bad = (duckdb.ConversionException, duckdb.InvalidInputException, duckdb.IOException, duckdb.InternalException)
    try:
        yield
    except (*bad, duckdb.BinderException, duckdb.SerializationException) as error:
        raise explain(error, name) from None


def _store(
    cursor: Cursor,
    relation: Relation,
    types: tuple[str, ...],
    table: str,
    name: str,
    register: Callable[[Cursor, Loaded], None],
) -> None:
    if first(cursor, "SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [table]):
        return
    fields = ", ".join(f"CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(types))
    cursor.execute(f"CREATE TABLE {table} AS SELECT row_number() OVER () - 1 AS rid, {fields} FROM ({relation.query})")
    rows = count(cursor, table)
    if rows == 0:
        raise PlannerError(f"{name} has a header and no rows: add at least one run.")
    columns = with_guesses(profile(cursor, table, relation.names, types, relation.semicolons))
    register(cursor, Loaded(rows, columns, relation.notes))


def count(cursor: Cursor, table: str) -> int:
    """Rows of a data table, withdrawn ones included."""
    found = first(cursor, f"SELECT count(*) FROM {table}")
    return int(found[0]) if found else 0


def stored_types(cursor: Cursor, table: str) -> tuple[str, ...]:
    """The stored types of ``c0``, ``c1``, ... of a data table."""
    described = cursor.execute(f"DESCRIBE {table}").fetchall()
    return tuple(str(row[1]) for row in described if row[0] != "rid")


def _types(cursor: Cursor, relation: Relation, sample: int | None) -> tuple[str, ...]:
    """The type that each column is stored as: DOUBLE, BOOLEAN, TIMESTAMP or VARCHAR."""
    declared = [str(row[1]) for row in cursor.execute(f"DESCRIBE {relation.query}").fetchall()]
    types = [_stored(kind) for kind in declared]
    texts = [i for i, kind in enumerate(types) if kind == "VARCHAR"]
    if not texts:
        return tuple(types)
    limit = f" LIMIT {sample}" if sample is not None else ""
    fields = ", ".join(_evidence(f"CAST(c{i} AS VARCHAR)") for i in texts)
    row = first(cursor, f"SELECT {fields} FROM (SELECT * FROM ({relation.query}){limit})") or ()
    for i, found in zip(texts, row, strict=True):
        types[i] = _fitting(*found)
    return tuple(types)


def _fitting(cells: int, numbers: int, words: int, dates: int) -> str:
    """The narrowest type that all cells have; a column without a cell could hold numbers."""
    for fitting, kind in ((numbers, "DOUBLE"), (words, "BOOLEAN"), (dates, "TIMESTAMP")):
        if fitting == cells:
            return kind
    return "VARCHAR"


def _stored(kind: str) -> str:
    if kind.startswith(("DECIMAL", "FLOAT", "DOUBLE")) or kind.endswith(("INT", "INTEGER", "BIGNUM")):
        return "DOUBLE"
    if kind == "BOOLEAN":
        return kind
    return "TIMESTAMP" if kind.startswith(("TIMESTAMP", "DATE")) else "VARCHAR"


def _evidence(c: str) -> str:
    words = f"count(CASE WHEN lower({c}) IN ('true', 'false') THEN 1 END)"
    return f"[count({c}), count(TRY_CAST({c} AS DOUBLE)), {words}, count(TRY_CAST({c} AS TIMESTAMP))]"
