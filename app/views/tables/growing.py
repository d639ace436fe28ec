"""Run tables that grow while models train: number of unfinished cells, and a refit with all rows.

A cell is one training run. Each finished cell of a family of models becomes a row of the run table of this family.
Other training scripts log rows into tables of logged rows.
"""

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
from isoplan.engine.store.tables.imported_tables import is_imported
from isoplan.engine.store.tables.logged_tables import is_logged
from isoplan.engine.store.tables.tables import TableInfo
from isoplan.trainers.backend.queue.progress import describe_states

EVERY = 2.0
"""Seconds between two checks for new rows."""
CHOOSING = "choosing_in"


def grows(table: TableInfo) -> bool:
    """Return whether rows of ``table`` are cells that Isoplan trains, or rows that training scripts log."""
    return bool(cell_index.family_of(table)) or is_logged(table)


def follow(db: Database, table: TableInfo) -> None:
    """Show the number of unfinished cells (training runs) of ``table``; rerun the page when the table has new rows."""
    _follow(db, table.id, cell_index.family_of(table), table.rows)


@st.fragment(run_every=EVERY)
def _follow(db: Database, table_id: str, family: str, drawn: int) -> None:
    new = tables.get(db, table_id).rows - drawn
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_unfinished(db, family) if family else "New rows appear when they are logged.", width="content")
        if new and (
            st.session_state.get(CHOOSING) != table_id
            or st.button(f"Show {plural(new, 'new row')}", icon=":material/refresh:")
        ):
            st.rerun()


def _unfinished(db: Database, family: str) -> str:
    """Return a sentence with the number of unfinished cells of ``family`` in each state."""
    counts = cell_index.counts(db, family)
    states = describe_states({state: count for state, count in counts.items() if state != "done"})
    return f"Cells that are not finished: {states}." if states else "All cells of this table are finished."


def choosing(table_id: str, rows: Sequence[int]) -> None:
    """Store whether the user has selected runs in the figure. ``rows`` are the rows of the selected runs.

    During a selection, new rows do not rerun the page, because a rerun would clear the selection.
    """
    st.session_state[CHOOSING] = table_id if rows else ""


def offer_refit(db: Database, fit: Fit) -> None:
    """Show the number of table rows that are newer than ``fit``, and a button that repeats the fit with all rows."""
    try:
        table = tables.get(db, snapshots.get(db, fit.data.snapshot).table_id) if fit.data.snapshot else None
    except PlannerError:
        return  # the fit was loaded from a file, without its runs
    if table is not None and (grows(table) or is_imported(table)):
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
    """Mark a fit as opened and rerun the page. The page opens the marked fit before it draws the form."""
    st.session_state[OPENED] = fit_hash
    st.rerun()
