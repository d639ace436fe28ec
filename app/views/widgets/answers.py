"""Parts that every answer shows: its standing as a chip."""

from __future__ import annotations

from isoplan.app.views.widgets.parts import LEVELS, escape_markdown
from isoplan.engine.planning.answer.standing import Standing

INSIDE = ("green", "check_circle")
"""Colour and icon of an answer inside the runs."""


def chip(standing: Standing) -> str:
    """Return the standing of an answer as Markdown: a coloured chip with its label."""
    colour, icon = INSIDE if standing.level is None else LEVELS[standing.level]
    return f":{colour}-badge[:material/{icon}: {escape_markdown(standing.label)}]"
