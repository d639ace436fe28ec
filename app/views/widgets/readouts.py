"""A plan in a row of numbers: N, D, C, the loss, and the samples a parameter."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.planning import Plan
from isoplan.engine.planning.answer.format import between, decades, number
from isoplan.engine.planning.plan.answer import reach_text

TITLES = {"C": "C", "N": "N*", "D": "D*", "loss": "L*", "D/N": "D* / N*"}


def readouts(plan: Plan) -> None:
    """The numbers of ``plan`` with their 68 % intervals; what lies beyond the runs says by how many decades.

    A plan that the runs do not support shows what they support instead.
    """
    if not plan.answers:
        st.info(escape_markdown(plan.sentence), icon=":material/block:")
        return
    shown = {**plan.allocation, **plan.derived}
    grid = st.grid(4, min_column_width=140)
    for name, title in TITLES.items():
        q = shown.get(name)
        if q is None or q.value is None or q.note == "given":
            continue
        unit = escape_markdown(plan.y if name == "loss" else "" if name == "D/N" else q.unit)
        spread = between(q, q.ci68) if q.ci68 else None
        grid.metric(f"{title} [{unit}]" if unit else title, number(q), spread, delta_color="off", delta_arrow="off")
    st.caption(_small_print(plan))


def _small_print(plan: Plan) -> str:
    """What the numbers rest on: their intervals, how far beyond the runs they lie, whether a target can be had."""
    known = any(q.ci68 for q in plan.allocation.values())
    missing = next((q.note for q in plan.allocation.values() if q.note.startswith("no interval")), "no interval")
    parts = ["Under each number its 68 % interval" if known else missing.capitalize()]
    far = [f"{TITLES[n]} {decades(q.beyond)}" for n, q in plan.allocation.items() if q.beyond >= 0.05]
    parts += [f"beyond the runs: {', '.join(far)}"] if far else []
    return escape_markdown(f"{'; '.join(parts)}. {reach_text(plan)}".strip())
