"""Saved items: rename, delete and restore tables, fits, plans and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, powers, readable, sentences
from isoplan.engine.planning.questions.registry import find_questions
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import answers
from isoplan.engine.store.saved.answers import SavedAnswer


def opener(page: str, name: str, query: Mapping[str, str | Sequence[str]], icon: str) -> None:
    """A link that opens what was saved under ``name``, with the Material symbol ``icon`` before it.

    The browser loads the page anew: within a session an input that the link leaves out, because it holds what the page
    opens with, would keep what was typed there since.
    """
    address = escape(f"{page}?{urlencode(query, doseq=True)}")
    symbol = f'<span class="isoplan-symbol" aria-hidden="true">{escape(icon)}</span>'
    st.html(f'<a class="isoplan-open" href="{address}">{symbol}{escape(name)}</a>', width="content")


def manage(key: str, name: str, rename: Callable[[str], object], delete: Callable[[], object]) -> None:
    """A small menu to rename what is called ``name`` or to delete it."""
    with st.popover("Manage", icon=":material/more_horiz:", key=f"manage_{key}"):
        with st.form(f"rename_{key}", border=False):
            fresh = st.text_input("Name", name, max_chars=120)
            if st.form_submit_button("Rename"):
                with sentences():
                    rename(fresh or "")
                    st.rerun()
        if st.button("Delete", icon=":material/delete:", key=f"delete_{key}"):
            with sentences():
                delete()
                st.toast(f"Deleted {escape_markdown(name)}; it can be restored under Deleted, further down.")
                st.rerun()
        st.caption("It can be restored under Deleted, further down.")


def deleted(what: str, gone: Mapping[str, str], restore: Callable[[str], object]) -> None:
    """What was deleted, by key and name, each with the button that restores it; nothing where nothing was."""
    if not gone:
        return
    with st.expander(f"Deleted {what} ({len(gone)})", icon=":material/delete:"):
        for key, name in list(gone.items())[:50]:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(escape_markdown(name), width="content")
                if st.button("Restore", key=f"restore_{key}"):
                    restore(key)
                    st.rerun()


MOST = 20


@dataclass(frozen=True)
class Place:
    """Where answers of a kind are asked for: the page, its icon, and what the question is called."""

    page: str
    icon: str
    title: str


def list_places() -> dict[str, Place]:
    """Return where each kind of answer is asked for."""
    return {
        "repeat": Place("plan", "call_split", "Simulate or repeat"),
        **{name: Place("plan", question.icon, question.title) for name, question in find_questions().items()},
        "recipe": Place("recommender", "recommend", "Recommender"),
        "amplitude": Place("precision", "adjust", "Precision"),
    }


def show_answers(db: Database, *kinds: str) -> None:
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
