"""Rows above the header, such as a title, and rows of text below the table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from isoplan.engine.store.columns.categories import is_summary
from isoplan.engine.store.files.layouts.grid import Cells, Grid, Layout, filled, is_number, is_text, numeric_columns

MOST = 50
"""Maximum number of rows above the header."""


def read_titles(grid: Grid) -> tuple[Grid, str] | None:
    """Remove the rows above the header. A row of groups directly above the header is kept.

    The header is the first row in which more than half of the columns have a value. Rows above it have fewer values.
    """
    counts = [filled(row) for row in grid.rows]
    width = _usual(counts)
    after = _last_gap(grid.rows, counts, width)
    header = next((i for i, n in enumerate(counts[: MOST + 1]) if i >= after and n * 2 > width and n > 1), 0)
    if width < 2 or header == 0 or not any(map(is_text, grid.rows[header])):
        return None
    if _numbers(grid.rows[header][:1]):
        return None
    start = header - 1 if _is_group_row(grid.rows[header - 1], grid.rows[header]) else header
    above = tuple(" ".join(filter(None, row)) for row in grid.rows[:start] if filled(row))
    if not above:
        return None
    count = (
        "1 row of text above the header is" if len(above) == 1 else f"{len(above)} rows of text above the header are"
    )
    return replace(grid.with_rows(grid.rows[start:]), above=(*grid.above, *above)), f"{count} not read"


def _last_gap(rows: Cells, counts: list[int], width: int) -> int:
    """Return the position after the last empty row that is at least two rows above the first run; otherwise 0."""
    wide = (
        i for i, (row, n) in enumerate(zip(rows, counts, strict=True)) if n * 2 > width and any(map(is_number, row))
    )
    run = next(wide, 0)
    return max((i + 1 for i in range(run - 1) if counts[i] == 0), default=0)


def _numbers(row: list[str]) -> int:
    return sum(map(is_number, row))


def _usual(counts: list[int]) -> int:
    """Return the most frequent number of filled cells per row. If several are equally frequent, return the largest."""
    often = Counter(count for count in counts if count)
    return max(often, key=lambda count: (often[count], count), default=0)


def _is_group_row(row: list[str], header: list[str]) -> bool:
    """Return whether ``row`` names groups of columns, or the axis of a pivot table, directly above the header."""
    named = [name for name in header if name]
    repeated = len(set(named)) < len(named)
    return not _numbers(row) and filled(row) > 0 and (row[0] == "" or (repeated and filled(row) > 1))


def read_footers(grid: Grid) -> tuple[Grid, str] | None:
    """Remove rows of sums and rows of text after the last run.

    A row of sums starts with a word such as "Total" in a numeric column. If the word is in a column of run names, the
    row is kept here, and a condition on the names excludes it later.
    """
    rows, gone = list(grid.rows), []
    if len(rows) < 4:
        return None
    numeric = numeric_columns(rows[1 : min(len(rows) - 1, 200)])
    while len(rows) > 3 and _is_footer(rows[-1], numeric):
        gone.append(next((cell for cell in rows.pop() if cell), ""))
    names = [name for name in reversed(gone) if name]
    if not names:
        return None
    listed = ", ".join(repr(name[:40]) for name in names[:3]) + (", ..." if len(names) > 3 else "")
    count = f"the last row ({listed}) is" if len(names) == 1 else f"the last {len(names)} rows ({listed}) are"
    return grid.with_rows(rows), f"{count} not read"


def _is_footer(row: list[str], numeric: list[int]) -> bool:
    first = next((i for i, cell in enumerate(row) if cell), None)
    if first is None:
        return True
    summary = first in numeric and is_summary(row[first])
    remark = len(row[0].split()) > 2 or row[0].lower().startswith(("*", "note", "source"))
    return summary or (len(row) > 2 and first == 0 and filled(row) == 1 and is_text(row[0]) and remark)


TITLES = Layout("a table below rows of text", read_titles)
FOOTERS = Layout("a table above rows that are not runs", read_footers)
