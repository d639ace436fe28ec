"""Explore: the loss surface, the iso-FLOP curves, the frontier and the slices of one fitted law."""

from __future__ import annotations

import streamlit as st

from app import workspace
from app.views.parts import heading, sentences
from app.views.pictures import pictures
from app.views.state import choose_fit

db = workspace.current()
heading("Explore", "What the fitted law says between the runs and beyond them.")
with sentences():
    fit = choose_fit(db)
    if fit is not None:
        pictures(db, fit)
    else:
        st.page_link("views/fit.py", label="Fit a law first", icon=":material/show_chart:")
