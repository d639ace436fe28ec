"""List of all layouts, and functions that recognise the layouts of a table and convert it to the usual layout."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Cursor
from isoplan.engine.store.files.layouts.blocks import BESIDE, STACKED
from isoplan.engine.store.files.layouts.dicts import DICTIONARIES
from isoplan.engine.store.files.layouts.grid import Cells, Grid, Layout
from isoplan.engine.store.files.layouts.headers import GROUPS, MERGED, UNITS
from isoplan.engine.store.files.layouts.logs import LOGS
from isoplan.engine.store.files.layouts.long import LONG
from isoplan.engine.store.files.layouts.pivot import PIVOT
from isoplan.engine.store.files.layouts.titles import FOOTERS, TITLES
from isoplan.engine.store.files.text import SEPARATOR_LINE, Relation, delimiter_of, relation

SHEET = (STACKED, BESIDE, TITLES, FOOTERS, GROUPS, UNITS, MERGED, DICTIONARIES, LOGS, LONG, PIVOT)
"""Layouts of text files and sheets, in the order in which they are tried. A table may have several layouts."""
RECORDS = (DICTIONARIES, LOGS, LONG)
"""Layouts of files with named columns, such as JSON or Parquet."""
MAX_CELLS = 2_000_000
"""Maximum number of cells of a table that must be converted to the usual layout."""
WHOLE, HEAD, TAIL = 256 * 1024, 64 * 1024, 4096
"""Text files up to ``WHOLE`` bytes are searched for layouts. Of longer files, only the first ``HEAD`` and the last
``TAIL`` bytes are searched.
"""
_HEAD_ROWS = 200
WAY_BACK = (
    "To read the rows of the file, choose Read rows unchanged on the Data page, or --layout plain in the terminal."
)


@dataclass(frozen=True, eq=False)
class Recognised:
    """A table after conversion to the usual layout.

    ``titles`` are the titles of its original layouts, and ``note`` describes the conversion to the user.
    """

    grid: Grid
    titles: tuple[str, ...]
    note: str


def recognise(grid: Grid, layouts: Sequence[Layout]) -> Recognised | None:
    """Convert a table to the usual layout; return None if it has none of the ``layouts``.

    Raises PlannerError if the table has a layout that cannot be read as runs.
    """
    titles, details = [], []
    for layout in layouts:
        if len(grid.rows) > 1 and (found := layout.read(grid)) is not None:
            grid, detail = found
            titles.append(layout.title)
            details.append(f"{layout.title}: {detail}")
    if not titles:
        return None
    return Recognised(grid, tuple(titles), f"Read as {'; then as '.join(details)}. {WAY_BACK}")


def relation_of_text(path: Path, name: str, scratch: Path) -> Relation | None:
    """Return the converted table of a text file or sheet in UTF-8; None if it has none of the layouts.

    Raises PlannerError if the table has a layout but cannot be read, or if it has more than ``MAX_CELLS`` cells.
    """
    large = path.stat().st_size > WHOLE
    try:
        delimiter, rows = _first_rows(path) if large else _all_rows(path)
    except (csv.Error, UnicodeError, _TooLarge):
        return None  # DuckDB then states what is wrong
    found = recognise(_grid(rows, name, partial=large), SHEET)
    if found is not None and large:
        try:
            delimiter, rows = _all_rows(path)
        except (csv.Error, UnicodeError):
            return None
        except _TooLarge:
            raise _too_large(name) from None
        found = recognise(_grid(rows, name), SHEET)
    return None if found is None else _written(found, name, delimiter, scratch)


def relation_of_records(cursor: Cursor, plain: Relation, name: str, scratch: Path) -> Relation | None:
    """Return the converted table of a file with named columns; None if it has none of the layouts.

    ``plain`` is the relation of the unchanged rows. Raises the same errors as ``relation_of_text``.
    """
    kinds = [str(row[1]) for row in cursor.execute(f"DESCRIBE {plain.query}").fetchall()]
    nested = [kind.startswith(("STRUCT", "MAP")) for kind in kinds]
    cells = [f"to_json(c{i})" if deep else f"c{i}" for i, deep in enumerate(nested)]
    fields = ", ".join(f"coalesce(trim(CAST({cell} AS VARCHAR)), '')" for cell in cells)
    query = f"SELECT {fields} FROM ({plain.query})"

    def rows(most: int) -> Cells:
        return [list(plain.names), *map(list, cursor.execute(f"{query} LIMIT {most}").fetchall())]

    found = recognise(Grid(rows(_HEAD_ROWS), name, partial=True), RECORDS)
    if found is None:
        return None
    most = MAX_CELLS // len(plain.names)
    every = rows(most + 1)
    if len(every) > most + 1:
        raise _too_large(name)
    found = recognise(Grid(every, name), RECORDS)
    return None if found is None else _written(found, name, ",", scratch)


class _TooLarge(Exception):
    """A table has more than ``MAX_CELLS`` cells."""


def _too_large(name: str) -> PlannerError:
    return PlannerError(
        f"{name} is not one row per run, and it has more than {MAX_CELLS:,} cells. Keep the rows and columns that a "
        "law needs, or use --layout plain."
    )


def _grid(rows: Cells, name: str, partial: bool = False) -> Grid:
    """Return the rows of a file as a grid, without empty rows at the start and at the end."""
    used = [i for i, row in enumerate(rows) if any(row)]
    return Grid([], name, partial=partial).with_rows(rows[used[0] : used[-1] + 1] if used else [])


def _all_rows(path: Path) -> tuple[str, Cells]:
    with path.open(encoding="utf-8", newline="") as file:
        head = file.read(HEAD)
        delimiter, skipped = _delimiter(head)
        file.seek(0)
        file.read(skipped)
        rows, width = [], 0
        for row in _parsed(file, delimiter):
            width = max(width, len(row))
            rows.append(row)
            if len(rows) * width > MAX_CELLS:
                raise _TooLarge
    return delimiter, rows


def _first_rows(path: Path) -> tuple[str, Cells]:
    """Return the delimiter of a large file, and its first and last rows."""
    with path.open("rb") as binary:
        start = binary.read(HEAD).decode("utf-8", "ignore")
        binary.seek(-TAIL, 2)
        end = binary.read().decode("utf-8", "ignore")
    delimiter, skipped = _delimiter(start)
    head = start[skipped:].splitlines(keepends=True)[:_HEAD_ROWS]
    last = end.rstrip().splitlines()[-3:] if end.count("\n") > 3 else []
    rows = [*list(_parsed(head, delimiter, strict=False))[:-1], *_parsed(last, delimiter, strict=False)]
    if len(rows) * max(map(len, rows), default=0) > MAX_CELLS:
        raise _TooLarge
    return delimiter, rows


def _parsed(lines: Iterable[str], delimiter: str, strict: bool = True) -> Iterator[list[str]]:
    """Yield the cells of each row. With ``strict``, a quotation mark that is not closed raises csv.Error."""
    for row in csv.reader(lines, delimiter=delimiter, strict=strict):
        yield [cell.strip() for cell in row]


def _delimiter(head: str) -> tuple[str, int]:
    """Return the delimiter of a file and the length of its first line if this is like ``sep=;``; otherwise 0."""
    lines = head.splitlines(keepends=True)
    stated = SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    if stated:
        return stated[1], len(lines[0])
    return delimiter_of(lines[:50]), 0


def _written(found: Recognised, name: str, delimiter: str, scratch: Path) -> Relation:
    """Write the cells as a plain text file with ``delimiter``, and return its relation."""
    copy = scratch / "layout"
    with copy.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(found.grid.rows)
    plain = relation(copy, name)
    return replace(plain, notes=(found.note, *plain.notes), layouts=found.titles)
