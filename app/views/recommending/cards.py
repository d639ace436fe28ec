"""Answer of the page Recommender: a sentence, one card per setting (such as N or batch size), and the exports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from isoplan.app.reports.content import report_recipe
from isoplan.app.views.widgets.answers import chip
from isoplan.app.views.widgets.parts import escape_markdown, readable, show_warnings, whole
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.engine.planning.answer.standing import standing_of
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.recommender import Evidence
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


def show(db: Database, reply: Answer, cards: Cards, evidence: Evidence) -> None:
    """Show the sentence of the answer, its cards, and the form that saves and downloads the answer.

    ``evidence`` is the evidence for the recipe. The downloaded report lists the fits in ``evidence``.
    """
    with st.container(border=True):
        st.header(escape_markdown(whole(reply.sentence)), anchor=False)
        if (plan := reply.result.recipe.plan) is not None:
            st.markdown(f"N and D: {chip(standing_of(plan))}")
    grid = st.grid(3, min_column_width=280)
    for setting in CARDS:
        with grid.container(border=True, height="stretch", gap="xsmall", key=f"card_{setting}"):
            _card(cards[setting])
    show_warnings(reply.warnings)
    keep_answer(db, "recipe", reply.name, reply.file, partial(report_recipe, reply, cards, evidence))


def _card(cards: Sequence[Card]) -> None:
    """Show the card of one setting, with one block for all metrics that have equal values.

    A sentence about the effect of another choice (``what_if``) is shown once if it is equal for all metrics.
    """
    st.markdown(f"**{escape_markdown(cards[0].label)}**")
    groups = differing(cards)
    shared = len({card.what_if for card in cards}) == 1
    for i, group in enumerate(groups):
        _block(group, len(groups) > 1, i)
        for text in dict.fromkeys(card.what_if for card in group if card.what_if):
            if not shared or i == len(groups) - 1:
                st.markdown(readable(text))
        if group[0].caution:
            st.markdown(f":material/warning: {readable(group[0].caution)}")
        if group[0].complaint:
            st.markdown(f":material/warning: {readable(group[0].complaint)}")


def _block(group: Sequence[Card], several: bool, i: int) -> None:
    """Show value, source and intervals of the cards in ``group``, which have equal values.

    The names of the metrics are shown if there are ``several`` groups. Each different interval is shown separately.
    """
    card = group[0]
    missing = card.text == "-"
    with st.container(key=f"value_{card.setting}_{i}"):
        st.markdown(readable("–" if missing else card.text), help=escape_markdown(card.reason) if missing else None)
    sure: dict[str, list[str]] = {}
    for one in group:
        sure.setdefault(one.interval if one.interval != "-" else one.no_interval, []).append(one.metric)
    named = several or len(sure) > 1
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.badge(escape_markdown(card.source), color=COLOURS[card.badge])  # type: ignore[arg-type]
        for text, metrics in sure.items():
            if said := " · ".join(filter(None, (", ".join(metrics) if named else "", text))):
                st.caption(readable(said), width="content")
