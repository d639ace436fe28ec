"""Cells of a table as text, and the contract of a layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Role
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.guess import with_guesses
from isoplan.engine.store.database.sql import NO_NUMBER

Cells = list[list[str]]
# No two parts of this pattern match the same spaces, so the time of a match is proportional to the length of a cell.
_NUMBER = re.compile(
    r"[+-]?(\d([\d.,' ]*[\d.,'])?|[.,]\d+)(\s*([eE][+-]?\d+|(\*|x|×|·)\s*10(\s*\^)?\s*[+-]?\d+|\^\s*[+-]?\d+))?"
    r"(\s*([kKMBGT]n?|n))?(\s*%|\s*)"
    r"|[+-]?(nan|inf|infinity)",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of a table. ``rows`` have equal lengths, their first row is the header, and "" is an empty cell.

    ``name`` is the name of the file. ``above`` are the texts of the rows that stood above the header. ``partial`` is
    true if ``rows`` are only the first and the last rows of a large table.
    """

    rows: Cells
    name: str
    above: tuple[str, ...] = ()
    partial: bool = False

    @property
    def header(self) -> list[str]:
        return self.rows[0]

    @property
    def body(self) -> Cells:
        return self.rows[1:]

    def column(self, i: int) -> list[str]:
        """Return the cells of column ``i`` below the header."""
        return [row[i] for row in self.rows[1:]]

    def with_rows(self, rows: Sequence[Sequence[str]]) -> Grid:
        """Return the grid with other rows. Short rows are extended by empty cells."""
        width = max(map(len, rows), default=0)
        return replace(self, rows=[[*row, *[""] * (width - len(row))] for row in rows])


@dataclass(frozen=True)
class Layout:
    """A layout: its title for sentences, and the function ``read``.

    ``read`` returns the cells in the usual layout with a phrase that states what was done. It returns None if the cells
    do not show this layout, and raises PlannerError if they show it but cannot be read.
    """

    title: str
    read: Callable[[Grid], tuple[Grid, str] | None]


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, also with a suffix, a unit prefix or a decimal comma.

    >>> [is_number(cell) for cell in ("1.5", "70M", "1,3e9", "5 %", "NaN", "loss", "")]
    [True, True, True, True, True, False, False]
    """
    return _NUMBER.fullmatch(cell) is not None


def is_text(cell: str) -> bool:
    """Return whether a cell contains text that is neither a number, a word for a missing number, nor only marks."""
    return cell not in NO_NUMBER and any(map(str.isalnum, cell)) and not is_number(cell)


def filled(row: Sequence[str]) -> int:
    """Return the number of cells of a row that are not empty."""
    return sum(cell != "" for cell in row)


def numeric_columns(rows: Cells) -> list[int]:
    """Return the columns in which most cells that are not empty are numbers."""
    width = len(rows[0]) if rows else 0
    cells = [[row[i] for row in rows if row[i] != ""] for i in range(width)]
    return [i for i, column in enumerate(cells) if sum(map(is_number, column)) * 2 > len(column)]


def roles_of(names: Sequence[str]) -> dict[Role, str]:
    """Return role -> column name that the names of columns suggest, if all columns contain plausible numbers."""
    unique = dict.fromkeys(name for name in names if name)
    return {c.guess: c.name for c in with_guesses([Column(n, "number", 0, 2.0, 1e9, distinct=9) for n in unique])}


def describes_runs(names: Sequence[str]) -> bool:
    """Return whether the names of columns suggest columns of N, of D or C, and of a loss."""
    found = roles_of(names)
    return {Role.N, Role.LOSS} <= found.keys() and bool(found.keys() & {Role.D, Role.C})


def refuse(grid: Grid, looks_like: str, todo: str) -> PlannerError:
    """Return the error for a table that looks like something that cannot be read as runs."""
    return PlannerError(f"{grid.name} looks like {looks_like}. {todo}")
