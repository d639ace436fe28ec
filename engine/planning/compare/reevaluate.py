"""Re-evaluation of a saved plan with its fit, for the answers of all resamples, which the plan does not contain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.solve import task_of

SAME = 1e-6
"""Largest relative difference between the answer of a fit and that of the plan."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Answer of ``fit`` to a plan's question: ``best`` of shape (), ``draws`` of its resamples, (r,)."""

    fit: Fit
    best: Point
    draws: Point


def ask_again(plan: Plan, fit: Fit, map: Fit | None = None) -> Answer | None:
    """Answer the question of ``plan`` again with ``fit``, with which it was made.

    None for a target in a metric without its ``map``, and for a plan that the runs do not support. Raises PlannerError
    for another fit or map, and if they no longer give the answer of the plan.
    """
    if fit.hash != plan.fit:
        raise PlannerError(
            f"This plan was made with the fit {plan.fit} and not with {fit.hash}: give the one it names."
        )
    if not plan.answers:
        return None
    task = task_of(fit, plan.question, plan.compute, plan.prices)
    if plan.question.metric:
        if map is None:
            return None
        pair = through(fit, map, plan.question.metric)
        fit, task = pair.law, replace(task, goal=pair.goal(plan.question.value))
    found = Answer(fit, task.best(fit), task.draws(fit))
    if not all(_same(plan.allocation[name].value, getattr(found.best, name)) for name in "NDC"):
        raise PlannerError("The fit of this plan now gives a different answer. Compute the plan again and save it.")
    return found


def _same(said: float | None, found: float) -> bool:
    if said is None:
        return not math.isfinite(found)
    return math.isclose(said, float(found), rel_tol=SAME)
