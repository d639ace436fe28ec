"""Rows of events as sentences name them."""

from __future__ import annotations


def row_of(index: int, all_of_them: int = 1) -> str:
    """``Row 7 (counted from 0)``, as arrays count; with the number of such rows where there are more."""
    more = f"; {all_of_them:,} rows in all" if all_of_them > 1 else ""
    return f"Row {index} (counted from 0{more})"
