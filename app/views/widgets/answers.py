"""Parts that every answer shows: its standing as a chip, and its warnings in one line."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, plural
from isoplan.engine.fitting.types.warnings import FitWarning, Level, by_level
from isoplan.engine.planning.answer.standing import Standing

LOOKS = {None: ("green", "check_circle"), Level.NOTE: ("gray", "info"), Level.CAUTION: ("orange", "warning")}
"""Colour and icon by level. ``Level.STOP`` is red."""
STOP = ("red", "block")


def chip(standing: Standing) -> str:
    """Return the standing of an answer as Markdown: a coloured chip with its label."""
    colour, icon = LOOKS.get(standing.level, STOP)
    return f":{colour}-badge[:material/{icon}: {escape_markdown(standing.label)}]"


def warning_line(warnings: Sequence[FitWarning], more: str = "Details") -> None:
    """Show the first warning of the highest level in one line, with the number of the others, which ``more`` shows.

    Nothing is shown if there are only notes.
    """
    serious = [w for w in by_level(warnings) if w.level is not Level.NOTE]
    if not serious:
        return
    first, *others = serious
    colour, icon = LOOKS.get(first.level, STOP)
    rest = f" {plural(len(others), 'more warning')} under {more}." if others else ""
    text = escape_markdown(first.text)
    st.markdown(f":{colour}-badge[:material/{icon}: {first.level.capitalize()}] {text}{rest}")
