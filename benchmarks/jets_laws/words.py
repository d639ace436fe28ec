"""Phrases and number formats of docs/jets_laws.md."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from isoplan.engine.quantities import count


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph wrapped to the line width of the page. All lines except the first begin with ``indent``."""
    return textwrap.fill(" ".join(text.split()), 120, subsequent_indent=indent, break_on_hyphens=False)


def span(column: str, every: Sequence[dict[str, str]], what: str) -> str:
    """Return a text with the number of different values in a column, the smallest value and the largest value."""
    values = sorted({float(row[column]) for row in every})
    return f"{len(values)} {what} ({count(values[0])} to {count(values[-1])})"


def still_open(cells: int) -> str:
    """Return a sentence with the number of cells of a grid that are not trained yet."""
    return f" {cells} of the larger cells of the grid {'is' if cells == 1 else 'are'} not trained yet." if cells else ""


def symbol(name: str) -> str:
    """Return the symbol that the page uses for a parameter."""
    return {"alpha": "α", "beta": "β", "gamma": "γ", "beta_rep": "β_rep"}.get(name, name)


def printed(row: dict[str, str]) -> str:
    """Return a text with a number that the paper prints and the interval of this number."""
    return f"{row['value']} ({row['ci68_lo']} to {row['ci68_hi']})"
