"""Several tables on one sheet, separated by empty rows or by an empty column."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from isoplan.engine.store.files.layouts.grid import (
    Cells,
    Grid,
    Layout,
    describes_runs,
    filled,
    is_number,
    is_text,
    refuse,
)

TABLE = "table"
"""Column added to joined tables. Its value in each row is the title of the original table."""


def read_stacked(grid: Grid) -> tuple[Grid, str] | None:
    """Join tables that stand above each other, if their headers are equal. Otherwise return the only table of runs.

    Raises PlannerError if the headers differ and not exactly one of the tables describes runs.
    """
    blocks = _tables(grid.rows)
    if len(blocks) < 2:
        return None
    spans = ", ".join(f"rows {block.first + 1} to {block.first + len(block.rows)}" for block in blocks)
    if all(_same_names(block.header, blocks[0].header) for block in blocks):
        return _join(grid, blocks), f"{len(blocks)} tables with the same header ({spans}) are joined"
    runs = [block for block in blocks if describes_runs(block.header)]
    if len(runs) == 1:
        one = runs[0]
        above = (*grid.above, *filter(None, [one.title]))
        last = one.first + len(one.rows)
        return replace(grid.with_rows(_cut(one.rows)), above=above), f"only rows {one.first + 1} to {last} are read"
    raise refuse(grid, f"{len(blocks)} tables on one sheet ({spans})", "Save each table in a sheet or file of its own.")


@dataclass(frozen=True)
class _Block:
    """A table on a sheet: its rows with the header, the position of its first row, and the title above it."""

    rows: Cells
    first: int
    title: str

    @property
    def header(self) -> list[str]:
        return self.rows[0]


def _tables(rows: Cells) -> list[_Block]:
    """Return the tables between empty rows. Rows of numbers without a header continue the table above."""
    blocks: list[_Block] = []
    title = ""
    for first, last in _spans(rows):
        head = next((i for i in range(first, last - 1) if _is_header(rows[i], rows[i + 1 : last])), None)
        if head is None:
            if blocks and any(map(is_number, rows[first])) and title == "":
                blocks[-1] = _Block([*blocks[-1].rows, *rows[first:last]], blocks[-1].first, blocks[-1].title)
            else:
                title = next((cell for cell in rows[first] if cell), "")
            continue
        above = [cell for row in rows[first:head] for cell in row if cell]
        blocks.append(_Block(rows[head:last], head, above[-1] if above else title))
        title = ""
    return blocks


def _spans(rows: Cells) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for i, row in enumerate(rows):
        if not filled(row):
            continue
        if spans and spans[-1][1] == i:
            spans[-1] = (spans[-1][0], i + 1)
        else:
            spans.append((i, i + 1))
    return spans


def _is_header(row: list[str], below: Cells) -> bool:
    """Return whether a row is a header: only text, and at least two of its columns contain numbers further down."""
    named = [i for i, cell in enumerate(row) if is_text(cell)]
    numbers = [i for i in named if any(is_number(other[i]) for other in below)]
    return len(named) > 1 and len(named) == filled(row) and len(numbers) > 1


def _same_names(one: list[str], other: list[str]) -> bool:
    return [c.lower() for c in one if c] == [c.lower() for c in other if c]


def _cut(rows: Cells) -> Cells:
    """Return ``rows`` without columns that are empty in every row."""
    used = [i for i in range(len(rows[0])) if any(row[i] for row in rows)]
    return [[row[i] for i in used] for row in rows]


def _join(grid: Grid, blocks: list[_Block]) -> Grid:
    titles = [block.title for block in blocks]
    named = all(titles) and len(set(titles)) == len(titles)
    cut = [_cut(block.rows) for block in blocks]
    made = [[*cut[0][0], *([TABLE] if named else [])]]
    for rows, title in zip(cut, titles, strict=True):
        made += [[*row, *([title] if named else [])] for row in rows[1:] if filled(row)]
    return replace(grid.with_rows(made), above=(*grid.above, *filter(None, titles)))


def read_beside(grid: Grid) -> tuple[Grid, str] | None:
    """Join tables that stand side by side with an empty column between them, if their headers are equal."""
    empty = [i for i in range(len(grid.header)) if not any(row[i] for row in grid.rows)]
    edges = [-1, *empty, len(grid.header)]
    spans = [(a + 1, b) for a, b in itertools.pairwise(edges) if b - a > 2]
    if len(spans) < 2:
        return None
    heads = [k for k, row in enumerate(grid.rows[:3]) if _is_header(row, grid.rows[k + 1 :])]
    head = max(heads, key=lambda k: filled(grid.rows[k]), default=None)
    if head is None:
        return None
    parts = [[row[a:b] for row in grid.rows[head:]] for a, b in spans]
    if not all(_same_names(part[0], parts[0][0]) for part in parts):
        return None
    titles = [next((cell for row in reversed(grid.rows[:head]) for cell in row[a:b] if cell), "") for a, b in spans]
    blocks = [
        _Block([part[0], *filter(filled, part[1:])], head, title) for part, title in zip(parts, titles, strict=True)
    ]
    return _join(grid, blocks), f"{len(blocks)} tables with the same header, beside each other, are joined"


STACKED = Layout("several tables on one sheet", read_stacked)
BESIDE = Layout("several tables on one sheet", read_beside)
