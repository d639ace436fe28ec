"""Input fields of a question: short fields within a sentence, a slider for compute, and a slider for targets."""

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
from isoplan.engine.planning.plan.start import largest_inside
from isoplan.engine.planning.plan.support import budgets


@contextmanager
def blanks(key: str) -> Iterator[None]:
    """Open the container of a sentence with input fields; the sentence continues in the next line if it is too long."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"blanks_{key}"):
        yield


def words(text: str) -> None:
    """Show the words of a sentence between two input fields."""
    st.markdown(text, width="content")


def blank(label: str, start: str, key: str, width: int = 130, hint: str = "", labelled: bool = False) -> str:
    """Show a text field within a sentence and return its text.

    ``label`` is the name of the field for screen readers; if ``labelled``, the name is also shown above the field. The
    link contains the text under the name ``key``. Each change is an entry in the history of the browser.
    """
    st.session_state[key] = typed(key, start)
    return str(
        st.text_input(
            label, key=key, max_chars=100, width=width, placeholder=hint,
            label_visibility="visible" if labelled else "collapsed",
            on_change=lambda: remember_typed(key, st.session_state[key] or "", start),
        )
    )  # fmt: skip


def named_blank(label: str, options: Sequence[str], name: str, width: int = 180) -> str:
    """Show a selection within a sentence and return the choice. The link contains the choice under ``name``.

    The options can change between two runs of the page, for example with the evidence.
    """
    return choose_among(label, options, name, width=width, label_visibility="collapsed")


BEYOND = 3
"""Number of decades by which the compute slider extends beyond the largest budget of the runs."""
A_DECADE = 20
"""Number of positions of the compute slider per decade."""
TARGETS = 100


def compute_steps(fit: Fit) -> tuple[list[float], float]:
    """Return the positions of the compute slider in FLOPs, and its initial position.

    The positions are evenly spaced in log C, from the smallest budget of the runs to ``BEYOND`` decades above the
    largest budget. The initial position is the largest compute whose optimum is inside the range of the runs.
    """
    low, high = budgets(fit)
    first, last = (round(A_DECADE * math.log10(C)) for C in (low, high))
    steps = [10 ** (k / A_DECADE) for k in range(first, last + BEYOND * A_DECADE + 1)]
    inside = largest_inside(fit)
    return steps, max((C for C in steps if C <= inside), default=steps[0])


def target_steps(fit: Fit) -> list[float]:
    """Return the positions of the target slider: ``TARGETS`` values with four digits, the hardest first.

    The targets are evenly spaced from just above the floor to the worst value of the runs.
    """
    floor, worst = floor_of(fit).value or 0.0, _worst(fit)
    return list(dict.fromkeys(float(f"{floor + (worst - floor) * k / TARGETS:.4g}") for k in range(1, TARGETS + 1)))


def _worst(fit: Fit) -> float:
    """Return the worst value of the runs.

    If it is not known, return the value of the law at the smallest compute. For a law of one axis, return the value of
    the law at the smallest value on this axis.
    """
    if fit.worst_run is not None:
        return fit.worst_run
    if fit.law.axis:
        return float(one_axis_curve(fit).loss[0])
    return plan_budget(fit, budgets(fit)[0]).allocation["loss"].value or 1.0


def slide(label: str, steps: Sequence[float], start: float, key: str, show: Callable[[float], str]) -> float:
    """Show a slider over ``steps`` and return its value; ``show`` converts a value to text.

    The slider starts at ``start``. The link contains the value as text under the name ``key``.
    """
    shown = {show(x): x for x in steps}
    keep_possible(key, shown, show(start))
    return shown[str(st.select_slider(label, list(shown), value=show(start), key=key, bind="query-params"))]
