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
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.saved.results import SavedAnswer


def opener(page: str, name: str, query: Mapping[str, str | Sequence[str]], icon: str) -> None:
    """Show a link that opens the saved item ``name``, with the Material symbol ``icon`` before it.

    The browser reloads the page. Within a session, an input at its default is not in the link, so it would keep the
    value that was typed since.
    """
    address = escape(f"{page}?{urlencode(query, doseq=True)}")
    symbol = f'<span class="isoplan-symbol" aria-hidden="true">{escape(icon)}</span>'
    st.html(f'<a class="isoplan-open" href="{address}">{symbol}{escape(name)}</a>', width="content")


def manage(key: str, name: str, rename: Callable[[str], object], delete: Callable[[], object]) -> None:
    """Show a small menu to rename or delete the item ``name``."""
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
    """Show deleted items by key and name, each with a button that restores it; nothing if there are none."""
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
    """Page, icon and title of the question for a kind of answer."""

    page: str
    icon: str
    title: str


def list_places() -> dict[str, Place]:
    """Return the page of each kind of answer."""
    return {
        "repeat": Place("plan", "call_split", "Simulate or repeat"),
        **{name: Place("plan", question.icon, question.title) for name, question in find_questions().items()},
        "recipe": Place("recommender", "recommend", "Recommender"),
        "amplitude": Place("precision", "adjust", "Precision"),
    }


def show_answers(db: Database, *kinds: str) -> None:
    """Show the saved answers of these ``kinds`` (all if none is given), newest first; nothing if there are none."""
    kept = results.answers(db, kinds)
    if kept:
        st.header("Saved answers", anchor=False)
    for one in kept[:MOST]:
        _saved(db, one)
    if len(kept) > MOST:
        st.caption(f"{len(kept) - MOST} older answers are not shown.")
    gone = {one.hash: one.name for one in results.answers(db, kinds, deleted=True)}
    deleted("answers", gone, lambda key: saved_items.restore(db, "answers", key))


def _saved(db: Database, one: SavedAnswer) -> None:
    place = list_places()[one.kind]
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            opener(place.page, one.name, one.query, place.icon)
            key = one.hash
            manage(
                key,
                one.name,
                lambda name: saved_items.rename(db, "answers", key, name),
                lambda: saved_items.delete(db, "answers", key),
            )
        st.caption(f"{place.title}. {powers(readable(one.sentence))}")
