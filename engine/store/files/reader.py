"""Convert an untrusted Parquet, DuckDB or Excel file into a file that DuckDB reads safely.

``isoplan.engine.limited`` runs this file as a script in a child process. A damaged file can crash only this process.
``reader.py SECONDS MEGABYTES list FORMAT FILE`` prints the parts of a file (sheets or tables) as JSON.
``reader.py SECONDS MEGABYTES copy FORMAT FILE PART TARGET ROWS COLUMNS`` writes one part to TARGET and prints the names
of its columns as JSON. For an Excel file, TARGET is a CSV file. For other formats, TARGET is a Parquet file with
columns ``c0``, ``c1``, ... For an error that the user can correct, the script prints one line to standard error and
exits with status 1. For any other error, the exit status is 2. Views of a DuckDB file are never opened, because a view
can contain any query.
"""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

BASE_TABLES = """
    SELECT schema_name, table_name FROM duckdb_tables()
    WHERE database_name = 'sent' AND NOT internal ORDER BY table_oid
"""
SHEET_ROWS = 2**20
"""Maximum number of rows of a sheet, as in Excel."""


class Refused(Exception):
    """An error in the file. Its text is the end of a sentence that begins with the name of the file."""


def main(arguments: list[str]) -> None:
    """Run the command in ``arguments``; the docstring of this module describes the commands."""
    from isoplan.engine.limited import limit

    limit(int(arguments[0]), int(arguments[1]))
    command, kind, file, *rest = arguments[2:]
    try:
        if command == "list":
            found = _sheets(file) if kind == "excel" else _tables(file)
        else:
            part, target, rows, columns = rest[0], rest[1], int(rest[2]), int(rest[3])
            copy = {"excel": _copy_sheet, "duckdb": _copy_table, "parquet": _copy_parquet}[kind]
            found = copy(file, part, target, rows, columns)
    except Refused as why:
        print(why, file=sys.stderr)
        raise SystemExit(1) from None
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    print(json.dumps(found))


def _connect(target: str = "", *, attached: str = "", read: str = "") -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection with access to the given files only.

    It may read the file ``read`` and the attached database ``attached``, and write the file ``target``.
    """
    import duckdb

    connection = duckdb.connect(":memory:", config={"autoload_known_extensions": False, "memory_limit": "600MB"})
    if attached:
        connection.execute(f"ATTACH {_text(attached)} AS sent (READ_ONLY)")
    paths = ", ".join(_text(path) for path in (target, read) if path)
    connection.execute(f"SET allowed_paths = [{paths}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _tables(file: str) -> list[str]:
    return list(_base_tables(_connect(attached=file)))


def _base_tables(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    """Return the base tables of the attached file: displayed name -> (schema, table).

    If two tables would have the same displayed name, the second one is quoted.
    """
    found: dict[str, tuple[str, str]] = {}
    for schema, table in connection.execute(BASE_TABLES).fetchall():
        shown = table if schema == "main" else f"{schema}.{table}"
        if shown in found:
            shown = _name(table) if schema == "main" else f"{_name(schema)}.{_name(table)}"
        found[shown] = (schema, table)
    return found


def _copy_table(file: str, part: str, target: str, rows: int, columns: int) -> list[str]:
    connection = _connect(target, attached=file)
    schema, table = _base_tables(connection)[part]
    return _copy(connection, f"sent.{_name(schema)}.{_name(table)}", target, rows, columns)


def _copy_parquet(file: str, _part: str, target: str, rows: int, columns: int) -> list[str]:
    connection = _connect(target, read=file)
    found = connection.execute(f"SELECT num_rows FROM parquet_file_metadata({_text(_literal(file))})").fetchone()
    if found is not None and found[0] > rows:
        raise Refused(_long(rows))
    source = f"read_parquet({_text(_literal(file))})"
    _copy(connection, source, target, rows, columns)
    return _parquet_names(connection, file)


def _copy(connection: duckdb.DuckDBPyConnection, source: str, target: str, rows: int, columns: int) -> list[str]:
    """Copy ``source`` to ``target`` with columns ``c0``, ``c1``, ..., and return the original column names.

    Raises Refused if there are more than ``rows`` rows or ``columns`` columns.
    """
    names = [str(row[0]) for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    if len(names) > columns:
        raise Refused(f"has {len(names):,} columns and the limit is {columns:,}: keep the columns that describe a run.")
    aliases = ", ".join(f"c{i}" for i in range(len(names)))
    query = f"SELECT * FROM {source} AS sent({aliases}) LIMIT {rows + 1}"
    written = connection.execute(f"COPY ({query}) TO {_text(target)} (FORMAT parquet)").fetchone()
    if written is not None and written[0] > rows:
        raise Refused(_long(rows))
    return names


def _parquet_names(connection: duckdb.DuckDBPyConnection, file: str) -> list[str]:
    """Return the names of the top-level columns as they are in the file.

    DuckDB itself would rename a column ``n`` if there is a column ``N``.
    """
    query = f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({_text(_literal(file))})"
    names, skip = [], 0
    for name, children in connection.execute(query).fetchall()[1:]:
        if skip == 0:
            names.append(str(name))
        else:
            skip -= 1
        skip += children
    return names


def _sheets(file: str) -> list[str]:
    with _workbook(file) as book:
        return [str(sheet.title) for sheet in book.worksheets]


def _copy_sheet(file: str, part: str, target: str, rows: int, columns: int) -> list[str]:
    """Write the rows of one sheet as CSV to ``target``, from the first row that is not empty.

    Empty rows between others become one row with an empty cell. Returns an empty list if the sheet has no such rows,
    and no row that is wider than the first one. Otherwise the list contains one text: the end of a sentence that names
    the first wider row, or "" if there is no wider row.
    """
    _refuse_rows_out_of_order(part)
    irregular: dict[str, str] = {}
    with _workbook(file) as book, Path(target).open("w", encoding="utf-8", newline="") as out:
        sheet = book[part]
        sheet.reset_dimensions()  # the dimensions that the file states may be wrong
        csv.writer(out).writerows(_cells(sheet.iter_rows(values_only=True), part, rows, columns, irregular))
    return [irregular.get("wide", "")] if irregular else []


def _refuse_rows_out_of_order(part: str) -> None:
    """Change a method of openpyxl: it raises Refused if the number of a row is not larger than the previous number.

    The original method skips such rows without an error. The change lasts until the end of this process.
    """
    from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]

    original = WorkSheetParser.parse_row

    def parse_row(parser: Any, row: Any) -> Any:
        before = parser.row_counter
        number, cells = original(parser, row)
        if number <= before:
            raise Refused(
                f"has row {number} after row {before} in sheet {part}. Save the file again, or save it as CSV."
            )
        return number, cells

    WorkSheetParser.parse_row = parse_row


def _cells(
    sheet: Iterator[tuple[Any, ...]], part: str, rows: int, columns: int, irregular: dict[str, str]
) -> Iterator[list[object]]:
    """Yield the rows of a sheet.

    ``irregular`` gets the key "empty" if a row between others is empty. If a row is wider than the first one, it gets
    the key "wide" with the end of a sentence that names this row.
    """
    width = filled = empty = 0
    for number, row in enumerate(sheet, 1):
        if number > SHEET_ROWS:
            raise Refused(
                f"has rows beyond row {SHEET_ROWS:,}, the limit of a sheet: save the file again, or save it as CSV."
            )
        used = max((i for i, cell in enumerate(row, 1) if cell is not None), default=0)
        if used == 0:
            empty += width > 0
            continue
        if width == 0 and used > columns:
            raise Refused(f"has {used:,} columns and the limit is {columns:,}: keep those that describe a run.")
        width = width or used
        if used > width:
            wide = f"has a row {number} in sheet {part} that is wider than its header: name every column."
            irregular.setdefault("wide", wide)
            if used > columns:
                raise Refused(irregular["wide"])
        if empty:
            irregular["empty"], empty = "", 0
            yield [None]
        filled += 1
        if filled > rows + 1:
            raise Refused(_long(rows))
        yield [*row[: max(used, width)], *[None] * (width - len(row))]


@contextmanager
def _workbook(file: str) -> Iterator[Any]:
    import openpyxl  # type: ignore[import-untyped]

    # openpyxl warns about every feature that it ignores, and it rejects a path that does not end in .xlsx. Therefore
    # warnings are ignored and the file is opened here.
    with warnings.catch_warnings(action="ignore"), open(file, "rb") as source:
        book = openpyxl.load_workbook(source, read_only=True, data_only=True, keep_links=False)
        yield book
        book.close()


def _long(rows: int) -> str:
    return (
        f"has more than {rows:,} rows: keep one row per run, or only those points of each training curve that a law "
        "needs."
    )


def _literal(file: str) -> str:
    """Return a path in which wildcard characters are escaped, for the reading functions of DuckDB."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in file)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


if __name__ == "__main__":
    main(sys.argv[1:])
