"""Flatness of the optimum: the range of N in which the loss is at most 1 % worse, at the same cost and limits."""

from __future__ import annotations

import math

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import increasing_root
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Point
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer.quantity import kept, measure, thin
from isoplan.engine.planning.optimum.constrained import most_samples
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan.parts import Flat
from isoplan.engine.planning.plan.solve import Task
from isoplan.engine.planning.scenario.limits import room, with_unique

TOLERANCE = 0.01
WIDEST = 20.0
"""Decades on either side of N* in which the ends of the flat range are searched."""
DRAWS = 200
"""Number of resamples for the intervals of the ends."""
SIDES = np.array([[-1.0], [1.0]])


def flat(fit: Fit, task: Task, best: Point, draws: Point) -> Flat | None:
    """Return where the loss leaves the 1 % band around ``best`` () and ``draws`` (r,); None without a surface.

    D follows N: it is the largest that the budget and the limits of ``task`` allow.
    """
    if not fit.law.is_surface or not np.isfinite(best.N):
        return None
    N, D = _ends(fit, task, fit.values, best)
    few, rows = thin(fit, DRAWS), kept(len(fit.resamples), DRAWS)
    each = (draws.N, draws.D, draws.C, draws.loss, draws.U)
    some = Point(*(np.broadcast_to(x, len(fit.resamples))[rows] for x in each))
    spread = _ends(few, task, few.draws, some)[0] if len(rows) else np.empty((2, 0))
    low, high = (_interval(few, float(N[i, 0]), spread[i]) for i in (0, 1))
    return Flat(TOLERANCE, (float(N[0, 0]), float(N[1, 0])), (float(D[0, 0]), float(D[1, 0])), low, high)


def _interval(fit: Fit, end: float, draws: Floats) -> Interval | None:
    ends = measure(fit, end, draws, "").ci68
    return ends if ends is not None and 0 < ends[0] <= ends[1] < math.inf else None


def _ends(fit: Fit, task: Task, v: Values, best: Point) -> tuple[Floats, Floats]:
    """Return N and D at both ends around the answer ``best`` (r,): (2, r), lower first; 0 or inf if never left."""
    at, loss = np.atleast_1d(best.N), np.atleast_1d(best.loss)
    whole = room(fit.law, task.limits, task.prices)
    rates = task.prices.rates if task.prices is not None and "money" in task.limits else None
    v = {name: np.atleast_1d(x) for name, x in v.items()}
    v |= {"U": np.atleast_1d(best.U)} if fit.law.repeats else {}
    centre, limit = np.log(at), loss + TOLERANCE * np.abs(loss)

    def excess(x: Floats, side: Floats, centre: Floats, limit: Floats, *some: Floats) -> Floats:
        """Return the loss minus the limit at ln N = centre + side x."""
        N, here = np.exp(centre + side * x), dict(zip(v, some, strict=True))
        D = most_samples(N, with_unique(whole, here["U"]) if "U" in here else whole, task.rule, rates)
        found = loss_at(fit.law, here, N, np.where(D > 0, D, 1.0))
        return np.where(D > 0, found - limit, np.inf)

    x = increasing_root(excess, 0.0, WIDEST * math.log(10), SIDES, centre, limit, *v.values())
    x = np.where(np.isnan(x), np.inf, x)
    left = with_unique(whole, v["U"]) if "U" in v else whole
    N = np.minimum(np.exp(centre + SIDES * x), left.N)
    N = np.where(np.isnan(centre), np.nan, N)
    inside = (N > 0) & np.isfinite(N)
    D = most_samples(np.where(inside, N, at), left, task.rule, rates)
    return N, np.where(inside, D, np.where(N == 0, np.inf, 0.0))
