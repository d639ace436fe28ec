"""Storage of a relation as a table: numeric text becomes float64, rows get ids, columns get a profile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.guess import with_guesses
from isoplan.engine.store.columns.profile import profile
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, Database, first
from isoplan.engine.store.files.sources import explain, open_relation
from isoplan.engine.store.files.text import Relation, find_decimal_marks, most_rows
from isoplan.engine.store.files.uploads import Upload

_SAMPLE_ROWS = 5000
_AT_ONCE = 100


@dataclass(frozen=True)
class Loaded:
    """Result of an import: the number of rows, the columns with their guesses, and notes for the user."""

    rows: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...]


def load(db: Database, upload: Upload, part: str, table: str, register: Callable[[Cursor, Loaded], None]) -> None:
    """Store an upload as the data table ``table``: ``rid`` 0, 1, ... in file order, then ``c0``, ``c1``, ...

    Types come from the first rows. Only if a later row does not fit, the whole file is examined and read again.
    ``register`` runs in the transaction that stores the rows. An existing table is not changed.
    """
    try:
        with tempfile.TemporaryDirectory(dir=db.folder) as scratch:
            with db.read() as cursor:
                relation = open_relation(cursor, upload, part, Path(scratch))
                if upload.format == "csv":  # Other formats store numbers with a type.
                    relation = find_decimal_marks(cursor, relation)
                fields = _fields(cursor, relation, _SAMPLE_ROWS)
            try:
                db.write(lambda cursor: _store(cursor, relation, fields, table, upload.name, register))
            except duckdb.ConversionException:
                with db.read() as cursor:
                    all_fields = _fields(cursor, relation, None)
                db.write(lambda cursor: _store(cursor, relation, all_fields, table, upload.name, register))
    except (duckdb.Error, UnicodeError) as error:
        raise explain(error, upload.name) from None


@dataclass(frozen=True)
class _Field:
    """Storage of one column: its type, whether the file has it as text, and whether it has words for missing
    numbers.
    """

    kind: str
    text: bool
    words: bool = False


def _store(
    cursor: Cursor,
    relation: Relation,
    fields: tuple[_Field, ...],
    table: str,
    name: str,
    register: Callable[[Cursor, Loaded], None],
) -> None:
    if first(cursor, "SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [table]):
        return
    casts = ", ".join(f"{_cast(f'c{i}', field)} AS c{i}" for i, field in enumerate(fields))
    most = most_rows(len(fields))
    source = f"SELECT * FROM ({relation.query}) LIMIT {most + 1}"
    cursor.execute(f"CREATE TABLE {table} AS SELECT row_number() OVER () - 1 AS rid, {casts} FROM ({source})")
    rows = count(cursor, table)
    if rows == 0:
        raise PlannerError(f"{name} has a header and no rows: add at least one run.")
    if rows > most:
        raise PlannerError(
            f"{name} has more than {most:,} rows of {len(fields):,} columns: keep those that a law needs."
        )
    kinds = tuple(field.kind for field in fields)
    columns = with_guesses(profile(cursor, table, relation.names, kinds, relation.semicolons, relation.commas))
    register(cursor, Loaded(rows, columns, relation.notes))


def count(cursor: Cursor, table: str) -> int:
    """Return the number of rows of a data table, including withdrawn ones."""
    found = first(cursor, f"SELECT count(*) FROM {table}")
    return int(found[0]) if found else 0


def stored_types(cursor: Cursor, table: str) -> tuple[str, ...]:
    """Return the stored types of ``c0``, ``c1``, ... of a data table."""
    described = cursor.execute(f"DESCRIBE {table}").fetchall()
    return tuple(str(row[1]) for row in described if row[0] != "rid")


def _fields(cursor: Cursor, relation: Relation, sample: int | None) -> tuple[_Field, ...]:
    """Return the storage of each column: DOUBLE, BOOLEAN, TIMESTAMP or VARCHAR."""
    declared = [str(row[1]) for row in cursor.execute(f"DESCRIBE {relation.query}").fetchall()]
    fields = [_Field(_stored(kind), kind == "VARCHAR") for kind in declared]
    texts = [i for i, field in enumerate(fields) if field.kind == "VARCHAR"]
    limit = f" LIMIT {sample}" if sample is not None else ""
    for start in range(0, len(texts), _AT_ONCE):
        some = texts[start : start + _AT_ONCE]
        evidence = ", ".join(_evidence(f"CAST(c{i} AS VARCHAR)") for i in some)
        row = first(cursor, f"SELECT {evidence} FROM (SELECT * FROM ({relation.query}){limit})") or ()
        for i, (cells, words, *found) in zip(some, row, strict=True):
            kind = "VARCHAR" if i in relation.doubtful else _fitting(cells - words, *found)
            fields[i] = _Field(kind, fields[i].text, words > 0)
    return tuple(fields)


def _cast(c: str, field: _Field) -> str:
    """Return the SQL expression of the stored value; text in a numeric column that is not a number is an SQL error.

    CASE needs much memory in a table of a thousand columns, so it is used only for columns that need it.
    """
    if not field.text or field.kind == "VARCHAR":
        return f"CAST({c} AS {field.kind})"
    there = f"CASE WHEN {sql.missing(c)} THEN NULL ELSE {c} END" if field.words else c
    return f"CAST(replace(replace({there}, '_', '?'), '+-', '?') AS {field.kind})"


def _fitting(cells: int, numbers: int, words: int, dates: int) -> str:
    """Return the narrowest type that fits all cells; a column without cells is numeric."""
    for fitting, kind in ((numbers, "DOUBLE"), (words, "BOOLEAN"), (dates, "TIMESTAMP")):
        if fitting == cells:
            return kind
    return "VARCHAR"


def _stored(kind: str) -> str:
    if kind.endswith("]"):  # Lists are stored as text.
        return "VARCHAR"
    if kind.startswith(("DECIMAL", "FLOAT", "DOUBLE")) or kind.endswith(("INT", "INTEGER", "BIGNUM")):
        return "DOUBLE"
    if kind == "BOOLEAN":
        return kind
    return "TIMESTAMP" if kind.startswith(("TIMESTAMP", "DATE")) else "VARCHAR"


def _evidence(c: str) -> str:
    """Return an SQL list of counts: cells, words for missing numbers, numbers, truth values and dates."""
    missing = f"count(CASE WHEN {sql.missing(c)} THEN 1 END)"
    truths = f"count(CASE WHEN lower({c}) IN ('true', 'false') THEN 1 END)"
    return f"[count({c}), {missing}, count({sql.number(c)}), {truths}, count(TRY_CAST({c} AS TIMESTAMP))]"
