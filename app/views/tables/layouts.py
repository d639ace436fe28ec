"""The layout in which a table was read, such as a pivot table, and the button that reads its rows unchanged."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, sentences
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo


def choose(db: Database, table: TableInfo) -> None:
    """Show how the rows of a file were read, and a button for the other way, which imports the file again.

    Nothing is shown for a table that has one row per run in its file.
    """
    if not table.layout or table.read_only:
        return
    plain = table.layout == "plain"
    text = "The rows of the file are read unchanged." if plain else f"Read as {table.layout}."
    label = "Recognise the layout" if plain else "Read rows unchanged"
    with sentences(), st.container(horizontal=True, vertical_alignment="center", key=f"layout_{table.id}"):
        st.caption(escape_markdown(text), width="content")
        if st.button(label, key=f"layout_button_{table.id}", type="tertiary", icon=":material/table_convert:"):
            made = tables.reread(db, table.id, "auto" if plain else "plain")
            open_table(made.id)
            st.rerun()
