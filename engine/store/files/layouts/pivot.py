"""Pivot tables: the first column contains N, the header contains D (or the reverse), and the cells are losses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from isoplan.engine.schema import Role
from isoplan.engine.store.columns.names import words
from isoplan.engine.store.columns.unit_names import is_bits
from isoplan.engine.store.files.layouts.grid import Grid, Layout, is_number, is_text, refuse, roles_of

SIZES = (Role.N, Role.D, Role.C)
LARGEST = 1e4
"""Upper limit of the cells of a pivot table. Losses and perplexities are below it; sizes are usually above it."""
_SEPARATOR = re.compile(r"\\|/|\||↓|→|×|\bvs\.?\b|\bby\b|,|;")
_NAMED = re.compile(r"(?P<name>[^\d=:]*?)(?:\s*[=:_])?\s*(?P<number>[+-]?\d.*)")
LONGEST = 100
"""Maximum number of characters of a cell such as "D = 3e8"."""


def read_pivot(grid: Grid) -> tuple[Grid, str] | None:
    """Convert a pivot table to one row per cell.

    The header and the first column contain numbers or texts such as "D = 3e8". The first cell of the header names the
    quantities of the column and of the header, as in "N \\ D". A row above may name the quantity of the header.
    """
    grid, label = _without_label(grid)
    across = [_value(cell) for cell in grid.header[1:]]
    down = [_value(cell) for cell in grid.column(0)]
    cells = [cell for row in grid.body for cell in row[1:]]
    if len(down) < 2 or len(across) < 2 or _value(grid.header[0]) is not None:
        return None
    if not all(across) or not all(down) or not all(cell == "" or _is_loss(cell) for cell in cells):
        return None
    if len(set(across)) < len(across) or (not grid.partial and len(set(down)) < len(down)) or not any(cells):
        return None
    if not _one_name(grid.column(0)) or not _one_name(grid.header[1:]):
        return None
    rows, columns = _axes(grid, label)
    value = next((text for text in grid.above if _names_metric(text)), "loss")
    made = [[rows, columns, value]]
    for row, size in zip(grid.body, down, strict=True):
        made += [[str(size), str(other), cell] for other, cell in zip(across, row[1:], strict=True) if cell != ""]
    return grid.with_rows(made), f"{rows} is down, {columns} is across, and the cells are the {value}"


def _without_label(grid: Grid) -> tuple[Grid, str]:
    """Remove a first row that contains only the name of the quantity across.

    Returns the other rows and this name; the unchanged grid and "" if there is no such row.
    """
    named = [cell for cell in grid.header if cell]
    if len(named) == 1 and is_text(named[0]) and len(grid.rows) > 2 and any(map(is_number, grid.rows[1])):
        return replace(grid, rows=grid.rows[1:]), named[0]
    return grid, ""


def _value(cell: str) -> str | None:
    """Return the number in a cell such as "3e8" or "D = 3e8"; None if the cell contains no number."""
    if is_number(cell):
        return cell
    found = _named(cell)
    if found is None:
        return None
    first, _, _unit = found["number"].partition(" ")
    return first if is_number(first) else None


def _named(cell: str) -> re.Match[str] | None:
    return _NAMED.fullmatch(cell) if len(cell) <= LONGEST else None


def _is_loss(cell: str) -> bool:
    if not is_number(cell):
        return False
    try:
        return not abs(float(cell)) >= LARGEST
    except ValueError:  # such as a decimal comma
        return True


def _axes(grid: Grid, label: str) -> tuple[str, str]:
    """Return the names of the quantities down and across.

    Raises PlannerError if the names in the table do not show which one is N.
    """
    corner = grid.header[0]
    parts = [part.strip() for part in _SEPARATOR.split(corner) if part.strip()]
    down = [_name(cell) for cell in grid.column(0)]
    across = [_name(cell) for cell in grid.header[1:]]
    rows = (parts[0] if parts else "") or _common(down)
    columns = label or (parts[1] if len(parts) == 2 else "") or _common(across)
    one, other = _size(rows), _size(columns)
    if one and other and one != other:
        return rows, columns
    if one in (Role.N, Role.D) and not columns:
        return rows, "D" if one is Role.N else "N"
    if other in (Role.N, Role.D) and (not rows or not one):
        return ("D" if other is Role.N else "N"), columns
    raise refuse(
        grid,
        "a pivot table (numbers in the header and in the first column)",
        r'Write what is down and what is across into its first cell, as in "N \ D".',
    )


def _name(cell: str) -> str:
    found = None if is_number(cell) else _named(cell)
    if found is None:
        return ""
    _, _, unit = found["number"].partition(" ")
    return (found["name"] or unit).strip()


def _one_name(cells: Sequence[str]) -> bool:
    """Return whether no cell has a name, or all names are the same size, as in "D = 3e8" and "D = 1e9"."""
    names = {_name(cell) for cell in cells} - {""}
    return not names or (len(names) == 1 and _size(next(iter(names))) is not None)


def _common(names: Sequence[str]) -> str:
    return names[0] if names and len(set(names)) == 1 else ""


def _size(name: str) -> Role | None:
    return next((role for role in SIZES if name and role in roles_of([name])), None)


def _names_metric(text: str) -> bool:
    return len(text) <= 60 and (bool(words(text) & {"ppl", "perplexity"}) or is_bits(text))


PIVOT = Layout("a pivot table", read_pivot)
