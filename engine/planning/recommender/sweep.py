"""Optimum of a swept setting for each metric and budget, and its position relative to the sweep.

The intervals include the counting noise of held-out users: the shift of an optimum if other users of the same kind are
held out. Some metrics are the mean m of n values between 0 and 1, one value per scored event. The variance of such a
metric is at most ``m * (1 - m) / n``, which is the variance of a hit rate. With few runs, the residuals around a curve
may by chance be smaller than this noise. In this case the parameters of each resample are shifted randomly by the
missing noise (least squares, linear around the best fit).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.optimum_location import FLAT, SAID, Place, monotone_edge
from isoplan.engine.fitting.types.parameters import parameters
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.quantity import Quantity, beyond, measure
from isoplan.engine.planning.recommender.columns import mean_of_events
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

STEP = 1e-6
"""Relative step of a parameter for numerical derivatives."""
NOT_COUNTED = "the counting noise of held-out users is not in this interval"
"""Remark on an interval that includes only the scatter of the runs, not the counting noise."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Best value ``x`` of a swept setting for ``metric`` at ``budget`` FLOPs.

    ``budget`` is NaN if one sweep is used for all budgets. ``place`` is the position of x relative to the sweep, which
    extends from ``low`` to ``high``. If only the position is known, x has no value. ``fit`` is the curve with the
    optimum x; None if a paper prints the optimum without a curve. ``why`` states why x is missing. ``remark`` states
    what the interval of x does not include.
    """

    budget: float
    metric: str
    x: Quantity
    place: Place
    low: float
    high: float
    fit: Fit | None = None
    why: str = ""
    remark: str = ""

    @property
    def inside(self) -> bool:
        """Whether the optimum lies inside the sweep."""
        return self.place == "inside"

    @property
    def located(self) -> bool:
        """Whether the runs show where the optimum lies: inside the sweep, or beyond one of its ends."""
        return self.place != "not located"


def optimum_of(runs: Runs, spec: FitSpec, budget: float = float("nan"), counting: Counting | None = None) -> Optimum:
    """Return the optimum of one sweep for the metric of ``spec``, from a fit of its law (behavioural, eqs. 2, 6).

    If the runs improve up to an end of the sweep, the optimum lies beyond this end. With ``counting``, the intervals
    include the counting noise of events. Raises PlannerError if no curve can be fitted, for example to two points.
    """
    counted, remark = with_counting(fit(spec, runs), runs, counting)
    one = replace(from_fit(counted, budget), remark=remark)
    return _beyond_end(one, runs) if one.place == "not located" else one


def from_fit(fitted: Fit, budget: float = float("nan")) -> Optimum:
    """Return the optimum of the fit to one sweep. Raises PlannerError for a law without an optimum."""
    said = fitted.optimum_location
    if said is None or fitted.law.optimum is None:
        raise PlannerError(
            f"The law {fitted.law.key} has no optimum, so it determines no setting: fit starvation or log-parabola."
        )
    span = (said.low, said.high)
    if said.edge and said.place == "not located":  # the runs improve up to one end of the sweep
        low, high = (float(fitted.law.predict(fitted.theta, {str(fitted.law.axis): x})) for x in span)
        place: Place = "outside right" if high < low else "outside left"
        return Optimum(budget, fitted.spec.y, _all_the_way(said.high if high < low else said.low), place, *span, fitted)
    at = measure(fitted, float(fitted.law.optimum(fitted.values)), fitted.law.optimum(fitted.draws), "", span)
    why = said.text if said.place == "not located" else ""
    return Optimum(budget, fitted.spec.y, at, said.place, *span, fitted, why)


def _beyond_end(one: Optimum, part: Runs) -> Optimum:
    """Return the optimum ``one`` as outside the sweep if the runs ``part`` improve up to an end of the sweep.

    The fit does not locate an optimum in such a case, for example for a straight line or an inverted curve.
    """
    if one.fit is None or any(w.code == FLAT for w in one.fit.warnings):
        return one
    x, y = part[str(one.fit.law.axis)], part[one.metric]
    used = (x > 0) & np.isfinite(y)
    end = monotone_edge(x[used], one.fit.sign * y[used])
    if end is None:
        return one
    place: Place = "outside right" if end == one.high else "outside left"
    return replace(one, x=_all_the_way(end), place=place, why="")


def _all_the_way(end: float) -> Quantity:
    return Quantity(None, note=f"the runs still improve at the end of the sweep, {end:.4g}")


def published_optimum(
    budget: float, metric: str, x: float | None, place: Place, low: float, high: float, source: str
) -> Optimum:
    """Return an optimum that a paper prints without its curve; ``x`` is None if the paper gives only its ``place``."""
    if x is None:
        note = f"{source}: {SAID[place]} the sweep from {low:g} to {high:g}"
        return Optimum(budget, metric, Quantity(None, note=note), place, low, high)
    return Optimum(budget, metric, Quantity(x, note=f"{source}, no interval printed"), "inside", low, high)


def at_budget(optima: tuple[Optimum, ...], metric: str, C: float) -> Optimum | None:
    """Return the optimum for ``metric`` at the swept budget nearest to ``C`` in logarithm; None if there is none."""
    own = [one for one in optima if one.metric == metric]
    return min(own, key=lambda one: 0.0 if np.isnan(one.budget) else abs(np.log(one.budget / C)), default=None)


def off_budgets(optima: Sequence[Optimum], C: float) -> float:
    """Return the distance in decades of ``C`` from the range of swept budgets.

    The distance is 0 if ``C`` lies inside the range, or if one sweep is used for all budgets.
    """
    swept = [one.budget for one in optima]
    return 0.0 if not swept or np.isnan(swept).any() else beyond(C, (min(swept), max(swept)))


def name_of(optimum: Optimum) -> str:
    """Return the name of the sweep of an optimum, such as ``the sweep at 10¹⁸ FLOPs``."""
    return "the sweep" if np.isnan(optimum.budget) else f"the sweep at {power10(optimum.budget)} FLOPs"


@dataclass(frozen=True)
class Counting:
    """Counting noise of a ``metric``. ``scored`` is the column with the number of scored events, or empty.

    ``most`` is the best possible value of the metric: 1, or 100 if the metric is in percent.
    """

    metric: str
    scored: str = ""
    most: float = 1.0


def counting_of(metric: str, values: Floats, scored: str) -> Counting:
    """Return the counting noise of ``metric`` (a printed name); ``values`` (n,) are its values in the whole table."""
    top = float(np.nanmax(values, initial=0.0))
    return Counting(metric, scored, 100.0 if 1 < top <= 100 else 1.0)


def with_counting(fit: Fit, runs: Runs, how: Counting | None) -> tuple[Fit, str]:
    """Return ``fit`` with resamples at least as wide as the counting noise of the metric, and a remark.

    The fit is returned unchanged and without a remark if it has no resamples, or if its metric is not a mean of one
    value between 0 and 1 per event. For example, a loss and the coverage are not such means. If the number of events is
    unknown or values lie outside 0 to 1, the fit is unchanged and the remark states that the counting noise is not
    included.
    """
    x, y = runs[str(fit.law.axis)], runs[fit.spec.y]
    there = (x > 0) & np.isfinite(y)
    if how is None or not len(fit.resamples) or not mean_of_events(how.metric) or not there.any():
        return fit, ""
    if how.scored not in runs:
        return fit, NOT_COUNTED
    x, y, n = x[there], y[there] / how.most, runs[how.scored][there]
    if np.any((y < 0) | (y > 1)) or np.any(~(n > 0)):
        return fit, NOT_COUNTED
    counting = how.most**2 * float(np.mean(y * (1 - y) / n))
    y = y * how.most
    left = fit.law.predict(fit.theta, {str(fit.law.axis): x}) - fit.sign * y
    freedom = len(y) - len(fit.theta)
    missing = counting - (float(left @ left) / freedom if freedom > 0 else 0.0)
    if missing <= 0:
        return fit, ""
    noise = np.sqrt(missing) * np.random.default_rng(fit.spec.seed).standard_normal((len(fit.resamples), len(y)))
    moved = fit.resamples + noise @ np.linalg.pinv(_slopes(fit, x)).T
    made = parameters(fit.spec, fit.theta, moved, tuple(fit.spec.fixed), fit.resampling, fit.confidence)
    return replace(fit, resamples=moved, parameters=made), ""


def _slopes(fit: Fit, x: Floats) -> Floats:
    """Return the derivatives (n, p) of the law at the values ``x`` (n,) with respect to its p parameters."""
    steps = STEP * np.maximum(np.abs(fit.theta), STEP)
    axis = str(fit.law.axis)
    columns = [
        (fit.law.predict(fit.theta + h * e, {axis: x}) - fit.law.predict(fit.theta - h * e, {axis: x})) / (2 * h)
        for h, e in zip(steps, np.eye(len(fit.theta)), strict=True)
    ]
    return np.stack(columns, axis=1)
