"""Arrays for the figure of a plan: the frontier, the loss against N at fixed compute, or a law of one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing.curves import (
    POINTS,
    Curve,
    Frontier,
    budgets_over,
    curve_at,
    frontier_curve,
    grid,
    loss_band,
    region_of,
    stretch,
    with_points,
    within,
)
from isoplan.engine.planning.drawing.sections import AxisCurve, around, one_axis_curve
from isoplan.engine.planning.optimum.constrained import FeasibleRegion, most_samples, with_unique
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.solve import room
from isoplan.engine.planning.scenario.limits import LimitName


@dataclass(frozen=True, eq=False)
class Picture:
    """Curves of the figure of a plan; a curve is None if the law does not have it.

    ``isoflop`` is the loss against N at the compute of the plan. If the plan has limits, ``isoflop`` uses only the
    compute that they allow, and ``free`` is the curve without limits. ``room`` contains the largest N, D and C that the
    limits allow.
    """

    frontier: Frontier | None
    isoflop: Curve | None
    axis: AxisCurve | None
    room: FeasibleRegion | None = None
    free: Curve | None = None


def plan_curve(plan: Plan, fit: Fit, *, n: int = POINTS) -> Picture:
    """Compute the curves of the figure of ``plan``.

    The curves are the frontier and the loss against N at the compute of the plan, or the curve of a law of one axis.
    """
    if fit.law.axis in ("N", "D"):
        span = spans(fit).get(fit.law.axis) or around(fit)
        return Picture(None, None, one_axis_curve(fit, grid(stretch(span, plan.allocation[fit.law.axis].value), n)))
    region, C = region_of(fit, None, plan.compute), plan.allocation["C"].value
    path = frontier_curve(fit, budgets_over(fit, stretch(region["C"], C), n, plan.compute), rule=plan.compute)
    left = _room(plan, fit)
    if C is None or not fit.law.is_surface:
        return Picture(path, None, one_axis_curve(fit, path.C) if fit.law.axis else None, left)
    free = None if fit.law.repeats else curve_at(fit, C, region, plan.compute, n)
    if left is None:
        return Picture(path, free, None)
    return Picture(path, _limited(plan, fit, left, n), None, left, free)


def _room(plan: Plan, fit: Fit) -> FeasibleRegion | None:
    asked = plan.question
    limits: dict[LimitName, float] = dict(asked.limits.given)
    if not limits:
        return None
    left = room(fit.law, limits | ({"budget": asked.value} if asked.kind == "budget" else {}), plan.prices)
    return with_unique(left, np.asarray(plan.unique))


def _limited(plan: Plan, fit: Fit, left: FeasibleRegion, n: int) -> Curve:
    """Compute the loss against N at the largest D that compute and limits allow; the curve includes the plan."""
    N_best, D_best, C, loss_best = (plan.allocation[name].value or np.nan for name in ("N", "D", "C", "loss"))
    region = region_of(fit, None, plan.compute)
    rates = plan.prices.rates if plan.prices is not None and plan.question.limits.money is not None else None
    spend = FeasibleRegion(left.N, left.D, np.minimum(left.C, C), left.money, left.U)
    N = with_points(grid(stretch(region["N"], N_best), n), *np.geomspace(N_best / 5, N_best * 5, n // 2), N_best)
    N = np.unique(np.minimum(N, left.N))
    D = most_samples(N, spend, plan.compute, rates)
    N, D = N[D > 0], D[D > 0]
    columns = {"N": N, "D": D} | ({"U": np.full(N.shape, left.U)} if fit.law.repeats else {})
    loss = fit.predict(columns)
    inside = within(N, region["N"]) & within(D, region["D"])
    return Curve(C, N, D, loss, loss_band(fit, columns, loss), inside, N_best, D_best, loss_best)
