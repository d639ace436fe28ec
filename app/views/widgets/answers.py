"""Widgets for answers: a chip that shows how far an answer is supported by the runs, and tables of quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isoplan.app.views.widgets.parts import LEVELS, Hint, escape_markdown, show_hints, whole
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.standing import Standing

INSIDE = ("green", "check_circle")
"""Colour and icon of an answer inside the runs."""


def chip(standing: Standing) -> str:
    """Return the ``standing`` of an answer (such as "inside the runs") as a coloured chip with a label, in Markdown."""
    colour, icon = INSIDE if standing.level is None else LEVELS[standing.level]
    return f":{colour}-badge[:material/{icon}: {escape_markdown(standing.label)}]"


def show_quantities(rows: Sequence[Mapping[str, str | Quantity]], alt: str) -> None:
    """Show ``rows`` of texts and quantities as a table. A missing value is a dash with its reason on hover."""
    show_hints([{name: _cell(one) for name, one in row.items()} for row in rows], alt)


def _cell(one: str | Quantity) -> Hint:
    if isinstance(one, str):
        return Hint(one or "\u00a0")
    return Hint("", one.note) if one.value is None else Hint(whole(number(one)))
