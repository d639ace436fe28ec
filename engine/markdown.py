"""Text that somebody else wrote, as Markdown shows it: names, notes, and sentences that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SIGNS = re.compile(r"[\\`*\[\]<>$~|&]|(?<![^\W_])_|_(?![^\W_])")  # within a word an underscore says nothing
_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=#|[+-](?:\s|$)|-[\s-]+$))")
"""Where a line would begin as a heading, an item of a list or a rule."""


def escape(text: str) -> str:
    """``text`` in one line, with a backslash before whatever CommonMark or GitHub would read as more than text."""
    return _START.sub(r"\1\\", in_line(text.lstrip()))


def in_line(text: str) -> str:
    """The same of text that begins no line, such as a cell of a table."""
    return _SIGNS.sub(lambda sign: "\\" + sign[0], re.sub(r"[\r\n]+", " ", text))


def table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table of text."""
    lines = [map(in_line, head), ["---"] * len(head), *(map(in_line, row) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]
