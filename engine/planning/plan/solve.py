"""A question and its answer as points: for the best fit and for every resample, with limits and without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Law, Point
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.constrained import best_loss, least_cost_within
from isoplan.engine.planning.optimum.frontier import frontier, least_compute, paid
from isoplan.engine.planning.optimum.search import money
from isoplan.engine.planning.optimum.simulated import best_mix, cheapest_mix
from isoplan.engine.planning.scenario.limits import NO_LIMITS, LimitName, Limits, room
from isoplan.engine.planning.scenario.prices import COMPUTE, Prices, Rates
from isoplan.engine.quantities import count, flops

Kind = Literal["budget", "target"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Question:
    """What was asked: a ``budget`` in FLOPs, or a ``target``, within ``limits``.

    A target is one of what the law describes, or of the ``metric`` that a map makes of it.
    """

    kind: Kind
    value: float
    limits: Limits = NO_LIMITS
    metric: str = ""

    def to_json(self) -> dict[str, Any]:
        """The question for JSON; what was not asked is left out."""
        limits = self.limits.to_json()
        more: dict[str, Any] = {"limits": limits} if limits else {}
        return {self.kind: self.value} | more | ({"metric": self.metric} if self.metric else {})


@dataclass(frozen=True, eq=False)
class Goal:
    """What the law must reach in its own sign (less is better): ``best`` () for the best fit, ``draws`` for resamples.

    ``draws`` is () where all have the same goal, (r,) where each has its own.
    """

    best: Floats
    draws: Floats


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of a law: the least loss of a budget, or what reaches a ``goal`` at least cost; within ``limits``.

    Without a goal it is a budget, which is the limit "budget" in FLOPs. ``aim`` is the cost that is least: compute, or
    money where more than training has a price (``Prices.aim``).
    """

    rule: ComputeRule
    limits: Mapping[LimitName, float]
    goal: Goal | None = None
    prices: Prices | None = None
    aim: Rates = COMPUTE

    def cost(self, at: Point) -> Floats:
        """What the answers ``at`` cost: all money where that is the aim, else that of training.

        FLOPs where an hour of the machine has no price. Shape of ``at``; infinite where nothing reaches the goal.
        """
        if self.prices is None or self.prices.machine.price is None:
            return at.C
        if not self.aim.weighs:
            return at.C * float(self.prices.machine.money(1.0))
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(at.C), np.inf, money(at.N, at.D, at.C, at.U, self.aim))

    @property
    def saved(self) -> str:
        """The unit of ``cost``: the currency, or FLOPs without a price."""
        priced = self.prices is not None and self.prices.machine.price is not None
        return self.prices.currency if priced and self.prices is not None else "FLOPs"

    def best(self, fit: Fit) -> Point:
        """The answer of the best fit: shape (). Raises PlannerError where the rule pays for no sample at its N*."""
        at = solve(fit.law, fit.values, self, self.limits, self.goal.best if self.goal else None)
        found = paid(fit, at, self.rule)
        if np.isnan(found.N) and np.isfinite(at.N):
            raise PlannerError(
                f"By {self.rule.text} {flops(float(at.C))} pay for no sample at N* = {count(float(at.N))}: give more "
                "compute, or another rule."
            )
        return found

    def draws(self, fit: Fit) -> Point:
        """The answer of every resample: shape (r,)."""
        return paid(
            fit, solve(fit.law, fit.draws, self, self.limits, self.goal.draws if self.goal else None), self.rule
        )


def task_of(fit: Fit, asked: Question, rule: ComputeRule, prices: Prices | None = None) -> Task:
    """The task of a question in what ``fit`` describes."""
    limits: dict[LimitName, float] = dict(asked.limits.given)
    if asked.kind == "budget":
        return Task(rule, {"budget": asked.value, **limits}, prices=prices)
    goal = np.asarray(fit.sign * asked.value)
    return Task(rule, limits, Goal(goal, goal), prices, prices.aim if prices else COMPUTE)


def solve(law: Law, v: Values, task: Task, limits: Mapping[LimitName, ArrayLike], goal: Floats | None) -> Point:
    """The answer to ``task`` under ``limits`` (arrays of one shape, which broadcasts with ``v``).

    Raises PlannerError for a limit that the law or the prices cannot keep.
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
        return _either(at, mix, ~(at.loss <= mix.loss))
    at = least_cost_within(law, v, goal, left, task.rule, task.aim, rates)
    if not (law.repeats and task.aim.sample):
        return at
    mix = cheapest_mix(law, v, goal, left, task.rule, task.aim)
    return _either(at, mix, task.cost(mix) < task.cost(at))


def _either(at: Point, mix: Point, better: Bools) -> Point:
    """``mix`` where it is ``better``, else ``at``: samples seen once, or as few as pay, seen again."""
    pairs = ((at.N, mix.N), (at.D, mix.D), (at.C, mix.C), (at.loss, mix.loss), (at.U, mix.U))
    return Point(*(np.where(better, two, one) for one, two in pairs))


def _along(law: Law, v: Values, task: Task, limits: Mapping[LimitName, ArrayLike], goal: Floats | None) -> Point:
    """On the frontier, in closed form where the law has one; a limit on C alone ends it."""
    C: Floats = room(law, limits, task.prices).C if limits else np.asarray(np.inf)
    if goal is None:
        return frontier(law, v, C, task.rule)
    at = least_compute(law, v, goal, task.rule)
    out = at.C > C
    N, D, C = (np.where(out, np.inf, x) for x in (at.N, at.D, at.C))
    return Point(N, D, C, at.loss)
