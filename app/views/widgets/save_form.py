"""An answer kept: the form that names and saves it, and its files."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from isoplan.app import links
from isoplan.app.views.widgets.exports import downloads, files
from isoplan.app.views.widgets.parts import sentences
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import answers

CALLED = {"repeat": "simulate-or-repeat", "amplitude": "precision"}
"""The files of an answer whose kind is not their name."""


def keep(what: str, start: str, file: str, document: Document, save: Callable[[str], object]) -> None:
    """A line with the name of ``what`` is answered, ``start`` at first, the button that saves it, and its files."""
    left, right = st.columns([5, 6], vertical_alignment="bottom")
    with left.form(f"save_{file}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(f"Name of the {what}", start, max_chars=120, key=f"name_{start}")
        if st.form_submit_button(f"Save the {what}", type="primary"):
            with sentences():
                save(name or "")
                st.toast(f"The {what} is saved.")
                st.rerun()  # the list of what is saved stands outside of the fragment
    with right:
        downloads(file, files(document))


def keep_answer(db: Database, kind: str, start: str, document: Document) -> None:
    """The same for an answer that is saved with the link of its page."""

    def save(name: str) -> None:
        answers.save(db, kind, document.body, document.sentence, links.asked(), name)

    keep("answer", start, CALLED.get(kind, kind), document, save)
