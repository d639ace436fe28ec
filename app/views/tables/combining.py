"""Combine the runs of the open table with those of another table in a new table."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.parts import distinct, sentences
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.combined import combine
from isoplan.engine.store.tables.tables import TableInfo


def offer(db: Database, table: TableInfo) -> None:
    """Show the choice of another table, and a button that combines its runs with those of ``table`` in a new table.

    Nothing is shown for a bundled table, or if there is no other table. After the click, the new table is opened.
    """
    others = sorted((t for t in tables.all(db) if t.id != table.id), key=lambda t: t.read_only)
    if table.read_only or not others:
        return
    names = distinct({t.id: t.name for t in others})
    with st.expander("Add the runs of another table", icon=":material/merge:"):
        st.caption("Makes a new table with the runs of both tables. These two tables do not change.")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            key = f"other_table_{table.id}"
            other = st.selectbox("Other table", list(names), format_func=names.__getitem__, key=key)
            pressed = st.button("Combine tables", key=f"combine_{table.id}")
        if pressed and other:
            with sentences(), st.spinner("Combining the tables"):
                open_table(combine(db, table.id, other).id)
                st.rerun()
