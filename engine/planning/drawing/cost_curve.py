"""Arrays for the figure of a loss or metric against the least cost that reaches it, with the runs and the plan.

The cost is money if prices are given. Otherwise the cost is compute; for a law on N or D alone, it is N or D itself.
Bands use at most ``DRAWS`` resamples, because a page must open fast. The numbers of a plan use all resamples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.planning.answer.quantity import Quantity, kept, thin
from isoplan.engine.planning.drawing.cheapest_path import CheapestPath, Cost
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.schema import Runs

DRAWS, POINTS = 200, 60
MOST_RUNS = 1000
"""Maximum number of runs in the figure. If there are more runs, evenly spaced rows are drawn."""


@dataclass(frozen=True)
class Mark:
    """Point of a plan in the figure: cost ``x`` and value ``y``, with their 68 % intervals (None if unknown)."""

    x: float
    y: float
    x68: Interval | None = None
    y68: Interval | None = None


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Loss or metric ``y`` against the least cost that reaches it.

    ``x`` (s,) are the costs, ``value`` (s,) are the values of ``y``, and ``low68`` and ``high68`` (s,) are the ends of
    the 68 % band. ``cost`` names the quantity on the x axis, and ``unit`` its unit. ``inside`` states for each cost
    whether the best point of the law at this cost lies within the range of the runs. The band is NaN if the fit has no
    intervals. ``run_x`` and ``run_y`` (n,) are the costs and values of the runs; they are empty if the runs are not
    given or lack a column. ``run_names`` are the names of the runs, or empty. ``plan`` is None if there is no plan or
    if the runs do not support the plan. ``goal`` is the target of the plan, and ``others`` are further points by name.
    ``law`` is False if the law is not drawn. ``label`` replaces the column name ``y`` in the figure.
    """

    cost: Cost
    unit: str
    y: str
    x: Floats
    value: Floats
    low68: Floats
    high68: Floats
    inside: Bools
    run_x: Floats
    run_y: Floats
    run_names: tuple[str, ...] = ()
    plan: Mark | None = None
    goal: float | None = None
    others: tuple[tuple[str, Mark], ...] = ()
    law: bool = True
    label: str = ""


def cost_curve(
    fit: Fit,
    plan: Plan | None = None,
    *,
    runs: Runs | None = None,
    prices: Prices | None = None,
    map: Through | None = None,
    most: float | None = None,
    n: int = POINTS,
) -> CostCurve:
    """Compute the best value of the law of ``fit`` at each cost, or the best metric if ``map`` is given.

    The result also contains the points of ``runs`` and the point of ``plan``. ``prices`` default to those of the plan.
    ``most`` is a cost that the curve must include. Raises PlannerError for a law over several axes without a frontier.
    """
    prices = prices or (plan.prices if plan is not None else None)
    path = CheapestPath(fit, plan.compute if plan is not None else None, prices, map)
    size = path.sizes(n, None if plan is None else cost_of(plan.shown, path.cost).value, most)
    best = path.at(fit.values, size)
    few = thin(map.law if map else fit, DRAWS)
    value, many = path.values(best.loss, path.at({name: v[:, None] for name, v in few.draws.items()}, size).loss)
    low, high = few.resampling.band(value, many, 0.68)
    return CostCurve(
        path.cost,
        path.unit,
        path.y,
        size * path.factor,
        value,
        low,
        high,
        path.inside(best, value),
        *_runs(runs, path),
        plan=mark(plan, path.cost, path.y) if plan is not None else None,
        goal=plan.question.value if plan is not None and plan.question.kind == "target" else None,
    )


def mark(plan: Plan, cost: Cost, y: str) -> Mark | None:
    """Return the point of ``plan`` at its ``cost``; None if the runs do not support the plan or a number is missing."""
    shown = plan.shown
    x, value = cost_of(shown, cost), shown.derived.get(y, shown.allocation["loss"])
    if y not in (plan.y, *shown.derived) or x.value is None or value.value is None:
        return None
    return Mark(x.value, value.value, x.ci68, value.ci68)


def cost_of(plan: Plan, cost: Cost) -> Quantity:
    """Return the cost of ``plan``: its C, its D, its N, or the total of its bill.

    For a law on D alone, the money is the cost of simulation, because such a law does not determine the compute.
    """
    if cost != "money":
        return plan.allocation[{"compute": "C", "samples": "D", "parameters": "N"}[cost]]
    lines = {line.part: line.amount for line in plan.bill if line.what == "money"}
    total = lines.get("total", Quantity(None))
    return total if total.value is not None else lines.get("simulation", total)


def _runs(runs: Runs | None, path: CheapestPath) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return costs, values and names of the runs with known cost and value; empty if a column is missing."""
    costs = path.run_costs(runs) if runs is not None and path.y in runs else None
    if runs is None or costs is None:
        return np.empty(0), np.empty(0), ()
    known = np.flatnonzero(np.isfinite(costs) & np.isfinite(runs[path.y]) & (costs > 0))
    known = known[kept(len(known), MOST_RUNS)]
    names = runs.labels.get("run")
    return costs[known], runs[path.y][known], () if names is None else tuple(str(names[i]) for i in known)
