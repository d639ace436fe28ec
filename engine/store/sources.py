"""Every format as a relation that DuckDB reads: text, JSON lines, Parquet, Excel, DuckDB files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import duckdb
import openpyxl  # type: ignore[import-untyped]
from openpyxl.utils.exceptions import InvalidFileException  # type: ignore[import-untyped]

from engine.errors import PlannerError
from engine.store import sql
from engine.store.database import Cursor
from engine.store.text import Relation, check_width, relation, tidy, utf8
from engine.store.uploads import MAX_UPLOAD_BYTES, Upload

CHILD_SECONDS = 5.0
_UNPACKED_BYTES = 10 * MAX_UPLOAD_BYTES
_BAD_EXCEL = (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, ParseError)


def parts(upload: Upload) -> tuple[str, ...]:
    """The tables that a file holds: sheets of Excel, base tables of DuckDB; empty for every other format."""
    if upload.format == "excel":
        with _workbook(upload) as book:
            return tuple(str(sheet.title) for sheet in book.worksheets)
    if upload.format == "duckdb":
        return _base_tables(upload)
    return ()


def choose(upload: Upload, asked: str | None, option: str) -> str:
    """The part to import: the one ``asked`` for, else the only one. Raises PlannerError that names them otherwise."""
    found = parts(upload)
    if upload.format not in ("excel", "duckdb"):
        return ""
    what = "sheets" if upload.format == "excel" else "base tables"
    if not found:
        raise PlannerError(f"{upload.name} holds no {what}: choose another file (views are never opened).")
    listed = ", ".join(found[:10]) + (", ..." if len(found) > 10 else "")
    if asked is None and len(found) == 1:
        return found[0]
    if asked is None:
        raise PlannerError(f"{upload.name} has {len(found)} {what} ({listed}): choose one with {option}.")
    if asked not in found:
        raise PlannerError(f"{upload.name} has no {what[:-1]} {asked!r}: choose one of {listed}.")
    return asked


def open_relation(cursor: Cursor, upload: Upload, part: str, scratch: Path) -> Relation:
    """The relation behind an upload; ``scratch`` holds copies in between and must outlive it."""
    if upload.format == "json":
        return _json(cursor, upload, scratch)
    if upload.format == "parquet":
        return _parquet(cursor, upload.path, upload.name)
    if upload.format == "excel":
        return relation(_sheet_as_text(upload, part, scratch), upload.name, scratch)
    if upload.format == "duckdb":
        return _parquet(cursor, _copied(upload, part, scratch), upload.name)
    return relation(upload.path, upload.name, scratch)


def _json(cursor: Cursor, upload: Upload, scratch: Path) -> Relation:
    path, notes = utf8(upload.path, upload.name, scratch)
    rows = f"read_json_objects({sql.path(path)})"
    found = cursor.execute(
        f"SELECT key FROM (SELECT unnest(json_keys(json)) AS key, row_number() OVER () AS k FROM {rows}) "
        "GROUP BY key ORDER BY min(k)"
    ).fetchall()
    if not found:
        raise PlannerError(f"{upload.name} holds no JSON objects: write one object with named values a line.")
    check_width(len(found), upload.name)
    keys = [row[0] for row in found]
    fields = ", ".join(f"json_extract_string(json, {sql.text(_pointer(key))}) AS c{i}" for i, key in enumerate(keys))
    names, renamed = tidy(keys)
    return Relation(f"SELECT {fields} FROM {rows}", names, (*notes, *renamed))


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _parquet(cursor: Cursor, path: Path, name: str) -> Relation:
    with path.open("rb") as file:
        file.seek(-4, 2)
        if file.read() != b"PAR1":
            raise PlannerError(f"{name} is a Parquet file that ends too early: copy or export it again.")
    count = len(cursor.execute(f"DESCRIBE SELECT * FROM read_parquet({sql.path(path)})").fetchall())
    check_width(count, name)
    names, notes = tidy(_parquet_names(cursor, path))
    aliases = ", ".join(f"c{i}" for i in range(count))
    return Relation(f"SELECT * FROM read_parquet({sql.path(path)}) AS sent({aliases})", names, notes)


def _parquet_names(cursor: Cursor, path: Path) -> list[str]:
    """Top-level names as the file spells them; DuckDB itself would rename ``n`` beside ``N``."""
    schema = cursor.execute(f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({sql.path(path)})").fetchall()
    names, skip = [], 0
    for name, children in schema[1:]:
        if skip == 0:
            names.append(str(name))
        else:
            skip -= 1
        skip += children
    return names


@contextmanager
def _workbook(upload: Upload) -> Iterator[Any]:
    """An open workbook; what is wrong with the file, in it or while it is read, becomes one sentence."""
    try:
        with zipfile.ZipFile(upload.path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > _UNPACKED_BYTES:
            raise PlannerError(f"{upload.name} unpacks to {unpacked / 1024**3:,.1f} GB: save the sheet as CSV.")
        # openpyxl warns of every feature that it does not keep, and refuses a path that does not end in .xlsx.
        with warnings.catch_warnings(action="ignore"), upload.path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            yield book
            book.close()
    except _BAD_EXCEL:
        raise PlannerError(f"{upload.name} is not a readable Excel file (.xlsx): save it again, or as CSV.") from None


def _sheet_as_text(upload: Upload, sheet: str, scratch: Path) -> Path:
    """Write one sheet as CSV: its first row that is not empty is the header."""
    target = scratch / "sheet.csv"
    with _workbook(upload) as book, target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_cells(book[sheet].iter_rows(values_only=True), upload.name, sheet))
    if target.stat().st_size == 0:
        raise PlannerError(f"Sheet {sheet} of {upload.name} is empty: choose a sheet with a header and rows.")
    return target


def _cells(rows: Iterator[tuple[Any, ...]], name: str, sheet: str) -> Iterator[list[object]]:
    width = 0
    for number, row in enumerate(rows, 1):
        used = max((i for i, cell in enumerate(row, 1) if cell is not None), default=0)
        if used == 0:
            continue
        if width == 0:
            width = used
            check_width(width, name)
        if used > width:
            raise PlannerError(f"Row {number} of sheet {sheet} in {name} is wider than its header: name every column.")
        yield [*row[:width], *[None] * (width - len(row))]


def _base_tables(upload: Upload) -> tuple[str, ...]:
    return tuple(json.loads(_child(upload, "list", str(upload.path.resolve()))))


def _copied(upload: Upload, table: str, scratch: Path) -> Path:
    target = scratch.resolve() / "table.parquet"
    _child(upload, "copy", str(upload.path.resolve()), table, str(target))
    return target


def _child(upload: Upload, *arguments: str) -> str:
    """Run ``duckfile.py`` with a safe import path; its standard output, or PlannerError in one sentence."""
    script = Path(__file__).with_name("duckfile.py")
    command = [sys.executable, "-P", str(script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHILD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise PlannerError(
            f"{upload.name} took longer than {CHILD_SECONDS:g} s to open: export the table as Parquet and import that."
        ) from None
    if done.returncode != 0:
        raise PlannerError(
            f"{upload.name} is not a readable DuckDB file, or a newer DuckDB wrote it: export the table as Parquet."
        )
    return done.stdout


def explain(error: duckdb.Error, name: str) -> PlannerError:
    """One sentence about a file that DuckDB could not read."""
    message = str(error)
    line = _after(message, "CSV Error on Line: ")
    expected, found = _after(message, "Expected Number of Columns: "), _after(message, "Found: ")
    if line and expected and found:
        return PlannerError(
            f"Line {line} of {name} has {found} cells where the header has {expected}: correct that line."
        )
    if line and "unterminated quote" in message:
        return PlannerError(f"Line {line} of {name} has a quotation mark that is not closed: correct that line.")
    if "state machine" in message:
        return PlannerError(f"{name} cannot be read, its lines may end in different ways: save it again as CSV.")
    where = f"Line {line} of {name}" if line else name
    first = next((text for text in message.splitlines() if text.strip()), "").removeprefix("Invalid Input Error: ")
    return PlannerError(
        f"{where} cannot be read ({first.strip()[:160].rstrip('.:')}): correct or export the file again."
    )


def _after(message: str, label: str) -> str:
    rest = message.partition(label)[2].split(maxsplit=1)
    return rest[0] if rest else ""
