"""Fit: choose a law for the runs of a table, fit it, and read what came out, with its intervals and its doubts."""

from __future__ import annotations

import streamlit as st

from app import workspace
from app.views import history, result
from app.views.cached import runs_of
from app.views.filters import filter_note
from app.views.fitting import make_fit
from app.views.parts import heading, plural, progress_bar, sentences
from app.views.spec_form import choose_spec
from app.views.state import choose_table, recall, remember
from app.views.upload import add_table

db = workspace.current()
heading("Fit", "A scaling law through the runs, with intervals from refits of resampled runs.")
left, right = st.columns([2, 5], gap="medium")
with left:
    table = choose_table(db)
    if table is not None:
        where = filter_note(table)
        with sentences():
            _, runs = runs_of(db, table, where)
            st.caption(f"{plural(len(runs), 'run')} to fit.")
            spec = choose_spec(runs, table)
            if spec is not None and st.button("Fit", type="primary", icon=":material/play_arrow:", width="stretch"):
                with progress_bar("Fitting") as progress, sentences():
                    remember("fit", make_fit(db, table, where, spec, progress))
if table is None:
    add_table(db, "fit")
with right, sentences():
    result.show(db, recall("fit"))
history.show(db, table)
