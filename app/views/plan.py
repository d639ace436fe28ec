"""Plan: a question typed as people say it, an answer that a manager can read, and what it rests on."""

from __future__ import annotations

import streamlit as st

from app import workspace
from app.views import answer
from app.views.parts import heading, plain, sentences
from app.views.state import choose_fit
from engine.planning import Plan, plan_budget, plan_target
from engine.quantities import parse_flops, parse_number, power10

ASK = {"budget": "What does a budget buy?", "target": "What does a target cost?"}

db = workspace.current()
heading("Plan", "Ask what a budget buys, or what a target loss costs.")
with sentences():
    fit = choose_fit(db)
    if fit is None:
        st.page_link("views/fit.py", label="Fit a law first", icon=":material/show_chart:")
    else:
        left, right = st.columns([2, 3], vertical_alignment="bottom")
        ask = left.segmented_control(
            "Question", list(ASK), default="budget", format_func=ASK.__getitem__, required=True, key="ask",
            bind="query-params",
        )  # fmt: skip
        if ask == "budget":
            text = right.text_input(
                "With a compute budget of", "1e20", key="budget", bind="query-params", max_chars=100,
                help="1e20, 10^20, 3 ZFLOP, 5 PFLOP/s-days, or 200 H200 hours at 40 %.",
            )  # fmt: skip
            reading = parse_flops(text or "")
            note = "" if reading.note == "FLOPs" else f": {plain(reading.note)}"
            st.caption(f"{power10(reading.value)} FLOPs{note}")
            plan: Plan | None = plan_budget(fit, reading.value)
        else:
            text = right.text_input("To reach a loss of", "", key="target", bind="query-params", max_chars=100)
            plan = plan_target(fit, parse_number(text or "", "target loss")) if text else None
        if plan is not None:
            answer.show(db, fit, plan)
answer.saved(db)
