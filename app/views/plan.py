"""Page Plan: the best model for a budget, or the cost of a target. Each question has its own section of the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from isoplan.app import workspace
from isoplan.app.views.planning import compare, planner_question, question
from isoplan.app.views.widgets.parts import heading
from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import Database

SECTIONS: dict[str, Callable[[Database], None]] = {
    "Budget or target": question.show,
    **{one.title: partial(planner_question.show, question=one) for one in find_questions().values()},
    "Compare": compare.show,
}
"""Functions that draw the sections of the page, by title. The URL stores the open section as ``question``."""

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
