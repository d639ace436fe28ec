"""Data: bring a table in, say what its columns mean, look at the runs, leave some out with a reason."""

from __future__ import annotations

import streamlit as st

from app import workspace
from app.views import rows, runs
from app.views.filters import row_filter
from app.views.mapping import edit_mapping
from app.views.parts import heading, plain, plural, sentences
from app.views.state import choose_table, open_table, remember
from app.views.upload import add_table
from engine.store import tables
from engine.store.database import Database
from engine.store.tables import TableInfo


def about(table: TableInfo) -> None:
    """What this table is: rows, where it comes from, what its import had to say."""
    left, right = st.columns([4, 1], vertical_alignment="center")
    with left.container(horizontal=True, vertical_alignment="center"):
        st.badge(plural(table.rows, "run"), color="blue")
        if table.read_only:
            st.badge("Comes with Isoplan, read-only", color="gray", icon=":material/lock:")
        st.caption(f"SHA-256 {table.sha256[:12]}, imported {table.created:%d %b %Y %H:%M} UTC")
    with right.container(horizontal=True, horizontal_alignment="right"):
        if not table.read_only:
            manage(table)
    if table.provenance:
        st.caption(plain(table.provenance))
    if st.session_state.pop("known_table", "") == table.id:
        st.info(f"The same bytes were here already, as {plain(table.name)}.", icon=":material/info:")
    for note in table.notes:
        st.info(plain(note), icon=":material/info:")


def manage(table: TableInfo) -> None:
    """Rename and delete; a deleted table can be restored from the foot of the page."""
    with st.popover("Manage", icon=":material/more_horiz:"):
        with st.form(f"rename_{table.id}", border=False):
            name = st.text_input("Name", table.name, max_chars=120)
            if st.form_submit_button("Rename"):
                with sentences():
                    tables.rename(db, table.id, name or "")
                    st.rerun()
        if st.button("Delete this table", icon=":material/delete:", key=f"delete_{table.id}"):
            with sentences():
                tables.delete(db, table.id)
                remember("table", "")
                st.rerun()


def deleted(db: Database) -> None:
    """Deleted tables, each with the button that restores it."""
    gone = tables.all(db, deleted=True)
    if not gone:
        return
    with st.expander(f"Deleted tables ({len(gone)})"):
        for t in gone:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(plain(t.name))
                if st.button("Restore", key=f"restore_{t.id}"):
                    tables.restore(db, t.id)
                    open_table(t.id)
                    st.rerun()


db = workspace.current()
heading("Data", "Bring a table of training runs, say what its columns mean, look at the runs.")
left, right = st.columns([2, 1], vertical_alignment="bottom")
with left:
    table = choose_table(db)
own = [t for t in tables.all(db) if not t.read_only]
with st.expander("Add a table", expanded=table is None or not own, icon=":material/upload_file:"):
    add_table(db, "data")
if table is not None:
    about(table)
    columns = tables.columns(db, table.id)
    where = row_filter(table, columns)
    names = ["Columns", "Runs", "Rows"]
    tab_columns, tab_runs, tab_rows = st.tabs(names, key="show", on_change="rerun", bind="query-params")
    if tab_columns.open:
        with tab_columns:
            edit_mapping(db, table, columns)
            rows.columns_table(columns)
    if tab_runs.open:
        with tab_runs, sentences():
            runs.show(db, table, where)
    if tab_rows.open:
        with tab_rows, sentences():
            rows.show(db, table, columns, where)
deleted(db)
