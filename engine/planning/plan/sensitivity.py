"""Sensitivity of a plan: the range of N in which the loss is at most 1 % worse, and the shadow prices of the limits.

The worth (shadow price) of a limit is the gain per unit if the limit is raised slightly. For a budget the gain is the
decrease of the loss; for a target it is the decrease of the cost. The cost is the compute C, or money if an hour of the
machine has a price. This money is the cost of training, or the total cost if the plan minimises the total cost.

The worth is computed by solving the question again with a slightly larger and with a slightly smaller limit. If these
two changes give different slopes, another limit is reached at the same point. The worth is then the slope for the
larger limit. A limit that is not reached has a worth of zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import increasing_root
from isoplan.engine.costs.memory import training_memory
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Point
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer.quantity import kept, measure, thin
from isoplan.engine.planning.optimum.constrained import most_samples, with_unique
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan.parts import Flat, Worth
from isoplan.engine.planning.plan.solve import Goal, Task, room, solve
from isoplan.engine.planning.scenario.limits import LimitName, Limits

TOLERANCE = 0.01
WIDEST = 20.0
"""Width in decades of the search for an end of the flat range, on each side of the optimal N."""
DRAWS = 200
"""Maximum number of resamples for the intervals of sensitivities."""
SIDES = np.array([[-1.0], [1.0]])
"""Sign of ln N - ln N* at the lower and at the upper end of the flat range; N* is the optimal N."""
STEP = 1e-4
"""Relative change of a limit for the numerical slope of the gain."""
MORE = 1.1
"""Factor that raises a limit by ten per cent."""
BINDS = 1e-6
"""A limit counts as reached if the amount used is below the limit by at most this fraction."""
KINK = 0.05
"""Largest relative difference at which the slopes for a larger and a smaller limit count as equal."""
NOISE = 1e-11
"""A gain smaller than this fraction of the loss or cost is a rounding error and counts as zero."""


def flat(fit: Fit, task: Task, best: Point, draws: Point) -> Flat | None:
    """Return the range of N around the optimum in which the loss is at most 1 % worse.

    The result is None for a law that is not a surface over N and D. ``best`` () is the answer of the best fit, and
    ``draws`` (r,) are the answers of the resamples. At each N, D is the largest number of samples that the budget and
    the limits of ``task`` allow.
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
    """Return N and D at the ends of the flat range around each answer in ``best`` (r,); both have shape (2, r).

    Row 0 is the lower end, row 1 the upper end. The N of an end is 0 or infinite if the loss never becomes 1 % worse in
    the direction of this end.
    """
    at, loss = np.atleast_1d(best.N), np.atleast_1d(best.loss)
    whole = room(fit.law, task.limits, task.prices)
    rates = task.prices.rates if task.prices is not None and "money" in task.limits else None
    v = {name: np.atleast_1d(x) for name, x in v.items()}
    v |= {"U": np.atleast_1d(best.U)} if fit.law.repeats else {}
    centre, limit = np.log(at), loss + TOLERANCE * np.abs(loss)

    def excess(x: Floats, side: Floats, centre: Floats, limit: Floats, *some: Floats) -> Floats:
        """Return the loss at ln N = centre + side * x, minus the largest loss of the flat range."""
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


def worths(fit: Fit, task: Task, at: Point) -> tuple[Worth, ...]:
    """Return the worth of each limit of ``task`` at the answer ``at`` of ``fit``.

    The result is empty if there are no limits or if ``at`` contains no answer. Intervals use at most ``DRAWS`` of the
    resamples. Limits on hours and money are omitted if the model is too small to reach the assumed fraction of the
    machine's peak speed.
    """
    if not set(task.limits) - {"budget"} or not np.isfinite(at.loss) or not np.isfinite(at.C):
        return ()
    uses, few = used(fit, task, at), thin(fit, DRAWS)
    goal = task.goal or Goal(np.asarray(0.0), np.asarray(0.0))
    goals = goal.draws[kept(len(fit.resamples), DRAWS)] if goal.draws.ndim else goal.draws
    best, draws = _gains(fit, task, fit.values, goal.best), _gains(few, task, few.draws, goals)
    unit = fit.spec.y if task.goal is None else task.saved
    found = []
    for i, (name, most) in enumerate(task.limits.items()):
        if name in ("hours", "money") and task.prices is not None and at.N < task.prices.machine.least:
            continue
        slope, ten = (
            measure(few, float(one[i, 0]), np.broadcast_to(many[i], len(few.resamples)), unit)
            for one, many in ((best.slope, draws.slope), (best.ten, draws.ten))
        )
        binds = uses[name] >= most * (1 - BINDS) and (name != "epochs" or fit.law.repeats)
        if not binds:
            slope, ten = replace(slope, value=0.0), replace(ten, value=0.0)
        found.append(Worth(name, most, uses[name], binds, slope, ten, binds and bool(best.kink[i, 0])))
    return tuple(found)


def stated_worths(fit: Fit, task: Task, at: Point, limits: Limits, money: float | None = None) -> tuple[Worth, ...]:
    """Return the worth of the budget and of each limit in ``limits``, as ``worths`` does.

    ``task`` may contain a further limit on the model size. This limit is not listed, because the user did not give it.
    If the budget is an amount of ``money``, the compute of the budget is not listed either.
    """
    stated = {*limits.given, *(["budget"] if money is None else [])}
    return tuple(one for one in worths(fit, task, at) if one.limit in stated)


@dataclass(frozen=True, eq=False)
class _Gains:
    """Gains from raising each of m limits, for r resamples; all arrays have shape (m, r).

    ``slope`` is the gain per unit of the limit, and ``ten`` the gain if the limit is ten per cent larger. ``kink``
    states that the slope for a larger limit differs from the slope for a smaller limit.
    """

    slope: Floats
    ten: Floats
    kink: Bools


def _gains(fit: Fit, task: Task, v: Values, goal: Floats) -> _Gains:
    """Compute the gains of all limits at once.

    Each limit is raised slightly, lowered slightly, and raised by ten per cent.
    """
    steps = (1 + STEP, 1 - STEP, MORE)
    names, m = list(task.limits), len(task.limits)
    factors = np.ones((1 + len(steps) * m, m))
    for i in range(m):
        factors[1 + len(steps) * i : 1 + len(steps) * (i + 1), i] = steps
    limits = {name: task.limits[name] * factors[:, i : i + 1] for i, name in enumerate(names)}
    at = solve(fit.law, v, task, limits, goal if task.goal else None)
    value = at.loss if task.goal is None else task.cost(at)
    value = np.where(np.isfinite(value), value, np.nan).reshape(len(factors), -1)
    now = value[:1]
    more, less, much = (value[1 + k :: len(steps)] for k in range(len(steps)))
    size = STEP * np.array([[task.limits[name]] for name in names])
    right, left = (now - more) / size, (less - now) / size
    noise = NOISE * np.abs(now)
    right = np.where(now - more > noise, right, 0.0)
    kink = ~(np.abs(left - right) <= KINK * np.maximum(np.abs(left), np.abs(right)))
    slope = np.where(np.isnan(now - more), np.nan, np.where(kink, right, (left + right) / 2))
    return _Gains(slope, np.where(now - much > noise, now - much, np.where(np.isnan(now - much), np.nan, 0.0)), kink)


def used(fit: Fit, task: Task, at: Point) -> dict[LimitName, float]:
    """Return how much of each limited quantity of ``task`` the answer ``at`` (one point) uses."""
    N, D, C = float(at.N), float(at.D), float(at.C)
    unique = float(at.U)
    found: dict[LimitName, float] = {
        "budget": C,
        "unique": min(D, unique),
        "parameters": N,
        "epochs": D / unique,
    }
    if task.prices is not None:
        machine = task.prices.machine
        found |= {"hours": float(machine.hours(C)), "memory": float(training_memory(N, machine.devices))}
        if machine.price is not None:
            found["money"] = float(task.prices.lines(C, N, min(D, unique))[-1].amount)
    return {name: found[name] for name in task.limits}
