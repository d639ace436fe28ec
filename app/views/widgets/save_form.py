"""Save and export of an answer: the form for its name, and its files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from isoplan.app import links
from isoplan.app.views.widgets.parts import sentences
from isoplan.engine.markdown import table
from isoplan.engine.planning.answer.document import Document, to_csv, to_markdown
from isoplan.engine.planning.answer.latex import to_latex
from isoplan.engine.spreadsheets import as_text
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results

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
