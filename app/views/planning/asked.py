"""Input fields that several questions of the Plan page use: budget, target, and a choice between the two."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.inputs import blank, words
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import owner_of_fit, remember_typed, typed
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.start import largest_inside, usual_target
from isoplan.engine.planning.questions.typed_plan import OURS
from isoplan.engine.planning.scenario.fields import FIELDS, Field
from isoplan.engine.store.database.database import Database

WAYS = ("Budget", "Target")
SHORT = 100
"""Width of a short input field in pixels."""


def choose_way(fit: Fit) -> str:
    """Show the choice of "Budget" or "Target" and return the chosen one.

    A law without a frontier (the optimal N and D for each budget) allows only "Target". The choice in the URL then
    stays unchanged and applies again when a fit with a frontier is selected.
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


def as_budget(C: float) -> str:
    """Return a number of FLOPs in the form that a user types, such as 1.12e20."""
    return f"{C:.3g}".replace("e+", "e")


@st.cache_resource(max_entries=200, show_spinner=False)
def _starts(fit_hash: str, _fit: Fit) -> tuple[str, str]:
    """Return the initial text of the budget field and of the target field for a fit.

    The text of the target is empty if the law does not determine the cost of a target.
    """
    target = "" if _fit.law.least_compute is None else f"{usual_target(_fit):g}"
    return as_budget(largest_inside(_fit)), target


def budget_blank(fit: Fit) -> str:
    """Show the input field of a budget and return its text.

    The initial value is the largest budget for which the planned N, D and C are inside the ranges of the runs.
    """
    field = FIELDS["budget"]
    return blank(field.label, _starts(fit.hash, fit)[0], field.name, 150, hint=field.hint)


def typed_budget(fit: Fit) -> str:
    """Return the typed budget, even before its field is drawn; "" if the question has a target instead of a budget."""
    if fit.law.frontier is None or typed("ask", WAYS[0]) == WAYS[1]:
        return ""
    return typed("budget", "")


def own_values(db: Database, fit: Fit) -> None:
    """Assign the typed budget and the user's own plan (N and D) to the task of ``fit``.

    Values that were typed for another task are removed from the page.
    """
    belong("plan", owner_of_fit(db, fit.hash), remembered=("budget", *OURS))


def own_target(db: Database, fit: Fit, quantity: str) -> None:
    """Store that the typed target is a value of ``quantity`` (a column name) for the task of ``fit``.

    A target that was typed for another quantity or another task is removed from the page.
    """
    belong("target", f"{owner_of_fit(db, fit.hash)} {quantity}", remembered=("target",))


def target_blank(db: Database, fit: Fit, label: str, quantity: str, start: str = "") -> str:
    """Show the input field of a target of ``quantity`` and return its text.

    The initial value is ``start``. Without ``start``, it is a value that the law predicts for the largest budget inside
    the ranges of the runs. A target that was typed for another quantity or another task is not shown.
    """
    own_target(db, fit, quantity)
    return blank(label, start or _starts(fit.hash, fit)[1], "target", 150)


def own_blank(field: Field, unit: str) -> str:
    """Show an input field between its two labels; return its text. ``unit`` is the name of a training sample."""
    before = field.label if field.before is None else field.before
    if before:
        words(escape_markdown(before))
    typed = blank(field.label, field.start, field.link or field.name, SHORT, field.hint)
    if field.after:
        words(escape_markdown(field.after.format(unit=unit)))
    return typed
