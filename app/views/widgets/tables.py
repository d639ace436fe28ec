"""Rows of numbers as a table of the page, and without Markdown for files."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, whole
from isoplan.engine.planning.answer.format import Row

COLUMNS = ("Quantity", "Value", "68 %", "95 %", "Note")
NOTHING = {"-": "–"}
"""A lone hyphen would begin a list."""


def readable(text: str) -> str:
    """Text for Markdown that shows as it is, its numbers in the same line as their units."""
    return whole(escape_markdown(text))


def cells(row: Row) -> dict[str, str]:
    """A row by its columns."""
    unit = f" [{row.unit}]" if row.unit and " per " not in row.unit and row.unit not in row.quantity else ""
    far = f"{row.beyond} beyond" if row.beyond else ""
    shown = (row.quantity + unit, row.value, row.ci68, row.ci95, ", ".join(filter(None, (row.note, far))))
    return dict(zip(COLUMNS, shown, strict=True))


def table(rows: Iterable[dict[str, str]], alt: str) -> None:
    """The table, without the columns that are empty; nothing without rows."""
    lines = list(rows)
    used = [key for key in lines[0] if any(line[key] for line in lines)] if lines else []
    body = [{readable(key): readable(NOTHING.get(line[key], line[key])) for key in used} for line in lines]
    if body:
        st.table(body, border="horizontal", hide_index=True, alt=alt)
