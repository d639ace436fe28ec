"""Budget or target: a question typed as people say it, an answer that a manager can read, and what it rests on."""

from __future__ import annotations

import math

import streamlit as st

from app.views.parts import plain, sentences
from app.views.planning import answer, pricing
from app.views.state import choose_fit, keep_possible
from engine.fitting.result import Fit
from engine.planning import Plan, plan_budget, plan_target
from engine.planning.curves import UNKNOWN_C
from engine.planning.plan import spans
from engine.planning.prices import Prices
from engine.quantities import parse_flops, parse_number, power10
from engine.store.database import Database


def show(db: Database) -> None:
    """The law, the question, and its answer."""
    with sentences():
        fit = choose_fit(db)
        if fit is None:
            st.page_link("views/fit.py", label="Fit a law first", icon=":material/show_chart:")
        elif (plan := ask(fit)) is not None:
            answer.show(db, fit, plan)
    answer.saved(db)


def ask(fit: Fit) -> Plan | None:
    """The question, as a sentence with a blank, and its answer; None while the blank is empty."""
    left, right = st.columns([1, 2])
    ways = ["Budget", "Target"] if fit.law.frontier is not None else ["Target"]
    keep_possible("ask", ways)
    way = left.segmented_control("I have a", ways, default=ways[0], required=True, key="ask", bind="query-params")
    place, prices = right.container(), pricing.ask()
    with place:
        return _budget(fit, prices) if way == "Budget" else _target(fit, prices)


def _budget(fit: Fit, prices: Prices | None) -> Plan | None:
    top = spans(fit).get("C", UNKNOWN_C)[1]
    text = st.text_input(
        "What do I train with a compute budget of ... ?",
        f"1e{round(math.log10(top))}",
        key="budget",
        bind="query-params",
        max_chars=100,
        help="1e20, 10^20, 3 ZFLOP, 5 PFLOP/s-days, or 200 H200 hours, at 40 % of the peak unless you say at 35 %.",
    )
    if not text:
        return None
    reading = parse_flops(text)
    note = f": {plain(reading.note)}" if reading.note else ""
    st.caption(f"Read as {power10(reading.value)} FLOPs{note}.")
    return plan_budget(fit, reading.value, prices=prices)


def _target(fit: Fit, prices: Prices | None) -> Plan | None:
    best = spans(fit).get("loss")
    text = st.text_input(
        f"What does it cost to reach a {plain(fit.spec.y)} of ... ?",
        key="target",
        bind="query-params",
        max_chars=100,
        placeholder=f"the best run has {best[0 if fit.sign > 0 else 1]:.4g}" if best else "for example 2.0",
    )
    st.caption("The least compute that reaches it, and the probability that anything does.")
    if not text:
        return None
    return plan_target(fit, parse_number(text, f"target {fit.spec.y}"), prices=prices)
