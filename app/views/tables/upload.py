"""Upload of a run table as a file or as pasted spreadsheet cells, and upload of its training curves."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from isoplan.app.figures.training import curves
from isoplan.app.views.tables.mapping import ask_readings, edit_mapping
from isoplan.app.views.tables.tracked import add_tracked
from isoplan.app.views.widgets.cache import curves_of, runs_of
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, plural, refuse, sentences
from isoplan.app.views.widgets.saved_items import manage
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Curves
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files import export
from isoplan.engine.store.files.text import MAX_CELLS, MAX_ROWS
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

FORMATS = ["csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "pq", "xlsx", "xlsm", "duckdb", "ddb", "db"]


NEEDED = "One row per training run, with columns for parameters (N), samples seen (D) and loss."
"""Sentence for the page: the required content of a run table."""


def add_table(db: Database, key: str) -> None:
    """Show tabs to import a run table: a file (with an example), the store of a tracker, or pasted cells.

    The imported table is opened.
    """
    st.session_state.setdefault("uploads", 0)
    file, tracker, paste = st.tabs(["A file", "From a tracker", "Paste cells"])
    with file:
        file_box(
            f"{key}_{st.session_state['uploads']}",
            NEEDED,
            lambda sent, name, part=None: _import(db, lambda: tables.add(db, sent, name, sheet=part, inner=part)),
        )
        st.download_button(
            "Download an example file", export.template(), "example-runs.csv", "text/csv", type="tertiary",
            icon=":material/download:", on_click="ignore", key=f"example_{key}",
        )  # fmt: skip
    with tracker:
        add_tracked(db, key)
    with paste:
        _paste(db, key)


def add_curves(db: Database, table: tables.TableInfo) -> None:
    """Show the upload field for training curves of the runs of ``table``."""
    st.session_state.setdefault("uploads", 0)

    def take(sent: bytes, name: str, part: str | None = None) -> None:
        tables.add(db, sent, name, sheet=part, inner=part, curves_of=table.id)
        st.session_state["uploads"] += 1
        st.rerun()

    file_box(f"curves_{table.id}_{st.session_state['uploads']}", "A file with one row per point of a curve", take)


def file_box(key: str, label: str, take: Callable[..., None]) -> None:
    """Show an upload field; call ``take(bytes, name)`` once when the user uploads a file.

    If the file contains several tables, the user chooses the table ``part``, and ``take(bytes, name, part)`` is called.
    """
    limit = MAX_UPLOAD_BYTES // 1024**2
    sent = st.file_uploader(
        label,
        type=FORMATS,
        key=f"file_{key}",
        max_upload_size=limit,
        help="CSV, TSV, JSON lines, Parquet, Excel or DuckDB. The original file is kept. At most "
        f"{limit} MB, {MAX_ROWS // 10**6} million rows, {MAX_CELLS // 10**6} million values.",
    )
    if sent is None:
        return
    refused = st.session_state.setdefault("refused_files", {})
    if sent.file_id in refused:
        refuse(refused[sent.file_id])
        return
    parts: tuple[str, ...] = ()
    try:
        with st.spinner("Reading the file"):
            parts = tables.parts(sent.getvalue(), sent.name)
            if len(parts) < 2:
                take(sent.getvalue(), sent.name)
    except PlannerError as error:
        # Store the error, because every rerun of the page must show it without reading the file again.
        refused[sent.file_id] = str(error)
        refuse(str(error))
    if len(parts) > 1:
        part = st.selectbox(
            f"{escape_markdown(sent.name)} contains {len(parts)} tables. Choose one.", parts, key=f"part_{key}"
        )
        if st.button("Add this table", key=f"add_{key}"):
            with sentences(), st.spinner("Reading the file"):
                take(sent.getvalue(), sent.name, part)


def _paste(db: Database, key: str) -> None:
    with st.form(f"paste_{key}", border=False):
        text = st.text_area(
            "Rows of a spreadsheet, with the header row",
            height=160,
            placeholder="N\tD\tloss\n1.0M\t20M\t3.41\n16M\t80M\t2.87",
            help="Copy the rows in the spreadsheet and paste them here. Columns are separated by tabs or commas.",
        )
        name = st.text_input("Name of the table", "Pasted runs")
        if st.form_submit_button("Add these rows"):
            with sentences(), st.spinner("Reading the rows"):
                _import(db, lambda: tables.add(db, (text or "").encode(), f"{name or 'Pasted runs'}.csv"))


def _import(db: Database, add: Callable[[], tables.TableInfo]) -> None:
    table = add()
    st.session_state["uploads"] += 1
    st.session_state["known_table"] = table.id if table.known else ""
    open_table(table.id)
    st.rerun()


MOST = 200
"""Maximum number of excluded training curves that the page lists."""


def show_curves(db: Database, table: TableInfo, where: str) -> None:
    """Show an upload field for training curves, and the columns and curves of a selected curve table of ``table``."""
    uploaded = {t.id: t for t in tables.curves_of(db, table.id)}
    with st.expander("Add training curves", expanded=not uploaded, icon=":material/upload_file:"):
        add_curves(db, table)
    label = "Use the rows of this table as curves"
    if not uploaded and tables.roles(db, table.id).rows != "all" and st.button(label, key=f"curves_within_{table.id}"):
        with sentences():
            tables.curves_within(db, table.id)
            st.rerun()
    if not uploaded:
        st.info(
            "Three laws (envelope, critical batch and overfitting threshold) need training curves: one row per point, "
            "with run, step and loss.",
            icon=":material/info:",
        )
        return
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    names = distinct({i: one.name for i, one in uploaded.items()})
    chosen = uploaded[left.selectbox("Curve table", list(uploaded), format_func=names.__getitem__, key="curve_table")]
    with right.container(horizontal=True, horizontal_alignment="right"):
        rename = lambda name: tables.rename(db, chosen.id, name)  # noqa: E731
        manage(chosen.id, chosen.name, rename, lambda: tables.delete(db, chosen.id))
    with st.expander("Roles of the columns of this curve table", icon=":material/table_chart:"):
        ask_readings(db, chosen, tables.columns(db, chosen.id))
        edit_mapping(db, chosen, tables.columns(db, chosen.id))
    with sentences():
        snapshot, runs = runs_of(db, table, where)
        _about(curves_of(db, chosen, snapshot, runs), chosen)


def _about(found: Curves, table: TableInfo) -> None:
    """Show how many training curves there are, notes on the curves, a figure, and the reasons for excluded curves."""
    bad = found.marks != ""
    st.caption(f"{plural(len(found), 'curve')} in {plural(table.rows, 'point')}; {int(bad.sum()):,} left out.")
    for note in found.notes:
        st.info(escape_markdown(note), icon=":material/info:")
    targets = [y for y in ("loss", *(m.column for m in found.roles.metrics)) if y in found]
    if not targets:
        st.info("No column of the curves is mapped to the loss or a metric: map one above.", icon=":material/info:")
        return
    y = targets[0] if len(targets) == 1 else st.selectbox("Metric to draw", targets, key=f"curve_y_{table.id}")
    draw(lambda theme: curves.draw_curves(found, y, theme), key=f"curves_{table.id}")
    if bad.any():
        named = zip(found.names[bad][:MOST].tolist(), found.marks[bad][:MOST].tolist(), strict=True)
        st.dataframe(
            [{"Run": name, "Left out": why} for name, why in named],
            hide_index=True,
            alt="Curves that are left out, with the reason.",
        )
