"""Arrays for the figure of a loss or metric against its least cost: compute, samples or money, with runs and plan.

The cost is money if the prices give it. Otherwise it is compute or, for a law on N or D alone, the size itself. Bands
use at most ``DRAWS`` resamples, so that a page opens fast. The numbers of a plan use all resamples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Point
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer.quantity import Quantity, kept, thin
from isoplan.engine.planning.drawing.curves import budgets_over, grid, region_of, stretch, within
from isoplan.engine.planning.drawing.sections import around
from isoplan.engine.planning.optimum.constrained import money
from isoplan.engine.planning.optimum.frontier import frontier, paid
from isoplan.engine.planning.optimum.surface import evaluate
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.solve import Task, solve
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import COMPUTE, Prices, Rates
from isoplan.engine.schema import Runs

Cost = Literal["compute", "samples", "parameters", "money"]
DRAWS, POINTS = 200, 60
MOST_RUNS = 1000
"""Maximum number of runs in the figure; of more runs, evenly spaced rows are drawn."""
BEYOND = 0.7
"""Distance in decades that the curve extends beyond the runs and the plan."""


@dataclass(frozen=True)
class Mark:
    """Point of a plan in the figure: cost ``x`` and value ``y``, with 68 % intervals; None if they are unknown."""

    x: float
    y: float
    x68: Interval | None = None
    y68: Interval | None = None


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Loss or metric ``y`` against its least cost, as arrays (s,): ``x``, ``value``, and the 68 % band.

    ``cost`` names what ``x`` measures, in ``unit``. ``inside`` states where the best run of that cost lies within the
    range of the runs. The band is NaN without intervals. ``run_x`` and ``run_y`` (n,) are the runs, empty if they are
    not given or lack a column; ``run_names`` has their names, or is empty. ``plan`` is None without a plan, and for a
    plan that the runs do not support.
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

    def with_plan(self, plan: Mark | None) -> CostCurve:
        """Return the curve with the point of another plan; the range of the curve does not change."""
        return replace(self, plan=plan)


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
    """Compute the value of ``fit`` (or the metric of ``map``) against its least cost, with ``runs`` and ``plan``.

    ``prices`` default to those of the plan. ``most`` is a further cost that the curve must reach. Raises PlannerError
    for a law over several axes without a frontier.
    """
    prices = prices or (plan.prices if plan is not None else None)
    along = _Along(fit, plan.compute if plan is not None else fit.compute, prices)
    size = along.sizes(n, None if plan is None else cost_of(plan.shown, along.cost).value, most)
    best = along.at(fit.values, size)
    few = thin(map.law if map else fit, DRAWS)
    draws = along.at({name: v[:, None] for name, v in few.draws.items()}, size)
    value, many = _values(fit, map, best.loss, draws.loss)
    low, high = few.resampling.band(value, many, 0.68)
    known = spans(fit)
    inside = np.ones(value.shape, bool)
    for name in ("N", "D", "C"):
        at = getattr(best, name)
        inside &= np.isnan(at) | within(at, known.get(name))
    y = map.map.spec.y if map else fit.spec.y
    if map:
        inside &= within(value, map.map.data.ranges.get(y))
    return CostCurve(
        along.cost,
        along.unit,
        y,
        size * along.factor,
        value,
        low,
        high,
        inside,
        *_runs(runs, along, y),
        mark(plan, along.cost, y) if plan is not None else None,
    )


def mark(plan: Plan, cost: Cost, y: str) -> Mark | None:
    """Return the point of ``plan`` over its ``cost``; None if the runs do not support it, or if a number is missing."""
    shown = plan.shown
    x, value = cost_of(shown, cost), shown.derived.get(y, shown.allocation["loss"])
    if y not in (plan.y, *shown.derived) or x.value is None or value.value is None:
        return None
    return Mark(x.value, value.value, x.ci68, value.ci68)


def cost_of(plan: Plan, cost: Cost) -> Quantity:
    """Return the cost of ``plan``: its C, D, N, or the total of its bill.

    For a law on D alone the money is that of simulation, because such a law does not determine the compute.
    """
    if cost != "money":
        return plan.allocation[{"compute": "C", "samples": "D", "parameters": "N"}[cost]]
    lines = {line.part: line.amount for line in plan.bill if line.what == "money"}
    total = lines.get("total", Quantity(None))
    return total if total.value is not None else lines.get("simulation", total)


class _Along:
    """The cheapest way to each value of a law: along its one axis, along its frontier, or by plans of least money.

    The ``scale`` is the variable along which the curve is computed: a size, C in FLOPs, or money. ``factor`` converts
    it to the cost of the figure.
    """

    def __init__(self, fit: Fit, rule: ComputeRule, prices: Prices | None) -> None:
        self.fit, self.rule, self.prices = fit, rule, prices
        self.axis = fit.law.axis if fit.law.axis in ("N", "D") else ""
        if not self.axis and fit.law.frontier is None:
            raise PlannerError(
                f"The law {fit.law.name} does not determine the cost of a target: fit a law over N and D, on C or on D."
            )
        rates = _rates(prices, self.axis)
        self.rates = rates or COMPUTE
        self.least_money = rates is not None and rates.weighs and fit.law.is_surface
        sized: Cost = "samples" if self.axis == "D" else "parameters" if self.axis else "compute"
        self.cost: Cost = "money" if rates is not None else sized
        units = {"samples": sample_unit(fit), "parameters": "parameters", "compute": "FLOPs"}
        self.unit = prices.currency if rates is not None and prices is not None else units[sized]
        self.factor = 1.0 if rates is None or self.least_money else rates.sample if self.axis else rates.flop

    def sizes(self, n: int, *costs: float | None) -> Floats:
        """Return the values (s,) of the scale. They cover the runs and each of ``costs``."""
        if self.axis:
            span = spans(self.fit).get(self.axis) or around(self.fit)
        else:
            span = region_of(self.fit, None, self.rule)["C"]
        if self.least_money:
            ends = self._frontier(self.fit.values, budgets_over(self.fit, span, n, self.rule, 0.0))
            paid_for = money(ends.N, ends.D, ends.C, np.inf, self.rates)
            span = float(np.nanmin(paid_for)), float(np.nanmax(paid_for))
        for cost in costs:
            span = stretch(span, None if cost is None else cost / self.factor)
        by_compute = not (self.axis or self.least_money)
        return budgets_over(self.fit, span, n, self.rule, BEYOND) if by_compute else grid(span, n, BEYOND)

    def at(self, v: Values, size: Floats) -> Point:
        """Return the best points at each value ``size`` (s,) of the scale; ``v`` has the shape () or (r, 1)."""
        if self.axis:
            unknown = np.full(size.shape, np.nan)
            N, D = (size if self.axis == name else unknown for name in ("N", "D"))
            return Point(N, D, unknown, evaluate(self.fit.law, v, {self.axis: size}))
        if not self.least_money:
            return self._frontier(v, size)
        limits: dict[LimitName, ArrayLike] = {"budget": size / self.rates.flop, "money": size}
        return solve(self.fit.law, v, Task(self.rule, {}, prices=self.prices), limits, None)

    def run_costs(self, runs: Runs) -> Floats | None:
        """Return the costs (n,) of the runs; None if a column is missing."""
        if self.axis:
            return runs[self.axis] * self.factor if self.axis in runs else None
        if "C" not in runs:
            return None
        if not self.rates.weighs:
            return runs["C"] * self.factor
        if "N" not in runs or "D" not in runs:
            return None
        return money(runs["N"], runs["D"], runs["C"], runs.values.get("U", np.inf), self.rates)

    def _frontier(self, v: Values, C: Floats) -> Point:
        return paid(self.fit, frontier(self.fit.law, v, C, self.rule), self.rule)


def _rates(prices: Prices | None, axis: str) -> Rates | None:
    """Return the rates of money; None if the prices do not give the money of the quantity that is drawn.

    A law on D needs the price of a sample, any other law the price of a device hour.
    """
    if prices is None or axis == "N":
        return None
    if axis == "D":
        price = prices.simulation.price if prices.simulation is not None else None
        return Rates(0.0, price) if price else None
    return prices.rates if prices.machine.price is not None else None


def _values(fit: Fit, map: Through | None, best: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """Return the drawn value (s,) and its resamples (r, s) from values of the law in which lower is better."""
    if map is None:
        return fit.sign * best, fit.sign * draws
    law, axis = map.map.law, map.map.law.axes[0]
    rows = map.map.resamples[kept(len(map.map.resamples), len(draws))]
    many = evaluate(law, {name: v[:, None] for name, v in law.values(rows).items()}, {axis: fit.sign * draws})
    return map.map.sign * evaluate(law, map.map.values, {axis: fit.sign * best}), map.map.sign * many


def _runs(runs: Runs | None, along: _Along, y: str) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return costs, values and names of the runs that have both; empty if a column is missing."""
    costs = along.run_costs(runs) if runs is not None and y in runs else None
    if runs is None or costs is None:
        return np.empty(0), np.empty(0), ()
    known = np.flatnonzero(np.isfinite(costs) & np.isfinite(runs[y]) & (costs > 0))
    known = known[kept(len(known), MOST_RUNS)]
    names = runs.labels.get("run")
    return costs[known], runs[y][known], () if names is None else tuple(str(names[i]) for i in known)
