"""The demo in one click: the first bundled table, fitted with its law, opened on Explore."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.fits.fitting import make_fit
from isoplan.data.catalogue import BUNDLED
from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables


def open_demo(db: Database) -> None:
    """Fit the demo table with its law unless that fit is saved already, and go to Explore with it."""
    demo = BUNDLED[0]
    table = next((t for t in tables.all(db) if t.name == demo.name and t.read_only), None)
    if table is None:
        raise PlannerError("The demo table is not in this workspace: start Isoplan again to load it.")
    with st.spinner("Fitting the demo"):
        saved = make_fit(db, table, "", demo.spec)
    st.switch_page("views/explore.py", query_params={"table": table.id, "fit": saved})
