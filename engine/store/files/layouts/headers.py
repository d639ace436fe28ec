"""Several header rows: names of groups above the names of columns, and units below them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from isoplan.engine.mixtures import OUT
from isoplan.engine.store.files.layouts.grid import Cells, Grid, Layout, filled, is_number, is_text, numeric_columns

MOST = 3
"""Maximum number of header rows."""
_UNITS = frozenset(
    {"m", "b", "k", "t", "g", "mn", "bn", "mil", "million", "millions", "billion", "billions", "thousand", "thousands"}
    | {"trillion", "trillions", "s", "sec", "seconds", "h", "hours", "hrs", "min", "minutes", "days", "nats", "nat"}
    | {"bits", "bpb", "bits/byte", "bits per byte", "nats/token", "nats per token", "%", "percent", "flop", "flops"}
    | {"pflop", "pflops", "petaflop", "exaflop", "eflop", "zettaflop", "zflop", "pf-days", "pf days", "gpu-hours"}
    | {
        "gpu hours",
        "gpu h",
        "params",
        "parameters",
        "tokens",
        "samples",
        "steps",
        "#",
        "count",
        "usd",
        "$",
        "none",
        "-",
    }
    | {"1e3", "1e6", "1e9", "1e12", "1e15", "1e18", "1e21", "10^6", "10^9", "10^18", "m params", "b tokens", "m tokens"}
)
_BRACKETS = re.compile(r"\((.*)\)|\[(.*)\]")
_NO_UNIT = frozenset(
    {"", "-", "#", "none", "count", "params", "parameters", "tokens", "samples", "steps", "nats", "nat"}
)
"""Units that need no conversion. They are not added to the names of columns."""


def read_groups(grid: Grid) -> tuple[Grid, str] | None:
    """Join several header rows into one.

    A group name is put before a column name only if several columns have the same name, or if the last header row has
    empty cells.
    """
    count = _header_rows(grid.rows)
    rows = grid.rows[:count]
    if count > 1 and _is_unit_row(rows[-1]):
        rows = rows[:-1]
    if len(rows) < 2:
        return None
    names = _joined(rows)
    return grid.with_rows([names, *grid.rows[len(rows) :]]), f"the first {len(rows)} rows are one header"


def read_units(grid: Grid) -> tuple[Grid, str] | None:
    """Add the row of units below the header to the names of the columns: "tokens" and "[B]" become "tokens (B)"."""
    if _header_rows(grid.rows) != 2 or not _is_unit_row(grid.rows[1]):
        return None
    units = [_unit(cell) for cell in grid.rows[1]]
    names = [f"{n} ({u})" if n and u.lower() not in _NO_UNIT else n for n, u in zip(grid.header, units, strict=True)]
    return grid.with_rows([names, *grid.rows[2:]]), "the row below the header contains units"


def _header_rows(rows: Cells) -> int:
    """Return the number of rows above the first row with numbers; 1 if they are not clearly header rows.

    Each row below the first must have text in a numeric column. Words such as "diverged" show that it is a run.
    """
    start = next((i for i, row in enumerate(rows[: MOST + 1]) if any(map(is_number, row)) and not _exponents(row)), 1)
    if start < 2 or len(rows) < start + 2:
        return 1
    numeric = numeric_columns(rows[start:])
    top, *below = rows[:start]
    if not all(_names_columns(row, numeric) for row in below) or not any(top[i] for i in range(len(top))):
        return 1
    return start


def _exponents(row: Sequence[str]) -> bool:
    """Return whether a row is a row of units such as "1e6" and "nats"."""
    cells = [cell for cell in row if cell]
    return any(map(is_text, cells)) and all(_unit(cell).lower() in _UNITS for cell in cells)


def _names_columns(row: Sequence[str], numeric: Sequence[int]) -> bool:
    named = [row[i] for i in numeric if row[i] not in ("", "-")]
    words = any(set(re.findall("[a-z]+", cell.lower())) & OUT for cell in named)
    return bool(named) and all(is_text(cell) or _exponents(row) for cell in named) and not words


def _is_unit_row(row: Sequence[str]) -> bool:
    cells = [cell for cell in row if cell]
    return bool(cells) and all(_unit(cell).lower() in _UNITS or _BRACKETS.fullmatch(cell) for cell in cells)


def _unit(cell: str) -> str:
    inner = _BRACKETS.fullmatch(cell)
    return (inner[1] or inner[2] or "").strip() if inner else cell


def _joined(rows: Cells) -> list[str]:
    groups = [_spread(row, rows[-1]) for row in rows[:-1]]
    last = rows[-1]
    names = [cell or next((g[i] for g in reversed(groups) if g[i]), "") for i, cell in enumerate(last)]
    often = Counter(names)
    joined = []
    for i, name in enumerate(names):
        prefix = [g[i] for g in groups if g[i] and g[i] != name]
        joined.append(" ".join([*prefix, name]) if often[name] > 1 or not all(last) else name)
    return joined


def _spread(row: Sequence[str], below: Sequence[str]) -> list[str]:
    """Copy each group name to the empty cells on its right, because merged cells leave these cells empty."""
    spread, group = [], ""
    for cell, name in zip(row, below, strict=True):
        group = cell or (group if name else "")
        spread.append(group)
    return spread


def read_merged(grid: Grid) -> tuple[Grid, str] | None:
    """Fill empty cells of the first columns with the value above them. Merged cells of a spreadsheet leave them empty.

    A column is merged if at least one empty cell is below each filled cell. Only merged columns at the left are filled,
    and only if every row has values in more than half of the other columns.
    """
    width, body = len(grid.header), grid.body
    merged: list[int] = []
    while len(merged) < width - 1 and _is_merged([row[len(merged)] for row in body]):
        merged.append(len(merged))
    if not merged or any(filled(row[len(merged) :]) * 2 <= width - len(merged) for row in body):
        return None
    above = [""] * len(merged)
    rows = [grid.header]
    for row in body:
        above = [row[i] or above[i] for i in merged]
        rows.append([*above, *row[len(merged) :]])
    named = ", ".join(repr(grid.header[i] or f"column {i + 1}") for i in merged)
    return grid.with_rows(rows), f"an empty cell of {named} has the value above it"


def _is_merged(cells: Sequence[str]) -> bool:
    starts = [i for i, cell in enumerate(cells) if cell]
    if len(starts) < 2:
        return False
    sizes = [b - a for a, b in zip(starts, [*starts[1:], len(cells)], strict=True)]
    return starts[0] == 0 and min(sizes) > 1


GROUPS = Layout("a table with several header rows", read_groups)
UNITS = Layout("a table with a row of units", read_units)
MERGED = Layout("a table with merged cells", read_merged)
