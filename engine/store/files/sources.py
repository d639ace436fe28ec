"""Open an uploaded file as a relation that DuckDB can query.

The formats are text, JSON lines, Parquet, Excel and DuckDB.
"""

from __future__ import annotations

import csv
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import duckdb

from isoplan.engine import limited
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import LayoutOption
from isoplan.engine.store.database import sql
from isoplan.engine.store.database.database import Cursor, first
from isoplan.engine.store.files.layouts import catalogue as layouts
from isoplan.engine.store.files.text import MAX_COLUMNS, MAX_ROWS, Relation, check_width, relation, tidy, utf8
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES, Upload

SECONDS, MEGABYTES = 9, 1000
"""Limits for reading a Parquet, DuckDB or Excel file: processor time in seconds and memory in MB."""
READER = Path(__file__).with_name("reader.py")
_UNPACKED_BYTES = 10 * MAX_UPLOAD_BYTES
_UNREADABLE = {
    "excel": "is not a readable Excel file (.xlsx): save it again, or save it as CSV.",
    "duckdb": "is not a readable DuckDB file, or a newer DuckDB wrote it: export the table as Parquet.",
    "parquet": "is not a readable Parquet file: export it again.",
}


def parts(upload: Upload) -> tuple[str, ...]:
    """Return the names of the tables in a file: Excel sheets or DuckDB base tables.

    The tuple is empty for other formats.
    """
    return _list(upload) if upload.format in ("excel", "duckdb") else ()


def choose(upload: Upload, asked: str | None, option: str) -> str:
    """Return the sheet or base table to import: ``asked``, or the only one in the file if ``asked`` is None.

    The result is empty for formats without sheets or base tables. Raises PlannerError if ``asked`` is not in the file,
    or if ``asked`` is None and the file has several parts. The message names ``option``, the terminal option for the
    choice.
    """
    found = parts(upload)
    if upload.format not in ("excel", "duckdb"):
        return ""
    what = "sheets" if upload.format == "excel" else "base tables"
    if not found:
        raise PlannerError(f"{upload.name} contains no {what}: choose another file (views are not read).")
    listed = ", ".join(found[:10]) + (", ..." if len(found) > 10 else "")
    if asked is None and len(found) == 1:
        return found[0]
    if asked is None:
        raise PlannerError(f"{upload.name} has {len(found)} {what} ({listed}): choose one with {option}.")
    if asked not in found:
        raise PlannerError(f"{upload.name} has no {what[:-1]} {asked!r}: choose one of {listed}.")
    return asked


def open_relation(cursor: Cursor, upload: Upload, part: str, scratch: Path, layout: LayoutOption = "auto") -> Relation:
    """Return the relation (an SQL query) that reads an uploaded file.

    A table in a layout such as a pivot table is read as one row per run, unless ``layout`` is "plain". ``scratch`` is a
    folder for intermediate copies. This folder must exist while the relation is used.
    """
    if upload.format == "csv":
        path, notes = utf8(upload.path, upload.name, scratch)
        found = None if layout == "plain" else layouts.relation_of_text(path, upload.name, scratch)
        found = relation(path, upload.name) if found is None else found
        return replace(found, notes=(*notes, *found.notes))
    if upload.format == "excel":
        return _sheet(upload, part, scratch, layout)
    plain = _json(cursor, upload, scratch) if upload.format == "json" else _parquet(upload, part, scratch)
    found = None if layout == "plain" else layouts.relation_of_records(cursor, plain, upload.name, scratch)
    return plain if found is None else found


def _sheet(upload: Upload, part: str, scratch: Path, layout: LayoutOption) -> Relation:
    copy = scratch / "part"
    irregular = _copied(upload, part, copy)
    if copy.stat().st_size == 0:
        raise PlannerError(f"Sheet {part} of {upload.name} is empty: choose a sheet with a header and rows.")
    found = None if layout == "plain" else layouts.relation_of_text(copy, upload.name, scratch)
    if found is not None:
        return found
    if any(irregular):
        raise PlannerError(f"{upload.name} {irregular[0]}")
    if irregular:
        copy = _without_empty_rows(copy, scratch / "rows")
    return relation(copy, upload.name)


def _without_empty_rows(path: Path, target: Path) -> Path:
    with path.open(encoding="utf-8", newline="") as file, target.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(row for row in csv.reader(file) if any(row))
    return target


def _json(cursor: Cursor, upload: Upload, scratch: Path) -> Relation:
    path, notes = utf8(upload.path, upload.name, scratch)
    rows = f"read_json_objects({sql.path(path)})"
    found = cursor.execute(
        f"SELECT key FROM (SELECT unnest(json_keys(json)) AS key, row_number() OVER () AS k FROM {rows}) "
        "GROUP BY key ORDER BY min(k)"
    ).fetchall()
    if not found:
        raise PlannerError(f"{upload.name} contains no JSON objects: write one object with named values per line.")
    check_width(len(found), upload.name)
    _refuse_repeated_keys(cursor, rows, upload.name)
    keys = [row[0] for row in found]
    fields = ", ".join(f"json_extract_string(json, {sql.text(_pointer(key))}) AS c{i}" for i, key in enumerate(keys))
    names, renamed = tidy(keys)
    return Relation(f"SELECT {fields} FROM {rows}", names, (*notes, *renamed))


def _refuse_repeated_keys(cursor: Cursor, rows: str, name: str) -> None:
    """Raise PlannerError if a JSON object contains a key twice with different values.

    JSON does not define which of the values is valid.
    """
    repeat = first(
        cursor,
        f"""WITH objects AS (SELECT row_number() OVER () AS k, json FROM {rows}),
            doubled AS (SELECT * FROM objects WHERE len(list_distinct(json_keys(json))) < len(json_keys(json)))
            SELECT k, each.key FROM doubled, json_each(doubled.json) AS each
            GROUP BY k, each.key HAVING count(DISTINCT each.value) > 1 ORDER BY ALL LIMIT 1""",
    )
    if repeat is not None:
        raise PlannerError(
            f"Object {repeat[0]:,} of {name} has the key {repeat[1]!r} twice with different values. Keep one of them."
        )


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _parquet(upload: Upload, part: str, scratch: Path) -> Relation:
    """Return the relation for a table of a DuckDB file or a Parquet file, which the child process copies to Parquet."""
    copy = scratch / "part"
    unique, notes = tidy(_copied(upload, part, copy))
    return Relation(f"SELECT * FROM read_parquet({sql.path(copy)})", unique, notes)


def _check_whole(upload: Upload) -> None:
    """Raise PlannerError if a Parquet file is truncated, or if an Excel workbook is too large when it is unpacked."""
    if upload.format == "parquet":
        with upload.path.open("rb") as file:
            file.seek(-4, 2)
            if file.read() != b"PAR1":
                raise PlannerError(f"{upload.name} is a Parquet file that ends too early: copy or export it again.")
    if upload.format == "excel":
        try:
            with zipfile.ZipFile(upload.path) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise _unreadable(upload) from None
        if unpacked > _UNPACKED_BYTES:
            raise PlannerError(f"{upload.name} unpacks to {unpacked / 1024**3:,.1f} GB: save the sheet as CSV.")


def _list(upload: Upload) -> tuple[str, ...]:
    """Return the names of the sheets or base tables of a file, read by the child process."""
    _check_whole(upload)
    return tuple(_child(upload, "list"))


def _copied(upload: Upload, part: str, target: Path) -> list[str]:
    """Write one part of a file to ``target`` in the child process.

    Returns the names of its columns, or for a sheet a list as described in ``reader.py``.
    """
    _check_whole(upload)
    return _child(upload, "copy", part, str(target.resolve()), str(MAX_ROWS), str(MAX_COLUMNS))


def _child(upload: Upload, command: str, *arguments: str) -> list[str]:
    """Run a command of ``reader.py`` on the file and return its JSON result.

    Raises PlannerError if the command fails.
    """
    words = (command, upload.format, str(upload.path.resolve()), *arguments)
    try:
        found: list[str] = json.loads(limited.run(READER, words, seconds=SECONDS, megabytes=MEGABYTES))
    except limited.Exceeded:
        other = "Parquet" if upload.format == "duckdb" else "CSV"
        raise PlannerError(
            f"{upload.name} takes more than {SECONDS} s to read: keep only the rows and columns that a law "
            f"needs, and save them as {other}."
        ) from None
    except limited.Failed as error:
        raise (PlannerError(f"{upload.name} {error}") if str(error) else _unreadable(upload)) from None
    return found


def _unreadable(upload: Upload) -> PlannerError:
    return PlannerError(f"{upload.name} {_UNREADABLE[upload.format]}")


def explain(error: duckdb.Error | UnicodeError, name: str) -> PlannerError:
    """Return the error message for a file that DuckDB cannot read."""
    message = str(error)
    line = _after(message, "CSV Error on Line: ")
    expected, found = _after(message, "Expected Number of Columns: "), _after(message, "Found: ")
    if line and expected and found:
        return PlannerError(
            f"Line {line} of {name} has {found} cells but the header has {expected}: correct that line."
        )
    if line and "unterminated quote" in message:
        return PlannerError(f"Line {line} of {name} has a quotation mark that is not closed: correct that line.")
    if "state machine" in message:
        return PlannerError(
            f"{name} cannot be read, perhaps because its lines end in different ways: save it again as CSV."
        )
    where = f"Line {line} of {name}" if line else name
    first = next((text for text in message.splitlines() if text.strip()), "").removeprefix("Invalid Input Error: ")
    return PlannerError(
        f"{where} cannot be read ({first.strip()[:160].rstrip('.:')}): correct or export the file again."
    )


def _after(message: str, label: str) -> str:
    rest = message.partition(label)[2].split(maxsplit=1)
    return rest[0] if rest else ""
