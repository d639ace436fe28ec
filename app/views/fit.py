"""Page Fit: choose a law for the runs of a table, fit the law, and view the result with intervals and warnings."""

from __future__ import annotations

from typing import Literal

import streamlit as st
from streamlit.elements.lib.grid_container import GridContainer

from isoplan.app import workspace
from isoplan.app.views.fits import history, left_out, result
from isoplan.app.views.fits.fitting import REQUESTED, make_fit
from isoplan.app.views.fits.history import OPENED, fill_form
from isoplan.app.views.fits.spec_form import choose_curve_spec, choose_curves, choose_spec
from isoplan.app.views.planning import first_cells
from isoplan.app.views.tables import questions
from isoplan.app.views.tables.rows import filter_note
from isoplan.app.views.tables.upload import add_table
from isoplan.app.views.widgets.cache import runs_of
from isoplan.app.views.widgets.parts import heading, progress_bar, sentences
from isoplan.app.views.widgets.scopes import link_names
from isoplan.app.views.widgets.state import choose_table, fit_of, follow_link, newest_fit, recall, remember
from isoplan.engine.store.tables.tables import TableInfo

OFFERED = "newest_fit_opened"
"""Session key of the id of the table that the page showed last.

The newest fit of a table is opened only when the page changes to this table. Therefore a fit that the user closes stays
closed.
"""


def open_newest(table: TableInfo) -> None:
    """Open the newest fit of ``table`` when the page changes to this table.

    No fit is opened if a fit is already open, or if the URL contains parameters in addition to the table.
    """
    offered = st.session_state.get(OFFERED)
    st.session_state[OFFERED] = table.id
    if recall("fit") or offered == table.id or link_names() - {"table"}:
        return
    if newest := newest_fit(db, table.id):
        st.session_state[OPENED] = newest
        st.rerun()


def choose_and_fit(table: TableInfo, grid: GridContainer) -> None:
    """Show the form for a fit to the runs of ``table``, and the button that fits the law.

    The predicted quantity and the law are shown in ``grid``, and all other settings below the button. If the user
    opened this page with the button "Fit law" of the page Data, the law is fitted once without a click. If no run
    is left, only the reason is shown.
    """
    where = filter_note(table)
    snapshot, runs = runs_of(db, table, where)
    left_out.warn(db, table, runs)
    if len(runs) == 0:
        return
    questions.ask(db, table, runs)
    curves = choose_curves(db, table, snapshot, runs)
    main = st.container()
    more = st.expander("More settings", icon=":material/tune:")
    with main:
        spec = choose_spec(runs, table, grid, more) if curves is None else choose_curve_spec(curves, grid, more)
        done = spec is not None and bool(recall("fit")) and fit_of(db, recall("fit")).spec == spec
        look: Literal["primary", "secondary"] = "secondary" if done else "primary"
        if spec is None:
            return
        pressed = st.button("Fit law", type=look, icon=":material/play_arrow:", key="fit_law")
        if pressed or st.session_state.get(REQUESTED) == table.id:
            made = ""
            with progress_bar("Fitting") as progress, sentences():
                made = make_fit(db, table, where, spec, progress, curves)
            st.session_state.pop(REQUESTED, None)
            if made:
                remember("fit", made)
                st.rerun()
            first_cells.link(table, runs, spec.y)


db = workspace.current()
heading("Fit", "Fit a scaling law to runs, with intervals from resampled runs.")
with sentences():
    fill_form(db)
follow_link(db)
cells = st.grid(3, min_column_width=190)
with cells.cell():
    table = choose_table(db)
if table is None:
    add_table(db, "fit")
else:
    open_newest(table)
    with sentences():
        choose_and_fit(table, cells)
remember("fit", recall("fit"))
with sentences():
    result.show(db, recall("fit"), table)
history.show(db, table)
