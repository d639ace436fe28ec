"""Common parts of the questions of a plan: the choice of budget or target, and their input fields."""

from __future__ import annotations

import math

import streamlit as st

from isoplan.app.views.widgets.inputs import blank
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import owner_of_fit, remember_typed, typed
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.support import budgets
from isoplan.engine.planning.scenario.fields import FIELDS
from isoplan.engine.store.database.database import Database

WAYS = ("Budget", "Target")


def choose_way(fit: Fit) -> str:
    """Return budget or target. A law without a frontier only allows targets; the link is unchanged then."""
    if fit.law.frontier is None:
        return WAYS[1]
    way = typed("ask", WAYS[0])
    if way not in WAYS:
        way = WAYS[0]
        remember_typed("ask", way, WAYS[0])
    st.session_state["ask"] = way
    return str(
        st.segmented_control(
            "Budget or target", WAYS, required=True, key="ask", label_visibility="collapsed", width="content",
            on_change=lambda: remember_typed("ask", st.session_state["ask"] or WAYS[0], WAYS[0]),
        )
    )  # fmt: skip


def budget_blank(fit: Fit) -> str:
    """Show the input field of a budget and return its text.

    The initial value is the largest budget that the runs support, as a power of ten.
    """
    field, start = FIELDS["budget"], f"1e{round(math.log10(budgets(fit)[1]))}"
    return blank(field.label, start, field.name, 150, hint=field.hint)


def own_target(db: Database, fit: Fit, quantity: str) -> None:
    """State that the target belongs to ``quantity`` (a column name) and to the task of ``fit``."""
    belong("target", f"{owner_of_fit(db, fit.hash)} {quantity}", remembered=("target",))


def target_blank(db: Database, fit: Fit, label: str, quantity: str, hint: str) -> str:
    """Show the field of a target of ``quantity``. A target of another quantity or task is not shown."""
    own_target(db, fit, quantity)
    return blank(label, "", "target", 150, hint=hint)
