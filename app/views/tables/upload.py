"""The box that brings a run table in: a file, a paste from a spreadsheet, or the template to fill in."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, refuse, sentences
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files import export
from isoplan.engine.store.files.text import MAX_CELLS, MAX_ROWS
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from isoplan.engine.store.tables import tables

FORMATS = ["csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "pq", "xlsx", "xlsm", "duckdb", "ddb", "db"]


def add_table(db: Database, key: str) -> None:
    """Upload, paste and template side by side; opens the table that comes in."""
    st.session_state.setdefault("uploads", 0)
    file, paste, template = st.tabs(["A file", "Paste from a spreadsheet", "Template"])
    with file:
        file_box(
            f"{key}_{st.session_state['uploads']}",
            "A file with one row a training run",
            lambda sent, name, part=None: _import(db, lambda: tables.add(db, sent, name, sheet=part, inner=part)),
        )
    with paste:
        _paste(db, key)
    with template:
        st.markdown(
            "One row a training run, one column a quantity. Only the columns that you have are needed: "
            "a law of the loss surface reads **N** (parameters), **D** (samples seen) and **loss**."
        )
        st.download_button(
            "Download the template", export.template(), "runs.csv", "text/csv", icon=":material/download:"
        )


def add_curves(db: Database, table: tables.TableInfo) -> None:
    """Upload the training curves of the runs of ``table``."""
    st.session_state.setdefault("uploads", 0)

    def take(sent: bytes, name: str, part: str | None = None) -> None:
        tables.add(db, sent, name, sheet=part, inner=part, curves_of=table.id)
        st.session_state["uploads"] += 1
        st.rerun()

    file_box(f"curves_{table.id}_{st.session_state['uploads']}", "A file with one row a point of a curve", take)


def file_box(key: str, label: str, take: Callable[..., None]) -> None:
    """A box for a file; ``take(bytes, name, part)`` gets it once, with the part of it that was chosen."""
    limit = MAX_UPLOAD_BYTES // 1024**2
    sent = st.file_uploader(
        f"{label} (at most {limit} MB, {MAX_ROWS // 10**6} million rows, {MAX_CELLS // 10**6} million cells)",
        type=FORMATS,
        key=f"file_{key}",
        max_upload_size=limit,
        help="CSV, TSV, JSON lines, Parquet, Excel or DuckDB. The bytes are kept as they came.",
    )
    if sent is None:
        return
    refused = st.session_state.setdefault("refused_files", {})
    if sent.file_id in refused:
        refuse(refused[sent.file_id])
        return
    found: tuple[str, ...] = ()
    try:
        with st.spinner("Reading the file"):
            found = tables.parts(sent.getvalue(), sent.name)
            if len(found) < 2:
                take(sent.getvalue(), sent.name)
    except PlannerError as error:
        # Said again on every run while the file lies in the box, without reading it again.
        refused[sent.file_id] = str(error)
        refuse(str(error))
    if len(found) > 1:
        part = st.selectbox(
            f"{escape_markdown(sent.name)} holds {len(found)} tables: which one?", found, key=f"part_{key}"
        )
        if st.button("Add this table", type="primary", key=f"add_{key}"):
            with sentences(), st.spinner("Reading the file"):
                take(sent.getvalue(), sent.name, part)


def _paste(db: Database, key: str) -> None:
    with st.form(f"paste_{key}", border=False):
        text = st.text_area(
            "Cells with their header row",
            height=160,
            placeholder="N\tD\tloss\n1.0M\t20M\t3.41\n16M\t80M\t2.87",
            help="Copy the cells in the spreadsheet and paste them here; commas work as well as tabs.",
        )
        name = st.text_input("Name of the table", "Pasted runs")
        if st.form_submit_button("Add these cells", type="primary"):
            with sentences(), st.spinner("Reading the cells"):
                _import(db, lambda: tables.add(db, (text or "").encode(), f"{name or 'Pasted runs'}.csv"))


def _import(db: Database, add: Callable[[], tables.TableInfo]) -> None:
    table = add()
    st.session_state["uploads"] += 1
    st.session_state["known_table"] = table.id if table.known else ""
    open_table(table.id)
    st.rerun()
