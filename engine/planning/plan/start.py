"""Default values of a question: the largest budget inside the runs of a fit, and a target that this budget reaches."""

from __future__ import annotations

import math

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.planning.optimum.frontier import frontier, paid
from isoplan.engine.planning.optimum.surface import evaluate
from isoplan.engine.planning.plan.support import budgets

POINTS, ROUNDS = 400, 2
"""Number of budgets per round, and number of rounds, of the search for the largest budget inside the runs."""
EDGE = 1e-9
"""Relative tolerance for rounding errors at the two ends of the range of the runs."""
DIGITS = 3
"""Number of significant digits of the default target of a question."""
MANY = 2.0
"""A ratio of at least this value is shown as a factor, such as "14 times". A smaller ratio is shown in percent."""


def largest_inside(fit: Fit) -> float:
    """Return the largest budget in FLOPs whose N*, D* and C all lie inside the ranges of the runs.

    The budget is rounded down to two digits if the rounded budget is also inside. If no budget is inside, or if the law
    has no compute-optimal frontier, the result is the largest C of the runs.
    """
    low, high = budgets(fit)
    span = (low, high)
    found = math.nan
    for _ in range(ROUNDS):
        C = np.geomspace(*span, POINTS)
        at = np.flatnonzero(_inside(fit, C))
        if not at.size:
            break
        found = float(C[at[-1]])
        span = (found, float(C[min(at[-1] + 1, POINTS - 1)]))
        if span[0] >= span[1]:
            break
    if math.isnan(found):
        return high
    short = _rounded(found, 2, down=True)
    return short if _inside(fit, np.array([short]))[0] else found


def usual_target(fit: Fit) -> float:
    """Return a value of the fitted quantity that the budget of ``largest_inside`` reaches, rounded to three digits.

    The value is rounded to the worse side, because the budget must reach the rounded value. For a law of N or D alone,
    the result is the value of the law at the largest N or D of the runs.
    """
    best = _loss(fit)
    if not math.isfinite(best):
        best = fit.sign * (fit.best_run if fit.best_run is not None else 1.0)
    return _rounded(fit.sign * best, DIGITS, down=fit.larger_is_better)


def _loss(fit: Fit) -> float:
    """Return the value of the law at the default budget, with the sign in which lower is better; NaN if unknown."""
    if fit.law.frontier is None:
        spans = {name: fit.data.ranges.get(name) for name in fit.law.axes}
        columns = {name: np.asarray(span[1]) for name, span in spans.items() if span is not None}
        return float(evaluate(fit.law, fit.values, columns)) if set(columns) == set(fit.law.axes) else math.nan
    at = _optimum(fit, np.array([largest_inside(fit)]))
    return math.nan if at is None else float(np.ravel(at.loss)[0])


def _optimum(fit: Fit, C: Floats) -> Point | None:
    """Return the compute-optimal points at the budgets ``C`` (k,); None if the law has none."""
    try:
        return paid(fit, frontier(fit.law, fit.values, C, fit.compute), fit.compute)
    except PlannerError:
        return None


def _inside(fit: Fit, C: Floats) -> Bools:
    """Return which of the budgets ``C`` (k,) have N*, D* and C inside the ranges of the runs."""
    at = _optimum(fit, C)
    if at is None:
        return np.zeros(C.shape, bool)
    inside = np.isfinite(at.loss)
    for name, x in (("N", at.N), ("D", at.D), ("C", C)):
        low, high = fit.data.ranges.get(name, (0.0, math.inf))
        inside &= np.isnan(x) | ((x >= low * (1 - EDGE)) & (x <= high * (1 + EDGE)))
    return inside


def _rounded(x: float, keep: int, *, down: bool) -> float:
    """Round ``x`` to ``keep`` significant digits: towards smaller numbers if ``down``, otherwise towards larger."""
    if not math.isfinite(x) or x == 0:
        return x
    step = 10.0 ** (math.floor(math.log10(abs(x))) - keep + 1)
    steps = x / step
    whole = math.floor(steps + EDGE) if down else math.ceil(steps - EDGE)
    return float(f"{whole * step:.{keep}g}")


def usual_metric(map: Fit) -> float:
    """Return a value of the metric of ``map`` that a run of the table reaches: the best, rounded to three digits."""
    best = map.best_run
    return 1.0 if best is None else _rounded(best, DIGITS, down=map.larger_is_better)


def best_of_runs(fit: Fit, target: float) -> str:
    """Return a sentence that compares ``target`` with the best run of the table; "" if no run is known.

    For example: "Best of your runs: 354. 5000 is 14 times that."
    """
    best = fit.best_run
    if best is None:
        return ""
    known = f"Best of your runs: {best:.4g}."
    if not (best > 0 and target > 0) or target == best:
        return known
    ratio = target / best
    if ratio >= MANY:
        return f"{known} {target:g} is {ratio:.2g} times that."
    if ratio <= 1 / MANY:
        return f"{known} {target:g} is {1 / ratio:.2g} times less."
    apart = f"{abs(100 * (ratio - 1)):.2g} % {'above' if ratio > 1 else 'below'} that"
    return f"{known} {target:g} is {apart}."
