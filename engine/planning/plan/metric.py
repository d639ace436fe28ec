"""Targets in a metric: a map predicts the metric from the quantity that the law predicts, such as the loss.

Each resample of the law is paired with one resample of the map. If the law and the map were fitted to the same runs
with the same seed, resample i of the law and resample i of the map consist of the same runs, and these two are paired.
Otherwise the law and the map are independent. The resamples of the map are then shuffled before pairing, because equal
seeds would correlate the two sets of resamples.
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
"""Number of points at which a map is evaluated to check that it is monotone."""


@dataclass(frozen=True, eq=False)
class Through:
    """A law, and a map from the quantity y of the law to a metric.

    Resample i of ``law`` is paired with resample i of ``map``. ``kept`` (r,) contains the indices of the resamples of
    ``law`` among all resamples of the original law.
    """

    law: Fit
    map: Fit
    kept: Ints

    @property
    def draws(self) -> Values:
        """Parameter values of the map for each resample, (r,), in the order of the resamples of the law."""
        return self.map.draws

    def goal(self, target: float) -> Goal:
        """Return the loss at which the metric equals ``target``, for the best fit and for each resample.

        A loss is -inf if no possible loss gives the target. It is NaN if every loss gives a metric better than the
        target.
        """
        low, high = possible(self.law)
        least = low if self.law.sign > 0 else -high

        def possible_loss(v: Values) -> Floats:
            loss = self._loss_for(v, target)
            return np.where(loss < least, -np.inf, loss)

        return Goal(possible_loss(self.map.values), possible_loss(self.draws))

    def metric(self, best: Floats, draws: Floats) -> Quantity:
        """Return the metric with intervals, at the losses ``best`` () of the best fit and ``draws`` (r,) of resamples.

        Lower losses are better. If larger values of the law's quantity are better, a loss is the negative of such a
        value.
        """
        many = self._at(self.draws, draws)
        y = self.map.spec.y
        return measure(self.law, self.at(best), many, y, self.map.data.ranges.get(y), possible(self.map))

    def at(self, best: Floats | float) -> float:
        """Return the metric that the best fit of the map predicts at the loss ``best`` ().

        The loss is defined as in ``metric``: lower is better.
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
    """Pair the resamples of ``map`` with those of ``law``; the map predicts a metric from the quantity of the law.

    ``name`` is the metric that the user requested; "" accepts any metric. Raises PlannerError if the map predicts
    another metric, uses another column than the quantity of the law, or has no runs. Also raises PlannerError if the
    map is not monotone within the range of its runs, or if the metric gets worse as the loss gets better.
    """
    metric, axes = map.spec.y, map.law.axes
    if name and name != metric:
        raise PlannerError(f"The map describes {metric}, not {name}: fit a map to {name}, or ask for {metric}.")
    if axes != (law.spec.y,):
        raise PlannerError(
            f"The map of {metric} uses {' and '.join(axes)}, but the law describes {law.spec.y}: fit a metric-map on "
            f"{law.spec.y}."
        )
    if not map.n or law.spec.y not in map.data.ranges:
        raise PlannerError(f"The map of {metric} contains no runs: fit a map to runs with measured values of {metric}.")
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
    """Raise PlannerError if the map cannot convert a target in the metric to one loss.

    This happens if the map is not monotone within the range of its runs, or if the metric gets worse as the loss gets
    better.
    """
    y, metric = law.spec.y, map.spec.y
    at = np.linspace(*_range(law, map), CHECKED)
    steps = np.diff(map.predict({y: at}))
    moving = np.flatnonzero(steps)
    turns = moving[1:][np.diff(np.sign(steps[moving])) != 0]
    if len(turns):
        where = rounded(float(at[turns[0]]))
        raise PlannerError(
            f"The map from {y} to {metric} is not monotone: its slope changes sign at {y} = {where}, in the "
            "range of its runs. A target can therefore have more than one answer. Fit the law metric-map, or fit "
            "only the runs on one side of this value."
        )
    better = float(np.sum(steps)) * (-_direction(law)) * (1.0 if map.larger_is_better else -1.0)
    if better <= 0:
        raise PlannerError(
            f"By this map {metric} gets worse as {y} gets better, so more compute never reaches a target: check which "
            f"direction of {metric} is better."
        )


def _direction(law: Fit) -> float:
    """Return 1 if smaller values of the quantity that the law predicts are better, -1 if larger values are better."""
    return -1.0 if law.larger_is_better else 1.0


def _inverse(law: Law, v: Values, y: Floats, span: Interval) -> Floats:
    """Return the x at which a ``law`` of one axis equals ``y``; NaN if no such x is found.

    If the law has an inverse in closed form, this inverse gives x. Otherwise a search covers the range ``span`` of x.
    """
    if law.inverse is not None:
        return law.inverse(v, y)
    low, high = span
    rises = evaluate(law, v, {law.axes[0]: np.asarray(high)}) > evaluate(law, v, {law.axes[0]: np.asarray(low)})
    slope = np.where(rises, 1.0, -1.0)

    def excess(x: Floats, slope: Floats, *some: Floats) -> Floats:
        return slope * (evaluate(law, dict(zip(v, some, strict=True)), {law.axes[0]: x}) - y)

    return increasing_root(excess, low, high, slope, *v.values())
