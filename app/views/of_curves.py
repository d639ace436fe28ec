"""How the points lie about a law that was read off training curves: envelope, cells, updates."""

from __future__ import annotations

import streamlit as st

from app.figures import batches, cells, training
from app.views.cached import curves_behind, envelope_of, runs_behind
from app.views.parts import draw
from engine.fitting.result import Fit
from engine.store.database import Database

NO_RUNS = "The runs of this fit are not in this workspace: load its table and fit it there."


def envelope(db: Database, fit: Fit) -> None:
    """The envelope over the curves, or over the runs where there are none."""
    runs = runs_behind(db, fit)
    if runs is None:
        st.caption(NO_RUNS)
        return
    found, curves = envelope_of(fit, runs), curves_behind(db, fit)
    draw(lambda theme: training.envelope(found, fit, curves, theme), key="envelope")


def threshold(db: Database, fit: Fit) -> None:
    """The cells on both sides of the threshold."""
    runs = runs_behind(db, fit)
    if runs is None:
        st.caption(NO_RUNS)
        return
    draw(lambda theme: cells.draw(fit, runs, theme), key="cells")


def updates(db: Database, fit: Fit) -> None:
    """Updates against batch size."""
    runs = runs_behind(db, fit)
    if runs is None:
        st.caption(NO_RUNS)
        return
    draw(lambda theme: batches.draw(fit, runs, theme), key="updates")
