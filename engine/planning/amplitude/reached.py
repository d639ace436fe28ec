"""Precision that a number of training points reaches: the inverse of a plan for a target.

A plan gives the points D for a precision, and D decreases as the MSE increases. The MSE at which the conservative end
of D equals the given number is found by bisection. The plan for this MSE also has an optimistic curve, from which the
optimistic MSE is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Kind, Precision, number

LEAST, MOST = 1e-16, 0.99
"""Range of the MSE that is searched. A constant prediction of the standardised log amplitude has an MSE of 1."""
STEPS = 24
"""Number of bisections in ln MSE. The relative error of the MSE is then below 3e-6."""
SAME = 0.01
"""Largest relative difference at which the D of the plan counts as equal to the given number."""


def precision_of(points: float, plan: Callable[..., AmplitudePlan], sigma: float | None, kind: Kind) -> AmplitudePlan:
    """Return the plan whose conservative end of D is ``points`` training points.

    ``plan(target=...)`` returns the plan for a target. ``kind`` is the kind of error of the target. In the result,
    ``best`` is the precision that the optimistic curve of D gives for ``points``. Raises PlannerError if the
    runs do not support an answer, because ``points`` is too small or too large.
    """

    def target(mse: float) -> Precision:
        return Precision(mse, sigma if kind == "rms" else 1.0, kind=kind)

    def needed(mse: float) -> float:
        try:
            most = plan(target=target(mse)).D.most
        except PlannerError:
            return math.inf
        return math.inf if most is None else most

    first = plan(target=target(MOST))
    if first.D.most is None or first.D.most > points * (1 + SAME):
        least = "" if first.D.most is None else f" below D = {number(first.D.most, first.D.unit)}"
        raise PlannerError(
            f"Number of points: {number(points, first.D.unit)} is too small, because {first.runs} show no power law"
            f"{least}. Give more points."
        )
    worst = _smallest(points, needed)
    found = plan(target=target(worst))
    last = found.D.most or 0.0
    if last < points * (1 - SAME) and needed(worst * (1 - SAME)) == math.inf:
        raise PlannerError(
            f"Number of points D: {number(points, first.D.unit)} is too large, because {first.runs} support answers "
            f"only up to D = {number(last, first.D.unit)}. Give fewer points, or train larger runs."
        )
    return replace(found, points=points, best=target(min(_optimistic(found, points), worst)))


def _optimistic(plan: AmplitudePlan, points: float) -> float:
    """Return the MSE at ``points`` on the optimistic curve of D; infinite if ``plan`` has no such curve."""
    need = next((one for one in plan.needs if one.axis == "D" and len(one.fast_loss)), None)
    if need is None or points < need.x[0] * (1 - SAME):
        return math.inf
    return math.exp(np.interp(math.log(points), np.log(need.x), np.log(need.fast_loss)))


def _smallest(points: float, needed: Callable[[float], float]) -> float:
    """Return the smallest MSE for which ``needed`` is at most ``points``; ``MOST`` must satisfy this condition."""
    low, high = math.log(LEAST), math.log(MOST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if needed(math.exp(middle)) <= points * (1 + 1e-9):
            high = middle
        else:
            low = middle
    return math.exp(high)
