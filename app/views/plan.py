"""Plan: what a budget buys and what a target costs, a section a question."""

from __future__ import annotations

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.planning import compare, question, simulate, smaller
from isoplan.app.views.widgets.parts import heading

SECTIONS = {
    "Budget or target": question.show,
    "Simulate or repeat": simulate.show,
    "Smaller for longer": smaller.show,
    "Compare": compare.show,
}
"""What the link holds as ``question``, and what shows it."""

db = workspace.current()
heading("Plan", "Find the best model for a budget, or the cheapest way to a target.")
asked = st.segmented_control(
    "Question",
    list(SECTIONS),
    default=next(iter(SECTIONS)),
    required=True,
    key="question",
    bind="query-params",
    label_visibility="collapsed",
)
SECTIONS[str(asked)](db)
