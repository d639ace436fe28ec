"""Saved items (tables, fits, plans, answers): forms that save, download, rename, delete and restore them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from isoplan.app import links
from isoplan.app.views.widgets.parts import escape_markdown, powers, readable, sentences
from isoplan.app.views.widgets.reports import Make, report_buttons
from isoplan.engine.escaping import as_text, table
from isoplan.engine.planning.answer.document import Document, to_csv, to_latex, to_markdown
from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.saved.results import SavedAnswer

if TYPE_CHECKING:
    from isoplan.app.reports.content import Report

Rows = Sequence[Mapping[str, str]]
File = tuple[Callable[[], str], str, str]


def files(document: Document) -> dict[str, File]:
    """Return the downloads of an answer by button label.

    A download consists of a function that returns the text of the file, the extension, and the MIME type.
    """
    return {
        "JSON": (lambda: json.dumps(document.body, indent=2), "json", "application/json"),
        "CSV": (partial(to_csv, document), "csv", "text/csv"),
        "Markdown": (partial(to_markdown, document), "md", "text/markdown"),
        "LaTeX": (partial(to_latex, document), "tex", "application/x-tex"),
        "Python": (lambda: document.script, "py", "text/x-python"),
    }


def table_files(body: Mapping[str, Any], rows: Rows) -> dict[str, File]:
    """Return the downloads of a comparison by label: ``body`` as JSON, and the table ``rows`` as CSV and Markdown."""
    return {
        "JSON": (lambda: json.dumps(body, indent=2), "json", "application/json"),
        "CSV": (partial(as_csv, rows), "csv", "text/csv"),
        "Markdown": (partial(as_markdown, rows), "md", "text/markdown"),
    }


def downloads(name: str, files: Mapping[str, File], report: Make | None = None) -> None:
    """Show one download button per file, at the right, below the download buttons of the ``report``.

    A file is written when its button is pressed.
    """
    if report is not None:
        with st.container(horizontal=True, horizontal_alignment="right"):
            report_buttons(name, report)
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
    """Return ``rows`` as CSV; the first line contains the column names."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows(map(as_text, line) for line in (rows[0], *(row.values() for row in rows)))
    return out.getvalue()


def as_markdown(rows: Rows) -> str:
    """Return the rows as a Markdown table."""
    return "\n".join([*table(list(rows[0]), (row.values() for row in rows)), ""])


CALLED = {"repeat": "simulate-or-repeat", "amplitude": "precision"}
"""File names of downloads by kind of answer, for the kinds whose file name differs from the kind."""


def keep(
    what: str,
    start: str,
    file: str,
    document: Document,
    save: Callable[[str], object],
    report: Make | None = None,
) -> None:
    """Show the form that saves an item under a name, and the downloads of the item.

    ``what`` is the kind of item (such as "plan"). ``start`` is the initial name. ``file`` is the file name of the
    downloads. ``report`` makes the report. If it is None, the report contains the numbers and no figure.
    """
    left, right = st.columns([5, 6], vertical_alignment="bottom")
    with left.form(f"save_{file}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(f"Name of the {what}", start, max_chars=120, key=f"name_{start}")
        if st.form_submit_button(f"Save the {what}", type="primary"):
            with sentences():
                save(name or "")
                st.toast(f"The {what} is saved.")
                st.rerun()  # the list of saved items is outside the fragment
    with right:
        downloads(file, files(document), report or partial(_plain_report, start, document))


def _plain_report(title: str, document: Document) -> Report:
    from isoplan.app.reports.content import make_report

    return make_report(title, document)


def keep_answer(db: Database, kind: str, start: str, document: Document, report: Make | None = None) -> None:
    """Show the form that saves an answer of ``kind`` with the link of its page, and the downloads of the answer.

    ``report`` makes the report of the answer, see ``keep``.
    """

    def save(name: str) -> None:
        results.save_answer(db, kind, document.body, document.sentence, links.asked(), name)

    keep("answer", start, CALLED.get(kind, kind), document, save, report)


def opener(page: str, name: str, query: Mapping[str, str | Sequence[str]], icon: str) -> None:
    """Show a link that opens the saved item ``name``, with the Material symbol ``icon`` before the name.

    The link reloads the page. Otherwise, inputs that the link leaves at their defaults would keep the values that were
    typed before.
    """
    address = escape(f"{page}?{urlencode(query, doseq=True)}")
    symbol = f'<span class="isoplan-symbol" aria-hidden="true">{escape(icon)}</span>'
    st.html(f'<a class="isoplan-open" href="{address}">{symbol}{escape(name)}</a>', width="content")


def manage(key: str, name: str, rename: Callable[[str], object], delete: Callable[[], object]) -> None:
    """Show a menu that renames or deletes the item ``name``."""
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
                st.toast(f"Deleted {escape_markdown(name)}. Restore it in the list of deleted items further down.")
                st.rerun()
        st.caption("You can restore deleted items in the list further down.")


def deleted(what: str, gone: Mapping[str, str], restore: Callable[[str], object]) -> None:
    """Show the deleted items ``gone`` (names by key), each with a button that restores it; nothing without items."""
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
    """Page, icon and title of the planner question that gives a kind of answer."""

    page: str
    icon: str
    title: str


def list_places() -> dict[str, Place]:
    """Return page, icon and title of the question by kind of answer."""
    return {
        **{name: Place("plan", question.icon, question.title) for name, question in find_questions().items()},
        "recipe": Place("recommender", "recommend", "Recommender"),
        "amplitude": Place("precision", "adjust", "Precision"),
    }


def show_answers(db: Database, *kinds: str) -> None:
    """Show the saved answers of the given ``kinds``, or of all kinds if none is given; newest first."""
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
