"""Growing tables: the cells that are still in progress, and a refit of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.fits.fitting import refit
from isoplan.app.views.fits.history import OPENED
from isoplan.app.views.widgets.cache import newer_rows
from isoplan.app.views.widgets.parts import plural, progress_bar, sentences
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo
from isoplan.trainers.backend.queue.progress import STATES

EVERY = 2.0
"""Seconds between two checks of a growing table."""
CHOOSING = "choosing_in"
TO_COME = tuple(state for state in STATES if state != "done")


def follow(db: Database, table: TableInfo) -> None:
    """Show the state of the cells of ``table``; rerun the page if it has more rows than were drawn."""
    _follow(db, table.id, table.source, table.rows)


@st.fragment(run_every=EVERY)
def _follow(db: Database, table_id: str, family: str, drawn: int) -> None:
    counts = cell_index.counts(db, family)
    states = [f"{counts[state]:,} {STATES[state]}" for state in TO_COME if counts.get(state)]
    new = tables.get(db, table_id).rows - drawn
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"Cells that are not finished: {', '.join(states)}." if states else "All its cells are finished."
        st.caption(text, width="content")
        if new and (
            st.session_state.get(CHOOSING) != table_id
            or st.button(f"Show {plural(new, 'new row')}", icon=":material/refresh:")
        ):
            st.rerun()


def choosing(table_id: str, rows: Sequence[int]) -> None:
    """Remember which runs of the figure are selected, because a redraw would clear the selection."""
    st.session_state[CHOOSING] = table_id if rows else ""


def offer_refit(db: Database, fit: Fit) -> None:
    """Show the number of new cells of ``fit``, and the button that fits all of them in the same way."""
    try:
        table = tables.get(db, snapshots.get(db, fit.data.snapshot).table_id) if fit.data.snapshot else None
    except PlannerError:
        return  # the fit was loaded without its runs
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
