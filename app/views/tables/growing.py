"""Tables that grow while one looks: the cells that are still to come, and the way from a fit to one of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.fits.fitting import refit
from isoplan.app.views.fits.history import OPENED
from isoplan.app.views.training.standing import STATES
from isoplan.app.views.widgets.cache import newer_rows
from isoplan.app.views.widgets.parts import plural, progress_bar, sentences
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo

EVERY = 2.0
"""Seconds between two looks at a table that grows."""
CHOOSING = "choosing_in"
TO_COME = tuple(state for state in STATES if state != "done")


def follow(db: Database, table: TableInfo) -> None:
    """How the cells of ``table`` stand, and the whole page anew when it has more rows than were drawn."""
    _follow(db, table.id, table.source, table.rows)


@st.fragment(run_every=EVERY)
def _follow(db: Database, table_id: str, family: str, drawn: int) -> None:
    counts = cell_index.counts(db, family)
    states = [f"{counts[state]:,} {STATES[state]}" for state in TO_COME if counts.get(state)]
    new = tables.get(db, table_id).rows - drawn
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"Cells beside the finished ones: {', '.join(states)}." if states else "All its cells are finished."
        st.caption(text, width="content")
        if new and (
            st.session_state.get(CHOOSING) != table_id
            or st.button(f"Show {plural(new, 'new row')}", icon=":material/refresh:")
        ):
            st.rerun()


def choosing(table_id: str, rows: Sequence[int]) -> None:
    """Keep in mind which runs of the figure are selected: they would be lost if it were drawn anew."""
    st.session_state[CHOOSING] = table_id if rows else ""


def offer_refit(db: Database, fit: Fit) -> None:
    """Where the cells behind ``fit`` have become more: how many, and the button that fits all of them the same way."""
    try:
        table = tables.get(db, snapshots.get(db, fit.data.snapshot).table_id) if fit.data.snapshot else None
    except PlannerError:
        return  # the fit came without its runs
    if table is not None and cell_index.family_of(table):
        _offer(db, fit)


@st.fragment(run_every=EVERY)
def _offer(db: Database, fit: Fit) -> None:
    new = newer_rows(db, fit.data.snapshot)
    if not new:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"**{plural(new, 'new row')}** since this fit.", width="content")
        pressed = st.button("Refit with all rows", type="primary", icon=":material/refresh:", key=f"refit_{fit.hash}")
    if pressed:
        with sentences(), progress_bar("Fitting") as progress:
            _open(refit(db, fit, progress))


def _open(fit_hash: str) -> None:
    """Open a fit; the page follows in its own run, before it draws the form."""
    st.session_state[OPENED] = fit_hash
    st.rerun()
