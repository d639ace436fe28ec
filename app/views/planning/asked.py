"""What the questions of a plan have in common: budget or target, and the blank of a target."""

from __future__ import annotations

import streamlit as st

from app.views.blanks import blank
from app.views.state import keep_possible, recall
from engine.fitting.result import Fit

WAYS = ("Budget", "Target")


def choose_way(fit: Fit) -> str:
    """Budget or target; a law without a frontier has only targets, and leaves what the link says as it is."""
    if fit.law.frontier is None:
        return WAYS[1]
    keep_possible("ask", WAYS)
    return str(
        st.segmented_control(
            "Budget or target", WAYS, default=WAYS[0], required=True, key="ask", bind="query-params",
            label_visibility="collapsed", width="content",
        )
    )  # fmt: skip


def target_blank(label: str, quantity: str, hint: str) -> str:
    """The blank of a target of ``quantity``, a column or the hash of a map: what was typed for another is not asked.

    It leaves the blank; only what a link brings stands there until something else is typed.
    """
    of_another = (st.session_state.get("target_of") or recall("map") or quantity) != quantity
    from_link = "target" not in st.session_state
    if of_another and not from_link:
        st.session_state["target"] = ""
    st.session_state["target_of"] = quantity
    typed = blank(label, "", "target", 150, hint=hint)
    if of_another and from_link:
        st.session_state["target_not_asked"] = typed
    return "" if typed == st.session_state.get("target_not_asked") else typed
