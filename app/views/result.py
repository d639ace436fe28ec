"""A fit on the page: formula, parameters with intervals, derived numbers, doubts, residuals."""

from __future__ import annotations

import json

import streamlit as st

from app.views.cached import saved_fit
from app.views.parts import plain, plural
from engine.fitting import text
from engine.fitting.cards import to_json
from engine.fitting.result import Fit
from engine.quantities import rounded
from engine.store.database import Database


def show(db: Database, fit_hash: str) -> None:
    """The saved fit called ``fit_hash``, or what to do to get one."""
    if not fit_hash:
        with st.container(border=True, height=320, vertical_alignment="center", horizontal_alignment="center"):
            st.markdown("**No fit yet**", text_alignment="center")
            st.caption("Choose a law on the left and press Fit; every fit is saved here.", text_alignment="center")
        return
    fit = saved_fit(db, fit_hash)
    st.subheader(fit.law.title, anchor=False)
    st.latex(fit.law.latex)
    for warning in fit.warnings:
        st.warning(plain(warning.text), icon=":material/warning:")
    _parameters(fit)
    _about(fit)
    _go_on(fit, fit_hash)


def _parameters(fit: Fit) -> None:
    st.table(
        [_row(row) for row in text.rows(fit)],
        border="horizontal",
        hide_index=True,
        alt="Parameters and derived numbers with their standard errors and intervals.",
    )


def _row(row: text.Row) -> dict[str, str]:
    value, ends = row["value"], (row["low 68 %"], row["high 68 %"])
    known = None if None in ends else ends
    return {
        "": row["parameter"],
        "Value": row["text"] if row["text"].startswith("fixed") else rounded(value, known),
        "68 %": _ends(row, 68, value),
        "95 %": _ends(row, 95, value),
        "What it is": row["meaning"] + (f" [{row['unit']}]" if row["unit"] else ""),
    }


def _ends(row: text.Row, level: int, value: float) -> str:
    low, high = row[f"low {level} %"], row[f"high {level} %"]
    if low is None or high is None:
        return "none"
    known = (row["low 68 %"], row["high 68 %"])
    return f"{rounded(low, known)} to {rounded(high, known)}"


def _about(fit: Fit) -> None:
    objective = "" if fit.objective is None else f" Objective {fit.spec.objective}: {fit.objective:.6g}, summed."
    refits = f"{plural(len(fit.resamples), 'refit')}, seed {fit.spec.seed}" if len(fit.resamples) else "no refits"
    where = f" where {plain(fit.data.where)}" if fit.data.where else ""
    st.caption(f"{plural(fit.n, 'run')} of {plain(fit.data.source)}{where}; {refits}.{objective} {fit.compute.text}.")


def _go_on(fit: Fit, fit_hash: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link("views/explore.py", label="Explore", query_params={"fit": fit_hash}, icon=":material/landscape:")
        st.page_link("views/plan.py", label="Plan", query_params={"fit": fit_hash}, icon=":material/flag:")
        st.download_button(
            "Fit as JSON",
            lambda: json.dumps(to_json(fit), indent=2),
            f"fit-{fit_hash}.json",
            "application/json",
            icon=":material/download:",
            on_click="ignore",
        )
