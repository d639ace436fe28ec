"""Cheapest way to reach each value of a law: along its only axis, along its frontier, or by plans of least money."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import possible, sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer.quantity import Quantity, kept, measure
from isoplan.engine.planning.drawing.curves import budgets_over, grid, region_of, stretch, within
from isoplan.engine.planning.drawing.sections import around
from isoplan.engine.planning.optimum.constrained import money
from isoplan.engine.planning.optimum.frontier import frontier, paid
from isoplan.engine.planning.optimum.surface import evaluate
from isoplan.engine.planning.plan.answer import spans
from isoplan.engine.planning.plan.largest_model import SAME, largest_models
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.solve import Task, either, solve
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import COMPUTE, Prices, Rates
from isoplan.engine.schema import Runs

Cost = Literal["compute", "samples", "parameters", "money"]
BEYOND = 0.7
"""Distance in decades by which the path extends beyond the runs and beyond the plan."""


@dataclass(frozen=True)
class Bought:
    """What a ``cost`` buys: the ``value`` of the law or metric, and the known ``sizes`` among N, D and C."""

    cost: float
    value: Quantity
    sizes: Mapping[str, Quantity]

    @property
    def beyond(self) -> float:
        """Largest distance of the value and the sizes from the runs, in decades."""
        return max(q.beyond for q in (self.value, *self.sizes.values()))


class CheapestPath:
    """Points of a law that give the best value at each cost.

    ``cost`` is the kind of cost in the figure, and ``unit`` the unit of this cost. With a ``map``, the value is the
    metric that the map predicts. The points are computed along one scale, which is N, D, the compute C (in FLOPs) or
    money. The cost in the figure is the position on this scale, multiplied by ``factor``.
    """

    def __init__(
        self, fit: Fit, rule: ComputeRule | None = None, prices: Prices | None = None, map: Through | None = None
    ) -> None:
        """Select the kind of cost. Raises PlannerError for a law over several axes that has no frontier."""
        self.fit, self.rule, self.prices, self.map = fit, rule or fit.compute, prices, map
        self.y = map.map.spec.y if map else fit.spec.y
        self.axis = fit.law.axis if fit.law.axis in ("N", "D") else ""
        if not self.axis and fit.law.frontier is None:
            raise PlannerError(
                f"The law {fit.law.name} does not determine the cost of a target: fit a law over N and D, a law on C "
                "or a law on D."
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
        """Return ``n`` or more values (s,) of the scale. Their range contains the runs and each of ``costs``."""
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
        """Return the best points at the values ``size`` (s,) of the scale; ``v`` has the shape () or (r, 1)."""
        if self.axis:
            unknown = np.full(size.shape, np.nan)
            N, D = (size if self.axis == name else unknown for name in ("N", "D"))
            return Point(N, D, unknown, evaluate(self.fit.law, v, {self.axis: size}))
        if not self.least_money:
            return self._frontier(v, size)
        limits: dict[LimitName, ArrayLike] = {"budget": size / self.rates.flop, "money": size}
        task, sizes = Task(self.rule, {}, prices=self.prices), largest_models(self.fit)
        if sizes is None:
            return solve(self.fit.law, v, task, limits, None)
        near, most = (
            solve(self.fit.law, v, task, {**limits, "parameters": np.full(np.shape(size), N)}, None) for N in sizes
        )
        return either(near, most, most.loss < near.loss - SAME * np.abs(most.loss))

    def values(self, best: Floats, draws: Floats) -> tuple[Floats, Floats]:
        """Convert losses of the law (lower is better) to values: (s,) of the best fit and (r, s) of the resamples."""
        sign, map = self.fit.sign, self.map
        if map is None:
            return sign * best, sign * draws
        law, axis = map.map.law, map.map.law.axes[0]
        rows = map.map.resamples[kept(len(map.map.resamples), len(draws))]
        many = evaluate(law, {name: v[:, None] for name, v in law.values(rows).items()}, {axis: sign * draws})
        return map.map.sign * evaluate(law, map.map.values, {axis: sign * best}), map.map.sign * many

    def inside(self, at: Point, value: Floats) -> Bools:
        """Return whether each point of ``at``, and its value in ``value``, lies within the range of the runs."""
        known = spans(self.fit)
        inside = np.ones(value.shape, bool)
        for name in ("N", "D", "C"):
            x = getattr(at, name)
            inside &= np.isnan(x) | within(x, known.get(name))
        return inside & within(value, self.map.map.data.ranges.get(self.y)) if self.map else inside

    def buy(self, costs: Floats) -> tuple[Bought, ...]:
        """Return what each of ``costs`` (s,) buys. The intervals use all resamples."""
        size = np.asarray(costs, float) / self.factor
        law, described = (self.map.law, self.map.map) if self.map else (self.fit, self.fit)
        best, draws = self.at(self.fit.values, size), self.at({k: v[:, None] for k, v in law.draws.items()}, size)
        value, many = self.values(best.loss, draws.loss)
        seen, units = spans(self.fit), {"N": "parameters", "D": sample_unit(self.fit), "C": "FLOPs"}
        span, within = (described.data.ranges.get(self.y), possible(described))
        bought = []
        for i, cost in enumerate(np.asarray(costs, float)):
            sizes = {
                name: measure(
                    law, float(x), np.broadcast_to(getattr(draws, name), many.shape)[:, i], unit, seen.get(name)
                )
                for name, unit in units.items()
                if math.isfinite(x := float(getattr(best, name)[i]))
            }
            bought.append(Bought(float(cost), measure(law, float(value[i]), many[:, i], self.y, span, within), sizes))
        return tuple(bought)

    def run_costs(self, runs: Runs) -> Floats | None:
        """Return the costs (n,) of the runs; None if the runs lack a column that the cost needs."""
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
    """Return the rates of money; None if the prices do not determine the money of the drawn quantity.

    A law on D needs the price of a sample. Any other law needs the price of a device hour.
    """
    if prices is None or axis == "N":
        return None
    if axis == "D":
        price = prices.simulation.price if prices.simulation is not None else None
        return Rates(0.0, price) if price else None
    return prices.rates if prices.machine.price is not None else None
