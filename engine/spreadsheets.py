"""Escape cells of CSV files that a spreadsheet would run as formulas. Pure.

A spreadsheet treats a cell that begins with one of ``= + - @``, a tab or a line end as a formula (OWASP, "CSV
injection"). An apostrophe before it makes the cell text. Numbers are unchanged.
"""

from __future__ import annotations

from typing import Any

BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_text(cell: Any) -> Any:
    """Return ``cell``, with an apostrophe before it if it is text that begins like a formula and is not a number."""
    if not isinstance(cell, str) or not cell.startswith(BEGINS):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
