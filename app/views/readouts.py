"""A plan in a row of numbers: N, D, C, the loss, and the samples a parameter."""

from __future__ import annotations

import streamlit as st

from engine.planning import Plan
from engine.planning.text import between, number

TITLES = {"C": "C", "N": "N*", "D": "D*", "loss": "L*", "D/N": "D* / N*"}


def readouts(plan: Plan) -> None:
    """The numbers of ``plan`` with their 68 % intervals; what lies beyond the runs says by how many decades."""
    shown = {**plan.allocation, **plan.derived}
    grid = st.grid(5, min_column_width=130)
    for name, title in TITLES.items():
        if name not in shown:
            continue
        q = shown[name]
        spread = None if q.note == "given" else f"{between(q, q.ci68)} (68 %)" if q.ci68 else q.note or "no interval"
        beyond = f", {q.beyond:.1f} decades beyond the runs" if q.beyond > 0.05 else ""
        unit = plan.y if name == "loss" else "" if name == "D/N" else q.unit
        grid.metric(
            f"{title} [{unit}]" if unit else title,
            number(q) if q.value is not None else "none",
            None if spread is None else spread + beyond,
            delta_color="off",
            delta_arrow="off",
        )
