"""Targets in a metric: a map predicts the metric from the quantity that the law predicts, such as the loss.

Each resample of the law is paired with one of the map. If both were fitted to the same runs with the same seed,
resample i of both consists of the same runs, so the two rows i are paired. Otherwise both are independent, and the rows
of the map are shuffled so that equal seeds do not correlate them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.costs import increasing_root
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Law
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer.quantity import Quantity, kept, measure, thin
from isoplan.engine.planning.optimum.surface import evaluate
from isoplan.engine.planning.plan.solve import Goal
from isoplan.engine.quantities import rounded

CHECKED = 400
"""Number of points at which the code checks whether a map is monotone."""


@dataclass(frozen=True, eq=False)
class Through:
    """A law, and a map from the y of the law to a metric. ``law`` and ``map`` have equally many, paired resamples.

    ``kept`` (r,) are the indices of these resamples among all resamples of the law.
    """

    law: Fit
    map: Fit
    kept: Ints

    @property
    def draws(self) -> Values:
        """Parameter values of the map (r,), in the order of the resamples of the law."""
        return self.map.draws

    def goal(self, target: float) -> Goal:
        """Return the values of the law at which the metric is ``target``, for the best fit and for each resample.

        A value is -inf if no possible loss gives the target, and NaN if every loss gives a better metric.
        """
        low, high = possible(self.law)
        least = low if self.law.sign > 0 else -high

        def possible_loss(v: Values) -> Floats:
            loss = self._loss_for(v, target)
            return np.where(loss < least, -np.inf, loss)

        return Goal(possible_loss(self.map.values), possible_loss(self.draws))

    def metric(self, best: Floats, draws: Floats) -> Quantity:
        """Return the metric, with intervals, at the values ``best`` () and ``draws`` (r,) of the law.

        In these values lower is better: they are negative if larger is better for the quantity of the law.
        """
        many = self._at(self.draws, draws)
        y = self.map.spec.y
        return measure(self.law, self.at(best), many, y, self.map.data.ranges.get(y), possible(self.map))

    def at(self, best: Floats | float) -> float:
        """Return the metric by the best fits, at the value ``best`` () of the law.

        In this value lower is better, as in ``metric``.
        """
        return float(self._at(self.map.values, np.asarray(best)))

    def _at(self, v: Values, x: Floats) -> Floats:
        return self.map.sign * evaluate(self.map.law, v, {self._axis: self.law.sign * x})

    @property
    def _axis(self) -> str:
        return self.map.law.axes[0]

    def _loss_for(self, v: Values, target: float) -> Floats:
        span = _range(self.law, self.map)
        found = _inverse(self.map.law, v, np.asarray(self.map.sign * target), span)
        found = np.broadcast_to(found, np.shape(next(iter(v.values()))))
        middle = self.map.sign * evaluate(self.map.law, v, {self._axis: np.asarray(sum(span) / 2)})
        met = (middle - target) * (1.0 if self.map.larger_is_better else -1.0) >= 0
        return np.where(np.isnan(found), np.where(met, np.nan, -np.inf), self.law.sign * found)


def through(law: Fit, map: Fit, name: str = "") -> Through:
    """Pair ``map`` with ``law``: the map predicts a metric from the quantity of the law.

    ``name`` is the metric that the user requested; "" accepts any. Raises PlannerError in these cases: the map predicts
    another metric or from another column, it has no runs, it is not monotone within the range of its runs, or the
    metric gets worse as the law improves.
    """
    metric, axes = map.spec.y, map.law.axes
    if name and name != metric:
        raise PlannerError(f"The map describes {metric}, not {name}: fit one of {name}, or ask for {metric}.")
    if axes != (law.spec.y,):
        raise PlannerError(
            f"The map of {metric} reads {' and '.join(axes)}, but the law describes {law.spec.y}: fit a metric-map on "
            f"{law.spec.y}."
        )
    if not map.n or law.spec.y not in map.data.ranges:
        raise PlannerError(f"The metric {metric} has no runs behind its map: fit the map to runs that measured it.")
    _monotone(law, map)
    r = min(len(law.resamples), len(map.resamples))
    rows = map.resamples[kept(len(map.resamples), r)] if r else map.resamples[:0]
    if not same_runs(law, map):
        rows = np.random.default_rng(map.spec.seed).permutation(rows)
    few = thin(law, r) if r else replace(law, resamples=law.resamples[:0])
    return Through(few, replace(map, resamples=rows), kept(len(law.resamples), r) if r else np.arange(0))


def same_runs(law: Fit, map: Fit) -> bool:
    """Return whether resample i of ``law`` and resample i of ``map`` consist of the same runs."""
    one, other = (
        (f.data.snapshot or f.data.sha256, f.data.where, f.n, f.spec.seed, f.resampling.method) for f in (law, map)
    )
    return one == other


def _range(law: Fit, map: Fit) -> Interval:
    return map.data.ranges[law.spec.y]


def _monotone(law: Fit, map: Fit) -> None:
    """Raise PlannerError if a target in the metric has no unique answer.

    This is so if the map is not monotone within its runs, or if its metric gets worse as the law improves.
    """
    y, metric = law.spec.y, map.spec.y
    at = np.linspace(*_range(law, map), CHECKED)
    steps = np.diff(map.predict({y: at}))
    moving = np.flatnonzero(steps)
    turns = moving[1:][np.diff(np.sign(steps[moving])) != 0]
    if len(turns):
        where = rounded(float(at[turns[0]]))
        raise PlannerError(
            f"The map from {y} to {metric} is not monotone: it turns at {y} = {where}, within its runs, so a "
            "target has more than one answer; fit a metric-map, or only the runs on one side."
        )
    better = float(np.sum(steps)) * (-_direction(law)) * (1.0 if map.larger_is_better else -1.0)
    if better <= 0:
        raise PlannerError(
            f"By this map {metric} gets worse as {y} gets better, so more compute never reaches a target: check which "
            f"direction of {metric} is better."
        )


def _direction(law: Fit) -> float:
    """Return 1 if smaller values are better for the quantity that the law predicts, -1 if larger ones are."""
    return -1.0 if law.larger_is_better else 1.0


def _inverse(law: Law, v: Values, y: Floats, span: Interval) -> Floats:
    """Return the x at which a ``law`` of one axis equals ``y``; NaN if there is none.

    The search covers only ``span``, unless the law has an inverse in closed form.
    """
    if law.inverse is not None:
        return law.inverse(v, y)
    low, high = span
    rises = evaluate(law, v, {law.axes[0]: np.asarray(high)}) > evaluate(law, v, {law.axes[0]: np.asarray(low)})
    slope = np.where(rises, 1.0, -1.0)

    def excess(x: Floats, slope: Floats, *some: Floats) -> Floats:
        return slope * (evaluate(law, dict(zip(v, some, strict=True)), {law.axes[0]: x}) - y)

    return increasing_root(excess, low, high, slope, *v.values())
