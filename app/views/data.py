"""Data: upload a table, map its columns, view its runs, and exclude single runs with a reason."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app import workspace
from isoplan.app.views.tables import growing, questions, rows, runs, upload
from isoplan.app.views.tables.mapping import edit_mapping
from isoplan.app.views.tables.rows import row_filter
from isoplan.app.views.tables.upload import add_table
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import escape_markdown, heading, plural, sentences
from isoplan.app.views.widgets.saved_items import deleted, manage
from isoplan.app.views.widgets.state import choose_table, open_table, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import condition, tables
from isoplan.engine.store.tables.tables import TableInfo

MOST_ASKED = 200_000
"""Maximum number of rows of a table for which this page reads the runs and asks questions about them, such as how to
fit two datasets in one column. More rows would make the page slow. The page Fit asks for tables of every size.
"""


def about(table: TableInfo) -> DeltaGenerator:
    """Show the source of ``table`` and the notes of its import.

    Returns the empty container for the badge with the number of runs.
    """
    left, right = st.columns([4, 1], vertical_alignment="center")
    with left.container(horizontal=True, vertical_alignment="center"):
        count = st.container(width="content")
        if table.read_only:
            st.badge("Comes with Isoplan, read-only", color="gray", icon=":material/lock:")
        if cell_index.family_of(table):
            growing.follow(db, table)
        else:
            st.caption(f"SHA-256 {table.sha256[:12]}, imported {table.created:%d %b %Y %H:%M} UTC")
    with right.container(horizontal=True, horizontal_alignment="right"):
        if not table.read_only:
            manage(table.id, table.name, lambda name: tables.rename(db, table.id, name), lambda: put_away(db, table.id))
    if table.provenance:
        st.caption(escape_markdown(table.provenance))
    if st.session_state.pop("known_table", "") == table.id:
        st.info(f"This file is already in the workspace, as {escape_markdown(table.name)}.", icon=":material/info:")
    for note in table.notes:
        st.info(escape_markdown(note), icon=":material/info:")
    return count


def counted(table: TableInfo, where: str) -> str:
    """Return the number of runs of the table as text, such as ``48 runs``, or ``12 of 48 runs`` with a filter.

    ``where`` is the filter. If several rows are one run, rows are counted instead of runs.
    """
    several = tables.roles(db, table.id).rows != "all"
    whole = plural(table.rows, "row" if several else "run")
    return f"{len(condition.matching_rows(db, table.id, where)):,} of {whole}" if where else whole


def bring_back(db: Database, table_id: str) -> None:
    """Restore a deleted table and open it. For a deleted curve table, open the run table to which it belongs."""
    table = tables.restore(db, table_id)
    open_table(table.runs_id or table.id)


def put_away(db: Database, table_id: str) -> None:
    """Delete a table and close it, so that the page opens with another table."""
    tables.delete(db, table_id)
    remember("table", "")


db = workspace.current()
heading("Data", "Upload a table of training runs, check the roles of its columns and view the runs.")
left, right = st.columns([2, 1], vertical_alignment="bottom")
with left:
    table = choose_table(db)
own = [t for t in tables.all(db) if not t.read_only]
with st.expander("Add a table", expanded=table is None or not own, icon=":material/upload_file:"):
    add_table(db, "data")
if table is not None:
    count = about(table)
    columns = tables.columns(db, table.id)
    where = row_filter(table, columns)
    with sentences():
        count.badge(counted(table, where), color="blue")
    if table.rows <= MOST_ASKED:
        with suppress(PlannerError):  # the tab Runs shows why the runs cannot be read
            questions.ask(db, table, runs_of(db, table, where)[1])
    names = ["Columns", "Runs", "Curves", "Agreement", "Rows"]
    tab_columns, tab_runs, tab_curves, tab_agreement, tab_rows = st.tabs(
        names, key="show", on_change="rerun", bind="query-params"
    )
    if tab_columns.open:
        with tab_columns:
            edit_mapping(db, table, columns)
            rows.columns_table(columns)
    if tab_runs.open:
        with tab_runs, sentences():
            runs.show(db, table, where)
    else:
        growing.choosing(table.id, ())
    if tab_curves.open:
        with tab_curves, sentences():
            upload.show_curves(db, table, where)
    if tab_agreement.open:
        with tab_agreement, sentences():
            runs.show_agreement(db, table, where)
    if tab_rows.open:
        with tab_rows, sentences():
            rows.show(db, table, columns, where)
gone = {t.id: t.name for t in tables.all(db, deleted=True) if not t.read_only}
deleted("tables", gone, lambda key: bring_back(db, key))
