"""Input fields of a question: small fields in a sentence that wraps, and sliders over compute and over targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from isoplan.app.views.widgets.state import choose_among, keep_possible, remember_typed, typed
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing.sections import one_axis_curve
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.support import budgets


@contextmanager
def blanks(key: str) -> Iterator[None]:
    """Open the line that contains the words and fields."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"blanks_{key}"):
        yield


def words(text: str) -> None:
    """Show the words between two fields."""
    st.markdown(text, width="content")


def blank(label: str, start: str, key: str, width: int = 130, hint: str = "") -> str:
    """Show a text field; ``label`` is its name for screen readers.

    The text is in the link as ``key``, and each change is an entry of the browser's history.
    """
    st.session_state[key] = typed(key, start)
    return str(
        st.text_input(
            label, key=key, max_chars=100, width=width, placeholder=hint, label_visibility="collapsed",
            on_change=lambda: remember_typed(key, st.session_state[key] or "", start),
        )
    )  # fmt: skip


def named_blank(label: str, options: Sequence[str], name: str, width: int = 180) -> str:
    """Show a selection whose options can change with the evidence; the link contains the choice as ``name``."""
    return choose_among(label, options, name, width=width, label_visibility="collapsed")


BEYOND = 3
"""Decades beyond the runs that the compute slider covers."""
A_DECADE = 20
"""Positions of the compute slider per decade."""
TARGETS = 100


def compute_steps(fit: Fit) -> tuple[list[float], float]:
    """Return budgets in FLOPs for the compute slider, and the initial one.

    Budgets are evenly spaced in log C, from the smallest of the runs to some decades beyond the largest; the initial
    one is in the middle of the runs.
    """
    low, high = budgets(fit)
    first, last = (round(A_DECADE * math.log10(C)) for C in (low, high))
    steps = [10 ** (k / A_DECADE) for k in range(first, last + BEYOND * A_DECADE + 1)]
    return steps, steps[(last - first) // 2]


def target_steps(fit: Fit) -> list[float]:
    """Return targets from close to the floor to the worst value of the runs, with four digits each, hardest first."""
    floor, worst = floor_of(fit).value or 0.0, _worst(fit)
    return list(dict.fromkeys(float(f"{floor + (worst - floor) * k / TARGETS:.4g}") for k in range(1, TARGETS + 1)))


def _worst(fit: Fit) -> float:
    """Return the worst value of the runs; if they are unknown, that of the law at its smallest drawn scale."""
    if fit.worst_run is not None:
        return fit.worst_run
    if fit.law.axis:
        return float(one_axis_curve(fit).loss[0])
    return plan_budget(fit, budgets(fit)[0]).allocation["loss"].value or 1.0


def slide(label: str, steps: Sequence[float], start: float, key: str, show: Callable[[float], str]) -> float:
    """Show a slider over ``steps`` that starts at ``start`` and keeps its displayed value in the link."""
    shown = {show(x): x for x in steps}
    keep_possible(key, shown, show(start))
    return shown[str(st.select_slider(label, list(shown), value=show(start), key=key, bind="query-params"))]
