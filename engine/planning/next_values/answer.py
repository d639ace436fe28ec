"""The estimand and the candidates of "Next values", and the advice on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.design.advice import Advice, Spend, advise
from isoplan.engine.design.candidates import Candidates, equal_cost_candidates, possible
from isoplan.engine.design.estimand import SAME, Estimand, check_fit, half_width
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.optimum_location import SURE, OptimumLocation, monotone_edge
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.next_values.typed import TypedValues

STEPS = 33
"""Number of candidates in a range."""
MORE = 0.5
"""Extension of the default range of candidates beyond an end of the sweep, as a share of the width of the sweep in
logarithms.
"""
MOST = 0.8
"""If at least this share of the resamples has its optimum far beyond the same end of the range, no advice is given,
because the optimum is then known to be outside. The share is below 84 %, because optima far beyond an end all count as
one value, and the 68 % interval has no width if 84 % of the resamples have the same value.
"""
LARGEST_SHARE = 0.95
"""Largest candidate of the default range if all runs are below 1."""
NEAR = 1.01
"""The slope of the curve at an end of the range is computed from two values: the end times this factor, and the end
divided by it.
"""


@dataclass(frozen=True, eq=False)
class NextValues:
    """The advice on the next values of ``axis``. ``place`` is the present location of the optimum."""

    fit: Fit
    axis: str
    place: OptimumLocation
    advice: Advice

    @property
    def values(self) -> tuple[float, ...]:
        """The advised values, in the order of training."""
        return tuple(float(self.advice.candidates.columns[self.axis][cell]) for cell in self.advice.cells)


def can_locate(fit: Fit) -> bool:
    """Return whether ``fit`` contains resamples and its runs, and whether its law has an optimum over one axis."""
    return fit.law.optimum is not None and bool(len(fit.resamples)) and fit.runs is not None


def next_values(fit: Fit, values: TypedValues | None = None, *, cells: int = 3, rounds: int = 3) -> NextValues:
    """Return at most ``cells`` values of the axis of ``fit`` that determine its optimum best.

    ``values`` are the values to choose from. By default, they cover the sweep of the runs. They also extend beyond
    an end of the sweep if at least 10 % of the resamples have their optimum there, or if the runs improve up to this
    end. All cells cost the same. Raises PlannerError if the law has no optimum over one axis, if the fit has no
    resamples, or if most resamples have their optimum far beyond the same end of the range.
    """
    place, axis = fit.optimum_location, fit.law.axis
    if place is None or axis is None:
        raise PlannerError(
            f"The law {fit.law.name} has no optimum over one column. Fit the law 'starvation' or 'log-parabola' to a "
            "sweep."
        )
    check_fit(fit)
    offered = possible(fit, _offered(fit, axis, place, values or TypedValues()))
    at = offered.columns[axis]
    if not len(at):
        raise PlannerError(
            f"The values of {axis}: the law predicts no positive {fit.spec.y} at these values. Give other values."
        )
    low, high = min(place.low, float(at.min())), max(place.high, float(at.max()))
    one = optimum_estimand(fit, axis, low, high)
    _check_reach(one, fit, low, high)
    aims = () if place.place == "inside" else slope_estimands(fit, axis, low, high)
    offered = _beside_edge(fit, axis, place, offered, cells)
    advice = advise(fit, [one], offered, Spend(float(cells), cells, rounds), hedge=False, aims=aims)
    return NextValues(fit, axis, place, advice)


def optimum_estimand(fit: Fit, axis: str, low: float, high: float) -> Estimand:
    """Return the optimum over ``axis`` as an estimand, for candidates from ``low`` to ``high``.

    The range is extended by half of its width in logarithms at each end. An optimum beyond the extended range is
    replaced by the nearest end of the extended range. The advised cells therefore determine whether the optimum is
    inside the range and where it lies, but not how far away an optimum far outside the range is. A curve without a
    minimum has its optimum at the end with the lower prediction.
    """
    step = (high / low) ** MORE

    def value(v: Values) -> Floats:
        return _within(fit, axis, v, low / step, high * step)

    best = float(value(fit.values))
    return Estimand(axis, "", value, {axis: best})


def slope_estimands(fit: Fit, axis: str, low: float, high: float) -> tuple[Estimand, Estimand]:
    """Return the slopes of the curve at ``low`` and ``high`` as estimands.

    Each estimand is the loss just above the end divided by the loss just below it. Its logarithm is proportional to the
    relative slope of the curve. The optimum is inside if the loss decreases at the low end and increases at the high
    end. Every resample has these slopes, also if its optimum is far outside or if its curve has no minimum.
    """

    def at(end: float) -> Estimand:
        def value(v: Values) -> Floats:
            theta = np.stack([v[name] for name in fit.law.names], axis=-1)
            right, left = (fit.law.predict(theta, {axis: x}) for x in (end * NEAR, end / NEAR))
            return np.asarray(right / left, float)

        return Estimand(f"slope at {axis} = {end:.4g}", "", value)

    return at(low), at(high)


def _beside_edge(fit: Fit, axis: str, place: OptimumLocation, offered: Candidates, cells: int) -> Candidates:
    """Return the untrained candidates between the optimum and the end of the sweep up to which the runs improve.

    If the runs improve up to an end of the sweep, only the form of the law shows that the optimum is inside. Runs
    between the optimum and this end show it directly. If fewer than ``cells`` untrained candidates are there, the
    ``cells`` untrained candidates nearest to this end are returned.

    All ``offered`` candidates are returned in these cases: the runs improve up to neither end, or do not differ from a
    constant; the runs show whether the optimum is inside; some candidates are beyond this end; fewer than ``cells``
    candidates are untrained.
    """
    assert fit.runs is not None
    x, at = fit.runs.columns[axis], offered.columns[axis]
    edge = monotone_edge(x, fit.runs.y)
    if edge is None or place.flat or place.place != "not located":
        return offered
    if np.any(at > edge if edge == place.high else at < edge):
        return offered
    best = float(np.median(_within(fit, axis, fit.draws, place.low, place.high)))
    distance = np.where(np.isclose(at[:, None], x).any(axis=1), np.inf, np.abs(np.log(at / edge)))
    many = max(int(np.sum(distance <= abs(np.log(best / edge)))), cells)
    nearest = np.argsort(distance, kind="stable")[:many]
    return offered.take(np.sort(nearest)) if np.isfinite(distance[nearest]).all() else offered


def _within(fit: Fit, axis: str, v: Values, low: float, high: float) -> Floats:
    """Return the optimum for parameters ``v`` of shape s, clipped to the range from ``low`` to ``high``: shape s."""
    optimum = fit.law.optimum
    assert optimum is not None
    theta = np.stack([v[name] for name in fit.law.names], axis=-1)
    with np.errstate(all="ignore"):
        at = np.asarray(optimum(v), float)
        left, right = (fit.law.predict(theta, {axis: end}) for end in (low, high))
    ends = np.where(right < left, high, low)
    return np.asarray(np.clip(np.where(np.isnan(at), ends, at), low, high))


def _check_reach(one: Estimand, fit: Fit, low: float, high: float) -> None:
    """Raise PlannerError if most resamples have their optimum far beyond the same end of the range."""
    found = np.append(one.value(fit.draws), one.value(fit.values))
    narrow = half_width(fit.resampling, float(np.log(found[-1])), np.log(found[:-1])) < SAME
    step = (high / low) ** MORE
    for beyond, side, end, wider in (
        (found <= low / step * (1 + 1e-6), "smaller", low, f"{low / 10:.3g}..{high:.3g}"),
        (found >= high * step * (1 - 1e-6), "larger", high, f"{low:.3g}..{high * 10:.3g}"),
    ):
        if np.mean(beyond[:-1]) >= MOST or (narrow and beyond[-1]):
            raise PlannerError(
                f"{one.name}: the optimum is far {side} than {end:.4g}, the end of the range, in "
                f"{np.mean(beyond[:-1]):.0%} of the resamples. Choose from a wider range, such as {wider}."
            )


def _offered(fit: Fit, axis: str, place: OptimumLocation, values: TypedValues) -> Candidates:
    """Return the candidates: the listed values, or steps of equal ratio over a range.

    If all runs are whole numbers, the candidates of a range are different whole numbers.
    """
    if values.listed:
        return equal_cost_candidates(axis, np.array(values.listed))
    assert fit.runs is not None
    low, high = values.ends or _default(fit, axis, place)
    steps, x = np.geomspace(low, high, STEPS), fit.runs.columns[axis]
    if np.all(x == np.round(x)):
        steps = np.unique(np.clip(np.round(steps), max(np.ceil(low), 1.0), None))
    return equal_cost_candidates(axis, steps)


def _default(fit: Fit, axis: str, place: OptimumLocation) -> tuple[float, float]:
    """Return the default range of candidates.

    If the values of all runs are below 1, the range ends below 1, because the axis is then often a share.
    """
    assert fit.runs is not None
    low, high, x = place.low, place.high, fit.runs.columns[axis]
    best, edge = _within(fit, axis, fit.draws, low, high), monotone_edge(x, fit.runs.y)
    step = (high / low) ** MORE
    least = low / step if edge == low or np.mean(best <= low) >= 1 - SURE else low
    most = high * step if edge == high or np.mean(best >= high) >= 1 - SURE else high
    return least, min(most, max(high, LARGEST_SHARE)) if np.all(x < 1) else most
