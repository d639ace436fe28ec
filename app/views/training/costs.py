"""What a grid will take, from short cells on this machine, and what its sweep may spend at most."""

from __future__ import annotations

from typing import Any

import streamlit as st

from isoplan.app.caps import read_cap
from isoplan.app.earlier import bundled_cells
from isoplan.app.views.training.preview import Preview
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.quantities import duration, si
from isoplan.trainers.backend.estimate import forecast
from isoplan.trainers.backend.estimate.forecast import Estimate
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap
from isoplan.trainers.cell import Family

CALLED = ("cap of the sweep", "price of a device hour")
"""What the two fields are called within a sentence."""
MOST = 20
"""Seconds that an estimate takes at most."""


def ask_cap() -> Cap:
    """The price of a device hour and what the sweep may spend. Raises PlannerError for what cannot be."""
    grid = st.grid(2, min_column_width=210)
    price = grid.text_input(
        "Price of a device hour", key="hour_price", bind="query-params", max_chars=100, placeholder="for example 2.50",
        help="Of a GPU, or of one core where a cell runs on cores.",
    )  # fmt: skip
    spend = grid.text_input(
        "Spend at most", key="spend_cap", bind="query-params", max_chars=100, placeholder="50 EUR or 20 h",
        help="Once the sweep has used so much, its cells wait until you raise it.",
    )  # fmt: skip
    return read_cap(spend or "", price or "", CALLED)


def show(queue: Queue, family: Family[Any], found: Preview, key: str, cap: Cap) -> None:
    """What the grid called ``key`` takes, once it was asked for; else the button that measures it."""
    asked = st.session_state.setdefault("estimates", set())
    place = st.empty()
    if key not in asked:
        said = f"Runs short cells of this grid on this machine, at most {MOST} s."
        if not place.button("Estimate time and cost", icon=":material/timer:", key="estimate", help=said):
            return
        place.empty()
    made = _estimated(key, str(queue.root), queue, family, found)
    asked.add(key)
    place.markdown(f"{escape_markdown(text(made, cap))}  \n:gray[{escape_markdown(made.basis)}]")


@st.cache_resource(max_entries=64, show_spinner="Running short cells on this machine", ttl="1h")
def _estimated(key: str, root: str, _queue: Queue, _family: Family[Any], _found: Preview) -> Estimate:
    return forecast.estimate(_queue.root, _family, _found.cells, earlier=bundled_cells(_family.name))


def text(found: Estimate, cap: Cap) -> str:
    """``About 34 s on this machine, 0.014 device hours (0.028 EUR), 1.2 MB of disk; the longest cell 8 s.``"""
    left = found.cells - found.done
    known = f"{found.done:,} of {found.cells:,} cells are done already. " if found.done and left else ""
    if not left or found.seconds is None or found.hours is None:
        return known.strip()
    cost = found.money(cap.price)
    spent = f" ({cost:.2g} {cap.currency})" if cost is not None else ""
    disk = f", {si(found.disk, 2)}B of disk" if found.disk else ""
    longest = f"; the longest cell takes {duration(found.longest)}" if found.longest and left > 1 else ""
    over = cap.hours is not None and found.hours > cap.hours
    more = f" That is more than the {cap.text} that it may spend: it will wait there." if over else ""
    return (
        f"{known}About {duration(found.seconds)} on this machine, {found.hours:.2g} device hours{spent}{disk}{longest}."
        f"{more}"
    )
