"""Input fields that several questions of the Plan page use: the choice of budget or target, and the field of each."""

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
    """Show the choice of "Budget" or "Target" and return the chosen one.

    A law without a frontier allows only "Target". The choice in the link is then not changed, so that another fit uses
    it.
    """
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

    The field starts with the largest budget that the runs support, rounded to a power of ten.
    """
    field, start = FIELDS["budget"], f"1e{round(math.log10(budgets(fit)[1]))}"
    return blank(field.label, start, field.name, 150, hint=field.hint)


def own_target(db: Database, fit: Fit, quantity: str) -> None:
    """Store that the typed target is a value of ``quantity`` (a column name) for the task of ``fit``.

    If it was typed for another quantity or task, the target is removed from the page.
    """
    belong("target", f"{owner_of_fit(db, fit.hash)} {quantity}", remembered=("target",))


def target_blank(db: Database, fit: Fit, label: str, quantity: str, hint: str) -> str:
    """Show the input field of a target of ``quantity`` and return its text.

    A target that was typed for another quantity or another task is not shown.
    """
    own_target(db, fit, quantity)
    return blank(label, "", "target", 150, hint=hint)
