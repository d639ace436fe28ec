"""Store the rows of a file as a table: columns of numbers become float64, and each row gets an id.

A profile of each column is computed after the rows are stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import LayoutOption
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
    """Result of an import: the number of rows, the columns with their suggested roles, and notes for the user.

    ``layouts`` are the titles of the layouts in which the table was in the file, such as "a pivot table".
    """

    rows: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    layouts: tuple[str, ...] = ()


def load(
    db: Database,
    upload: Upload,
    part: str,
    table: str,
    register: Callable[[Cursor, Loaded], None],
    layout: LayoutOption = "auto",
) -> None:
    """Store an uploaded file as the data table ``table``.

    The columns of the data table are ``rid`` (0, 1, ... in the order of the file), ``c0``, ``c1``, ... The first rows
    of the file determine the types of the columns. If a later row does not fit these types, the types are determined
    from all rows and the file is read again. ``register`` is called in the transaction that stores the rows. If the
    data table exists already, nothing is changed.
    """
    try:
        with tempfile.TemporaryDirectory(dir=db.folder) as scratch:
            with db.read() as cursor:
                relation = open_relation(cursor, upload, part, Path(scratch), layout)
                if upload.format == "csv":  # In other formats, numbers are not text.
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
    """Storage of one column: ``kind`` is the SQL type in which it is stored.

    ``text`` is true if the column is text in the file. ``words`` is true if some cells are words for missing numbers,
    such as NA.
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
            f"{name} has more than {most:,} rows of {len(fields):,} columns: keep the rows and columns that a law "
            "needs."
        )
    kinds = tuple(field.kind for field in fields)
    columns = with_guesses(profile(cursor, table, relation.names, kinds, relation.semicolons, relation.commas))
    register(cursor, Loaded(rows, columns, relation.notes, relation.layouts))


def count(cursor: Cursor, table: str) -> int:
    """Return the number of rows of a data table. Withdrawn rows are included."""
    found = first(cursor, f"SELECT count(*) FROM {table}")
    return int(found[0]) if found else 0


def stored_types(cursor: Cursor, table: str) -> tuple[str, ...]:
    """Return the SQL types of the columns ``c0``, ``c1``, ... of a data table."""
    described = cursor.execute(f"DESCRIBE {table}").fetchall()
    return tuple(str(row[1]) for row in described if row[0] != "rid")


def _fields(cursor: Cursor, relation: Relation, sample: int | None) -> tuple[_Field, ...]:
    """Determine the SQL type in which each column is stored: DOUBLE, BOOLEAN, TIMESTAMP or VARCHAR.

    Only the first ``sample`` rows are used, or all rows if ``sample`` is None.
    """
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
    """Return the SQL expression that converts a cell to its stored value.

    In a numeric column, text that is not a number causes an SQL error. CASE needs much memory in a table of a thousand
    columns, so only columns with words for missing numbers use it.
    """
    if not field.text or field.kind == "VARCHAR":
        return f"CAST({c} AS {field.kind})"
    there = f"CASE WHEN {sql.missing(c)} THEN NULL ELSE {c} END" if field.words else c
    return f"CAST(replace(replace({there}, '_', '?'), '+-', '?') AS {field.kind})"


def _fitting(cells: int, numbers: int, words: int, dates: int) -> str:
    """Return the first of DOUBLE, BOOLEAN and TIMESTAMP that fits all cells of a text column; VARCHAR if none fits.

    ``cells`` is the number of cells with a value. ``numbers`` counts the cells that are numbers, ``words`` those that
    are "true" or "false", and ``dates`` those that are dates. An empty column is DOUBLE.
    """
    for fitting, kind in ((numbers, "DOUBLE"), (words, "BOOLEAN"), (dates, "TIMESTAMP")):
        if fitting == cells:
            return kind
    return "VARCHAR"


def _stored(kind: str) -> str:
    if kind.endswith("]"):  # A list is stored as text.
        return "VARCHAR"
    if kind.startswith(("DECIMAL", "FLOAT", "DOUBLE")) or kind.endswith(("INT", "INTEGER", "BIGNUM")):
        return "DOUBLE"
    if kind == "BOOLEAN":
        return kind
    return "TIMESTAMP" if kind.startswith(("TIMESTAMP", "DATE")) else "VARCHAR"


def _evidence(c: str) -> str:
    """Return SQL that counts the cells of column ``c`` by their content.

    The SQL value is a list of five counts: cells with a value, words for missing numbers, numbers, truth values, dates.
    """
    missing = f"count(CASE WHEN {sql.missing(c)} THEN 1 END)"
    truths = f"count(CASE WHEN lower({c}) IN ('true', 'false') THEN 1 END)"
    return f"[count({c}), {missing}, count({sql.number(c)}), {truths}, count(TRY_CAST({c} AS TIMESTAMP))]"
