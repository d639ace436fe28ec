"""Solution of a question within limits, for the best fit and for all resamples, as points (N, D, C, loss, U).

The module also computes the region that the limits allow, and the smallest set of limits that excludes every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.costs.memory import largest_model
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Law, Point
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.constrained import (
    FeasibleRegion,
    best_loss,
    best_mix,
    cheapest_mix,
    least_cost_within,
    money,
)
from isoplan.engine.planning.optimum.frontier import frontier, least_compute, paid
from isoplan.engine.planning.scenario.limits import WORDS, LimitName, Question, named
from isoplan.engine.planning.scenario.prices import COMPUTE, Prices, Rates
from isoplan.engine.quantities import count, flops

OF_MACHINE: tuple[LimitName, ...] = ("hours", "memory", "money")
"""Limits that need a machine to be converted to N or C."""
OF_SPENDING: tuple[LimitName, ...] = ("budget", "hours", "money")
AMPLE = 1e6
"""Factor that makes a budget so large that it limits nothing."""


@dataclass(frozen=True, eq=False)
class Goal:
    """Value of the law at which a target is reached, with the sign in which lower is better.

    ``best`` () is the goal of the best fit. ``draws`` has the goals of the resamples: the shape is () for one common
    goal and (r,) for one goal per resample.
    """

    best: Floats
    draws: Floats


@dataclass(frozen=True, eq=False)
class Task:
    """What to minimise within ``limits``: the loss for a budget, or the cost of reaching a ``goal``.

    Without a goal the task is a budget, and ``limits["budget"]`` is its FLOPs. ``aim`` is the cost that a task with a
    goal minimises: compute, or money if more than training has a price (``Prices.aim``).
    """

    rule: ComputeRule
    limits: Mapping[LimitName, float]
    goal: Goal | None = None
    prices: Prices | None = None
    aim: Rates = COMPUTE

    def cost(self, at: Point) -> Floats:
        """Return the cost of each answer in ``at``; infinite for an answer that does not reach the goal.

        The cost is the total money if ``aim`` includes more than compute, otherwise the money for training. If an hour
        of the machine has no price, the cost is the compute in FLOPs.
        """
        if self.prices is None or self.prices.machine.price is None:
            return at.C
        if not self.aim.weighs:
            return at.C * float(self.prices.machine.money(1.0))
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(at.C), np.inf, money(at.N, at.D, at.C, at.U, self.aim))

    @property
    def saved(self) -> str:
        """Unit of ``cost``: the currency, or FLOPs if an hour of the machine has no price."""
        priced = self.prices is not None and self.prices.machine.price is not None
        return self.prices.currency if priced and self.prices is not None else "FLOPs"

    def best(self, fit: Fit) -> Point:
        """Return the answer of the best fit, shape ().

        Raises PlannerError if the compute pays for no sample at N*.
        """
        at = solve(fit.law, fit.values, self, self.limits, self.goal.best if self.goal else None)
        found = paid(fit, at, self.rule)
        if np.isnan(found.N) and np.isfinite(at.N):
            raise PlannerError(
                f"By {self.rule.text}, {flops(float(at.C))} do not pay for one sample at N* = {count(float(at.N))}: "
                "give more compute, or another rule."
            )
        return found

    def draws(self, fit: Fit) -> Point:
        """Return the answers of all resamples, shape (r,)."""
        return paid(
            fit, solve(fit.law, fit.draws, self, self.limits, self.goal.draws if self.goal else None), self.rule
        )


def task_of(fit: Fit, asked: Question, rule: ComputeRule, prices: Prices | None = None) -> Task:
    """Return the task that answers ``asked``, a question about the quantity that ``fit`` predicts."""
    limits: dict[LimitName, float] = dict(asked.limits.given)
    if asked.kind == "budget":
        return Task(rule, {"budget": asked.value, **limits}, prices=prices)
    goal = np.asarray(fit.sign * asked.value)
    return Task(rule, limits, Goal(goal, goal), prices, prices.aim if prices else COMPUTE)


def solve(law: Law, v: Values, task: Task, limits: Mapping[LimitName, ArrayLike], goal: Floats | None) -> Point:
    """Solve ``task`` for the parameter values ``v`` under ``limits`` and return the optimal points.

    ``limits`` are arrays of the same shape, which broadcasts with ``v``. Raises PlannerError for a limit that cannot be
    applied to the law or the prices.
    """
    bare = not set(limits) - {"budget"} and (goal is None or not task.aim.weighs)
    if bare or not law.is_surface:
        return _along(law, v, task, limits, goal)
    rates = task.prices.rates if task.prices is not None and "money" in limits else None
    left = room(law, limits, task.prices)
    if goal is None:
        at = best_loss(law, v, left, task.rule, rates)
        if rates is None or not (law.repeats and rates.sample):
            return at
        mix = best_mix(law, v, left, task.rule, rates)
        return either(at, mix, ~(at.loss <= mix.loss))
    at = least_cost_within(law, v, goal, left, task.rule, task.aim, rates)
    if not (law.repeats and task.aim.sample):
        return at
    # The points ``mix`` simulate fewer samples and repeat them. The points ``at`` use as many unique samples as
    # allowed.
    mix = cheapest_mix(law, v, goal, left, task.rule, task.aim)
    return either(at, mix, task.cost(mix) < task.cost(at))


def either(at: Point, other: Point, better: Bools) -> Point:
    """Return the points of ``other`` where ``better`` is true, and the points of ``at`` where it is false."""
    names = ("N", "D", "C", "loss", "U")
    return Point(*(np.where(better, getattr(other, name), getattr(at, name)) for name in names))


def _along(law: Law, v: Values, task: Task, limits: Mapping[LimitName, ArrayLike], goal: Floats | None) -> Point:
    """Solve ``task`` on the compute-optimal frontier of the law. Only limits on compute can be applied."""
    C: Floats = room(law, limits, task.prices).C if limits else np.asarray(np.inf)
    if goal is None:
        return frontier(law, v, C, task.rule)
    at = least_compute(law, v, goal, task.rule)
    out = at.C > C
    N, D, C = (np.where(out, np.inf, x) for x in (at.N, at.D, at.C))
    return Point(N, D, C, at.loss)


def room(law: Law, limits: Mapping[LimitName, Any], prices: Prices | None) -> FeasibleRegion:
    """Return the region of N, D, C, money and U that ``limits`` allow. All limits are arrays of the same shape.

    If the law does not describe repeated samples, D is limited to the number of unique samples. Raises
    PlannerError for a limit that needs a missing machine or price, and for a limit that cannot be applied to the law.
    """
    check(law, limits, prices)
    most = {name: np.asarray(x, float) for name, x in limits.items()}
    endless = np.full(np.shape(next(iter(most.values()), 0.0)), np.inf)
    U = most.get("unique", endless)
    N, C = most.get("parameters", endless), most.get("budget", endless)
    if prices is not None:
        machine = prices.machine
        if "memory" in most:
            N = np.minimum(N, largest_model(most["memory"], machine.devices))
        if "hours" in most:
            C = np.minimum(C, machine.flops(most["hours"]))
    D = U * most.get("epochs", endless) if law.repeats else U
    return FeasibleRegion(N, D, C, most.get("money", endless), U)


def check(law: Law, limits: Mapping[LimitName, ArrayLike], prices: Prices | None) -> None:
    """Raise PlannerError if one of ``limits`` cannot be applied to ``law`` or ``prices``.

    For example, a limit on hours needs a machine, and therefore prices.
    """
    for name in OF_MACHINE:
        if name in limits and prices is None:
            raise PlannerError(f"A limit on {WORDS[name]} needs a machine: name the device that trains.")
    asked = [name for name in limits if name not in ("budget", "hours")]
    if law.repeats and law.frontier is None and "unique" not in limits:
        raise PlannerError(
            f"The law {law.name} depends on U, the number of unique samples: give a limit on the unique samples."
        )
    if law.is_surface or set(limits) <= {"budget"}:
        return
    if law.frontier is None:
        over = " and ".join(law.axes)
        raise PlannerError(
            f"A law on {over} alone does not determine the cost of training, so limits are not possible. Fit "
            f"chinchilla."
        )
    if asked:
        raise PlannerError(
            f"The law {law.name} describes only the best model of each budget, so a limit on {WORDS[asked[0]]} is not "
            f"possible. Fit a surface over N and D, such as chinchilla."
        )


def clash(
    law: Law, limits: Mapping[LimitName, float], works: Callable[[Mapping[LimitName, float]], bool]
) -> dict[LimitName, float]:
    """Return the limits that contradict each other.

    The returned limits together allow no answer, but removing any one of them would allow an answer. ``works`` returns
    whether given limits allow an answer; it is false for the whole of ``limits``. Limits that do not contribute are
    removed one by one, limits on spending first. If the limits on size alone allow no answer, no spending can offset
    them, and only limits on size are therefore returned. A budget is part of every budget question, so it is made very
    large instead of being removed.
    """
    left = dict(limits)
    found = dict(limits)
    for name in sorted(limits, key=OF_SPENDING.__contains__, reverse=True):
        without = _without(law, left, name)
        if not works(without):
            left = without
            del found[name]
    return found


def _without(law: Law, limits: Mapping[LimitName, float], name: LimitName) -> dict[LimitName, float]:
    """Return ``limits`` without the limit ``name``.

    A budget becomes very large instead. Unique samples become infinite if the law needs a value of U.
    """
    if name == "budget":
        return {**limits, name: AMPLE * limits[name]}
    if name == "unique" and law.repeats:  # the law needs a value of U
        return {**limits, name: np.inf}
    return {other: most for other, most in limits.items() if other != name}


def listed(limits: Mapping[LimitName, float], prices: Prices | None) -> str:
    """Return the limits as a phrase of a sentence: "2 M unique samples and 100 M parameters"."""
    return " and ".join(named(name, most, prices) for name, most in limits.items())


def loosen(limits: Mapping[LimitName, float]) -> str:
    """Return the advice on limits that exclude an answer: "loosen it" or "loosen one of them"."""
    return "loosen one of them" if len(limits) > 1 else "loosen it"
