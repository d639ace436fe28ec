"""Laws of amplitude surrogates, published and trained: exponents compared with the bound, and a table of all laws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from isoplan.app.amplitude_cells import of_workspace
from isoplan.app.figures.amplitudes import exponents as exponents_figure
from isoplan.app.views.widgets.parts import draw
from isoplan.data.amplitudes import published_exponents, published_laws, trained_along
from isoplan.engine.planning.amplitude import PublishedLaw, TrainedCell
from isoplan.engine.planning.amplitude.cell_law import DataExponent, Name, exponents
from isoplan.engine.planning.amplitude.compared import TrainedLaw, side_by_side, trained_laws
from isoplan.engine.quantities import count
from isoplan.engine.store.database.database import Database

Row = dict[str, str | float | None]
FITTED: dict[str, Name] = {"α": "alpha", "X_c": "X_c", "K": "K"}
SHOWN = (
    *("Process", "X", "Held", "α, paper", "α, ours", "α, ours from", "α, ours to"),
    *("X_c, paper", "X_c, ours", "X_c, ours from", "X_c, ours to"),
    *("K, paper", "K, ours", "K, ours from", "K, ours to", "Target", "Network", "Table"),
)
"""Columns in order: exponents first, because the table is wider than small screens."""


@st.cache_resource(max_entries=8, show_spinner="Fitting the laws of trained cells")
def _exponents(cells: tuple[TrainedCell, ...]) -> tuple[DataExponent, ...]:
    return exponents(cells)


@st.cache_resource(max_entries=8, show_spinner="Fitting the laws of trained cells")
def _laws(cells: tuple[TrainedCell, ...]) -> pd.DataFrame:
    return laws_table(trained_laws(cells, trained_along("N"), trained_along("C")))


def show(db: Database) -> None:
    """Show the exponents of all processes, the bound that a plan from one anchor assumes, and all laws."""
    cells = of_workspace(db)
    with st.expander("Exponents of all processes", icon=":material/scatter_plot:"):
        draw(partial(exponents_figure.draw_exponents, published_exponents(), _exponents(cells)), key="exponents")
        st.caption(
            "Exponent of D in K + (X_c / D)^α, for a network of 10⁵ parameters (amplitudes, Fig. 10) and for trained "
            "cells that D limits. Their losses have an error of 10 %, or their scatter around the law if it is "
            "larger. Above the line, the bound 4/d is conservative."
        )
    with st.expander("Laws of all processes", icon=":material/table:"):
        found = _laws(cells)
        numbers = {name: st.column_config.NumberColumn(format="%.3f" if name.startswith("α") else "%.2e")
                   for name in map(str, found) if "," in name}  # fmt: skip
        st.dataframe(found, hide_index=True, column_config=numbers, height=420, placeholder="",
                     alt="Published laws and laws of trained cells.")  # fmt: skip
        st.caption(
            "Laws K + (X_c / X)^α of X at a fixed value of the other axis, from the paper (amplitudes, Tables 2 to "
            "15) and from trained cells. The 68 % intervals assume losses with an error of 10 %, or their scatter "
            "around the law if it is larger. The paper seems to count one FLOP per parameter and point and Isoplan "
            "counts six, so X_c in C differs by about a factor of six."
        )


def laws_table(ours: Sequence[TrainedLaw]) -> pd.DataFrame:
    """Return one row per law, trained and published side by side; without trained laws only the published ones."""
    found = pd.DataFrame([_named(p, o) | _printed(p) | _fitted(o) for p, o in side_by_side(published_laws(), ours)])
    return found[list(SHOWN)] if ours else found[[name for name in SHOWN if name not in _fitted(None)]]


def _named(published: PublishedLaw | None, ours: TrainedLaw | None) -> Row:
    if published is not None:
        target = "raw" if published.raw else "log"
        return {"Process": published.process, "X": published.axis, "Held": published.held, "Target": target,
                "Network": published.network, "Table": published.table}  # fmt: skip
    assert ours is not None
    held = f"{'N' if ours.axis == 'D' else 'D'} = {count(ours.held)}"
    return {"Process": ours.process, "X": ours.axis, "Held": held, "Target": "raw" if ours.raw else "log",
            "Network": ours.network, "Table": ""}  # fmt: skip


def _printed(law: PublishedLaw | None) -> Row:
    return {f"{shown}, paper": None if law is None else float(law.fit.values[name]) for shown, name in FITTED.items()}


def _fitted(ours: TrainedLaw | None) -> Row:
    found: Row = {}
    for shown, name in FITTED.items():
        low, high = (None, None) if ours is None else ours.law.interval(name)
        found |= {
            f"{shown}, ours": None if ours is None else ours.law.value(name),
            f"{shown}, ours from": low,
            f"{shown}, ours to": high,
        }
    return found
