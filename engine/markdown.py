"""Text that somebody else wrote, as Markdown shows it: names, notes, and sentences that hold them."""

from __future__ import annotations

import re

_SIGNS = re.compile(
    r"[\\`*\[\]<>$~|&]|(?<![^\W_])_|_(?![^\W_])"  # within a word an underscore says nothing
    r"|^#|^[+-](?=\s|$)|^-(?=[\s-]+$)"
)
_NUMBERED = re.compile(r"^(\d+)(?=[.)](\s|$))")


def escape(text: str) -> str:
    """``text`` in one line, with a backslash before whatever CommonMark or GitHub would read as more than text."""
    line = re.sub(r"[\r\n]+", " ", text.lstrip())
    return _NUMBERED.sub(r"\1\\", _SIGNS.sub(lambda sign: "\\" + sign[0], line))
