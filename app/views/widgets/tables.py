"""Rows of numbers as a table of the page, and without Markdown for files."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, whole

NOTHING = {"-": "–"}
"""A lone hyphen would begin a list."""


def readable(text: str) -> str:
    """Text for Markdown that shows as it is, its numbers in the same line as their units."""
    return whole(escape_markdown(text))


def table(rows: Iterable[dict[str, str]], alt: str) -> None:
    """The table, without the columns that are empty; nothing without rows."""
    lines = list(rows)
    used = [key for key in lines[0] if any(line[key] for line in lines)] if lines else []
    body = [{readable(key): readable(NOTHING.get(line[key], line[key])) for key in used} for line in lines]
    if body:
        st.table(body, border="horizontal", hide_index=True, alt=alt)
