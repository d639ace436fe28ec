"""Reliability of a plan in words: its distance from the runs, and the precision of its most important number."""

from __future__ import annotations

import math

from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.standing import INSIDE, standing_of
from isoplan.engine.planning.plan.answer import Plan

SURE = {0.03: "a precise estimate", 0.1: "a good estimate", 0.3: "a rough estimate"}
"""Words for the reliability of a number. Each key is the largest half-width of the 68 % interval, divided by the
number, for which the words are used.
"""
UNSURE = "an uncertain estimate"
GOOD = ("a precise estimate", "a good estimate")
"""Words that do not apply to an extrapolated answer: its interval assumes that the law is correct beyond the runs."""


def sureness(value: Quantity, cost: Quantity | None = None) -> str:
    """Return words for the precision of an answer, from the wider of the 68 % intervals of its value and its ``cost``.

    A cost that the user gave, or that has no interval, is ignored.
    """
    counted = [value] if cost is None or cost.note == "given" or cost.ci68 is None else [value, cost]
    half = max(map(_half_width, counted))
    return next((words for most, words in SURE.items() if half <= most), UNSURE)


def _half_width(q: Quantity) -> float:
    """Return the half-width of the 68 % interval divided by the value; infinite if the interval is not known."""
    if q.value is None or q.ci68 is None or not all(map(math.isfinite, q.ci68)) or not q.value:
        return math.inf
    return (q.ci68[1] - q.ci68[0]) / 2 / abs(q.value)


def sureness_of(plan: Plan) -> str:
    """Return words for the precision of ``plan`` and the number that they describe: "a good estimate of loss".

    The number is the cost of a target, or what a budget reaches: the first metric, or without metrics the loss. The
    text is empty if this number has no interval, or if the runs do not support the plan. It is also empty if the plan
    is extrapolated and its interval is narrow (see ``GOOD``).
    """
    name, q = _cost(plan) if plan.question.kind == "target" else _reached(plan)
    if not plan.answers or plan.fails or q.value is None or q.ci68 is None:
        return ""
    words = sureness(q)
    return "" if words in GOOD and standing_of(plan).label != INSIDE else f"{words} of {name}"


def reliability(plan: Plan) -> str:
    """Return the distance of ``plan`` from the runs and its precision: "inside the runs, a good estimate of loss"."""
    return ", ".join(filter(None, (standing_of(plan).label, sureness_of(plan))))


def _cost(plan: Plan) -> tuple[str, Quantity]:
    """Return the cost of a target: the total money if it is known, otherwise the compute, the samples or the size."""
    money = [line.amount for line in plan.bill if (line.part, line.what) == ("total", "money")]
    costs = [*money, *(plan.allocation[name] for name in ("C", "D", "N"))]
    return "the cost", next((q for q in costs if q.value is not None), Quantity(None))


def _reached(plan: Plan) -> tuple[str, Quantity]:
    """Return the name and the value of the first metric of ``plan``, or of its loss if it has no metric."""
    metrics = list(plan.derived.items())[-len(plan.maps) :] if plan.maps else []
    return metrics[0] if metrics else (plan.y, plan.allocation["loss"])
