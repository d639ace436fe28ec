"""Answer of the page Recommender: the sentence, one card per setting, and the exports."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.widgets.answers import chip
from isoplan.app.views.widgets.parts import escape_markdown, readable, show_warnings, whole
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.engine.planning.answer.standing import standing_of
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.recommender.cards import CARDS, Badge, Card, Cards, differing
from isoplan.engine.store.database.database import Database

COLOURS = {
    Badge.OWN: "green",
    Badge.PUBLISHED: "blue",
    Badge.BORROWED: "orange",
    Badge.MEMORY: "violet",
    Badge.GUESS: "gray",
    Badge.TYPED: "violet",
    Badge.UNKNOWN: "gray",
}


def show(db: Database, reply: Answer, cards: Cards) -> None:
    """Show the sentence of the answer, its cards, and the form that saves and downloads it."""
    with st.container(border=True):
        st.header(escape_markdown(whole(reply.sentence)), anchor=False)
        if (plan := reply.result.recipe.plan) is not None:
            st.markdown(f"N and D: {chip(standing_of(plan))}")
    grid = st.grid(3, min_column_width=280)
    for setting in CARDS:
        with grid.container(border=True, height="stretch", gap="xsmall", key=f"card_{setting}"):
            _card(cards[setting])
    show_warnings(reply.warnings)
    keep_answer(db, "recipe", reply.name, reply.file)


def _card(cards: Sequence[Card]) -> None:
    """Show one setting. Metrics with equal values share one block, and equal lines on other choices are shown once."""
    st.markdown(f"**{escape_markdown(cards[0].label)}**")
    groups = differing(cards)
    shared = len({group[0].what_if for group in groups}) == 1
    for i, group in enumerate(groups):
        metrics = ", ".join(one.metric for one in group) if len(groups) > 1 else ""
        _block(group[0], metrics, i)
        if group[0].what_if and (not shared or i == len(groups) - 1):
            st.markdown(readable(group[0].what_if))
        if group[0].complaint:
            st.markdown(f":material/warning: {readable(group[0].complaint)}")


def _block(card: Card, metrics: str, i: int) -> None:
    """Show value, source and interval of a card. ``metrics`` names the metrics of the value if there are several."""
    missing = card.text == "-"
    with st.container(key=f"value_{card.setting}_{i}"):
        st.markdown(readable("–" if missing else card.text), help=escape_markdown(card.reason) if missing else None)
    sure = card.interval if card.interval != "-" else card.no_interval
    said = " · ".join(filter(None, (metrics, sure)))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(escape_markdown(card.source), color=COLOURS[card.badge])  # type: ignore[arg-type]
        if said:
            st.caption(readable(said), width="content")
