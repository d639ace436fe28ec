"""Functions that escape text from users, for Markdown and for CSV cells that a spreadsheet would run as formulas.

A spreadsheet treats a cell as a formula if the cell begins with one of ``= + - @``, a tab or a line end (OWASP, "CSV
injection"). If an apostrophe is added in front, the spreadsheet treats the cell as text. Numbers are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

# Markdown does not interpret an underscore within a word, so an underscore there is not escaped.
_SIGNS = re.compile(r"[\\`*\[\]<>$~|&]|(?<![^\W_])_|_(?![^\W_])")
_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=#|[+-](?:\s|$)|-[\s-]+$))")
"""Start of a line that Markdown would interpret as a heading, a list item or a horizontal rule."""


def escape(text: str) -> str:
    """Return ``text`` as one line, with a backslash before each character that CommonMark or GitHub would interpret."""
    return _START.sub(r"\1\\", in_line(text.lstrip()))


def in_line(text: str) -> str:
    """Escape text that is not at the start of a line, such as a cell of a table, and return it as one line."""
    return _SIGNS.sub(lambda sign: "\\" + sign[0], re.sub(r"[\r\n]+", " ", text))


def table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table with the header ``head``; the text of all cells is escaped."""
    lines = [map(in_line, head), ["---"] * len(head), *(map(in_line, row) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_text(cell: Any) -> Any:
    """Return ``cell``, with an apostrophe in front if it is text that a spreadsheet would read as a formula.

    Text that is a number, such as "-1.5", is unchanged.
    """
    if not isinstance(cell, str) or not cell.startswith(BEGINS):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
