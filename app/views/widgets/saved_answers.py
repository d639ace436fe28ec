"""The answers that were saved beside the plans, each with the link that asks for it again."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from isoplan.app.views.widgets.parts import powers
from isoplan.app.views.widgets.saved_items import deleted, manage, opener
from isoplan.app.views.widgets.tables import readable
from isoplan.engine.planning.questions.registry import find_questions
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import answers
from isoplan.engine.store.saved.answers import SavedAnswer

MOST = 20


@dataclass(frozen=True)
class Place:
    """Where answers of a kind are asked for: the page, its icon, and what the question is called."""

    page: str
    icon: str
    title: str


def list_places() -> dict[str, Place]:
    """Where each kind of answer is asked for."""
    return {
        "repeat": Place("plan", "call_split", "Simulate or repeat"),
        **{name: Place("plan", question.icon, question.title) for name, question in find_questions().items()},
        "recipe": Place("recommender", "recommend", "Recommender"),
        "amplitude": Place("precision", "adjust", "Precision"),
    }


def show(db: Database, *kinds: str) -> None:
    """The saved answers of these ``kinds``, of all where none is named, newest first; nothing where none is saved."""
    kept = answers.all(db, kinds)
    if kept:
        st.header("Saved answers", anchor=False)
    for one in kept[:MOST]:
        _saved(db, one)
    if len(kept) > MOST:
        st.caption(f"{len(kept) - MOST} older answers are not shown.")
    gone = {one.hash: one.name for one in answers.all(db, kinds, deleted=True)}
    deleted("answers", gone, lambda key: answers.restore(db, key))


def _saved(db: Database, one: SavedAnswer) -> None:
    place = list_places()[one.kind]
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            opener(place.page, one.name, one.query, place.icon)
            key = one.hash
            manage(key, one.name, lambda name: answers.rename(db, key, name), lambda: answers.delete(db, key))
        st.caption(f"{place.title}. {powers(readable(one.sentence))}")
