"""Cells of a table as text, and the class of a layout."""

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
# Each space can match only one part of this pattern, so the time of a match is linear in the length of the cell.
_NUMBER = re.compile(
    r"[+-]?(\d([\d.,' ]*[\d.,'])?|[.,]\d+)(\s*([eE][+-]?\d+|(\*|x|×|·)\s*10(\s*\^)?\s*[+-]?\d+|\^\s*[+-]?\d+))?"
    r"(\s*([kKMBGT]n?|n))?(\s*%|\s*)"
    r"|[+-]?(nan|inf|infinity)",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of a table. All ``rows`` have the same length, the first row is the header, and "" is an empty cell.

    ``name`` is the name of the file. ``above`` contains the texts of removed rows above the header. ``partial`` is
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
        """Return a copy of the grid with these ``rows``. Empty cells are added to short rows."""
        width = max(map(len, rows), default=0)
        return replace(self, rows=[[*row, *[""] * (width - len(row))] for row in rows])


@dataclass(frozen=True)
class Layout:
    """A layout: the ``title`` that messages use, and the function ``read``.

    ``read`` returns the converted cells and a phrase that describes the conversion. It returns None if the cells do not
    have this layout, and raises PlannerError if they have it but cannot be read.
    """

    title: str
    read: Callable[[Grid], tuple[Grid, str] | None]


def is_number(cell: str) -> bool:
    """Return whether a cell is a number. A suffix, a unit prefix or a decimal comma is allowed.

    >>> [is_number(cell) for cell in ("1.5", "70M", "1,3e9", "5 %", "NaN", "loss", "")]
    [True, True, True, True, True, False, False]
    """
    return _NUMBER.fullmatch(cell) is not None


def is_text(cell: str) -> bool:
    """Return whether a cell contains text. Numbers, words for missing numbers and punctuation alone are not text."""
    return cell not in NO_NUMBER and any(map(str.isalnum, cell)) and not is_number(cell)


def filled(row: Sequence[str]) -> int:
    """Return the number of cells of a row that are not empty."""
    return sum(cell != "" for cell in row)


def numeric_columns(rows: Cells) -> list[int]:
    """Return the positions of the columns in which more than half of the filled cells are numbers."""
    width = len(rows[0]) if rows else 0
    cells = [[row[i] for row in rows if row[i] != ""] for i in range(width)]
    return [i for i, column in enumerate(cells) if sum(map(is_number, column)) * 2 > len(column)]


def roles_of(names: Sequence[str]) -> dict[Role, str]:
    """Guess the role of each column from its name alone; return role -> column name."""
    unique = dict.fromkeys(name for name in names if name)
    return {c.guess: c.name for c in with_guesses([Column(n, "number", 0, 2.0, 1e9, distinct=9) for n in unique])}


def describes_runs(names: Sequence[str]) -> bool:
    """Return whether the column names suggest N, a loss, and at least one of D and C."""
    found = roles_of(names)
    return {Role.N, Role.LOSS} <= found.keys() and bool(found.keys() & {Role.D, Role.C})


def refuse(grid: Grid, looks_like: str, todo: str) -> PlannerError:
    """Return the error for a table that cannot be read as runs. ``looks_like`` describes it; ``todo`` is the advice."""
    return PlannerError(f"{grid.name} looks like {looks_like}. {todo}")
