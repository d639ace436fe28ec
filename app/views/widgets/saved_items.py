"""Saved items: save and export of an answer; rename, delete and restore tables, fits, plans and answers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from isoplan.app import links
from isoplan.app.views.widgets.parts import escape_markdown, powers, readable, sentences
from isoplan.engine.escaping import as_text, table
from isoplan.engine.planning.answer.document import Document, to_csv, to_latex, to_markdown
from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.saved.results import SavedAnswer

Rows = Sequence[Mapping[str, str]]
File = tuple[Callable[[], str], str, str]


def files(document: Document) -> dict[str, File]:
    """Return the files of an answer: writer, extension and MIME type by the label of the button."""
    return {
        "JSON": (lambda: json.dumps(document.body, indent=2), "json", "application/json"),
        "CSV": (partial(to_csv, document), "csv", "text/csv"),
        "Markdown": (partial(to_markdown, document), "md", "text/markdown"),
        "LaTeX": (partial(to_latex, document), "tex", "application/x-tex"),
        "Python": (lambda: document.script, "py", "text/x-python"),
    }


def table_files(body: Mapping[str, Any], rows: Rows) -> dict[str, File]:
    """Return the files of a comparison; ``rows`` are those of the page without Markdown."""
    return {
        "JSON": (lambda: json.dumps(body, indent=2), "json", "application/json"),
        "CSV": (partial(as_csv, rows), "csv", "text/csv"),
        "Markdown": (partial(as_markdown, rows), "md", "text/markdown"),
    }


def downloads(name: str, files: Mapping[str, File]) -> None:
    """Show a button for each file, in a line at the right; a file is written on demand."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        for label, (write, ending, mime) in files.items():
            st.download_button(
                label,
                write,
                f"{name}.{ending}",
                mime,
                icon=":material/download:",
                on_click="ignore",
                key=f"{name}_{label}",
            )


def as_csv(rows: Rows) -> str:
    """Return the rows with their header as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows(map(as_text, line) for line in (rows[0], *(row.values() for row in rows)))
    return out.getvalue()


def as_markdown(rows: Rows) -> str:
    """Return the rows as a Markdown table."""
    return "\n".join([*table(list(rows[0]), (row.values() for row in rows)), ""])


CALLED = {"repeat": "simulate-or-repeat", "amplitude": "precision"}
"""File names of answers, if they differ from the kind of answer."""


def keep(what: str, start: str, file: str, document: Document, save: Callable[[str], object]) -> None:
    """Show a line with the name of ``what`` (``start`` at first), the button that saves it, and its files."""
    left, right = st.columns([5, 6], vertical_alignment="bottom")
    with left.form(f"save_{file}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(f"Name of the {what}", start, max_chars=120, key=f"name_{start}")
        if st.form_submit_button(f"Save the {what}", type="primary"):
            with sentences():
                save(name or "")
                st.toast(f"The {what} is saved.")
                st.rerun()  # the list of saved items is outside the fragment
    with right:
        downloads(file, files(document))


def keep_answer(db: Database, kind: str, start: str, document: Document) -> None:
    """Show the same for an answer that is saved with the link of its page."""

    def save(name: str) -> None:
        results.save_answer(db, kind, document.body, document.sentence, links.asked(), name)

    keep("answer", start, CALLED.get(kind, kind), document, save)


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
