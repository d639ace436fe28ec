"""The button that reads the rows of a table unchanged, if it was read in a layout such as a pivot table."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.parts import sentences
from isoplan.app.views.widgets.state import open_table
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo


def choose(db: Database, table: TableInfo) -> None:
    """Show a button that imports the file of a table again: with its rows unchanged, or with its layout recognised.

    Nothing is shown for a table that has one row per run in its file. The notes of the table name its layout.
    """
    if not table.layout or table.read_only:
        return
    plain = table.layout == "plain"
    label = "Recognise the layout" if plain else "Read rows unchanged"
    with sentences():
        if st.button(label, key=f"layout_button_{table.id}", type="tertiary", icon=":material/table_convert:"):
            made = tables.reread(db, table.id, "auto" if plain else "plain")
            open_table(made.id)
            st.rerun()
