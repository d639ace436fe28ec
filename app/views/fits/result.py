"""A fit on the page: formula, parameters with intervals, derived numbers, doubts, and a tab for each look at it."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.fits import groups, law_card, sections
from isoplan.app.views.planning.metrics import is_map
from isoplan.app.views.tables import questions
from isoplan.app.views.tables.growing import offer_refit
from isoplan.app.views.widgets.parts import escape_markdown, plural, powers, show_warnings
from isoplan.app.views.widgets.state import fit_of
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database.database import Database


def show(db: Database, fit_hash: str) -> None:
    """The saved fit or published law called ``fit_hash``, or what to do to get one."""
    if not fit_hash:
        with st.container(border=True, height=320, vertical_alignment="center", horizontal_alignment="center"):
            st.markdown("**No fit yet**", text_alignment="center")
            st.caption("Choose a law and press Fit; every fit is saved here.", text_alignment="center")
        return
    fit = fit_of(db, fit_hash)
    st.header(
        escape_markdown(f"{fit.law.title}: {fit.data.source}" if fit.data.source else fit.law.title), anchor=False
    )
    st.caption(escape_markdown(f"{fit.law.summary} {fit.law.reference}."))
    offer_refit(db, fit)
    st.latex(fit.law.latex)
    show_warnings(fit.warnings)
    questions.ask_about(db, fit)
    groups.show(db, fit)
    _parameters(fit)
    said = fit.optimum_location
    if said is not None:
        st.markdown(escape_markdown(f"The best {fit.law.axis} is {said.text}."))
    _about(fit)
    _go_on(db, fit, fit_hash)
    sections.show(db, fit)


def _parameters(fit: Fit) -> None:
    symbols = {p.name: p.latex for p in fit.law.params} | {
        d.name: d.latex.partition("=")[0].strip() for d in fit.law.derived
    }
    st.table(
        [_row(row, symbols) for row in fit.rows],
        border="horizontal",
        hide_index=True,
        alt="Parameters and derived numbers with their standard errors and intervals.",
    )


def _row(row: text.Row, symbols: dict[str, str]) -> dict[str, str]:
    unit = f" [{row['unit']}]" if row["unit"] else ""
    return {
        "Symbol": f"${symbols[row['parameter']]}$",
        "Value": _whole(row["text"]),
        "68 %": _span(row, 68),
        "95 %": _span(row, 95),
        "What it is": escape_markdown(row["meaning"] + unit),
    }


def _whole(words: str) -> str:
    """Numbers with powers of ten, kept on one line."""
    return powers(words).replace(" ", "\u00a0")


def _span(row: text.Row, level: int) -> str:
    """An interval with the digits that the terminal prints, zeros at the end kept so that columns line up."""
    low, high = row[f"low {level} %"], row[f"high {level} %"]
    if low is None or high is None:
        return "none"
    return text.ends_in_words((low, high), lambda x: _whole(f"{x:#.4g}".removesuffix(".")))


def _about(fit: Fit) -> None:
    objective = "" if fit.objective is None else f" Objective {fit.spec.objective}: {fit.objective:.6g}, summed."
    refits = f"{plural(len(fit.resamples), 'refit')}, seed {fit.spec.seed}" if len(fit.resamples) else "no refits"
    where = f" where {escape_markdown(fit.data.where)}" if fit.data.where else ""
    made = f"{plural(fit.n, 'run')} of {escape_markdown(fit.data.source)}{where}; {refits}."
    compute = _whole(f"{fit.compute.text}.") if {"N", "D", "C"} & {*fit.law.axes, *fit.law.extra_columns} else ""
    st.caption(f"{made} {fit.interval_source}{objective} {compute}")


def _go_on(db: Database, fit: Fit, fit_hash: str) -> None:
    label = f"Set a target for {escape_markdown(fit.spec.y)}" if is_map(db, fit_hash) else "Plan"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link("views/explore.py", label="Explore", query_params={"fit": fit_hash}, icon=":material/landscape:")
        st.page_link("views/plan.py", label=label, query_params={"fit": fit_hash}, icon=":material/flag:")
        law_card.save(fit, fit_hash)
