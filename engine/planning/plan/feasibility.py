"""Feasibility of targets: the floor of a law, and the reason, as a sentence, why a target is out of reach."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.fitting.types.intervals import floor_interval
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.expression import ENDLESS
from isoplan.engine.laws.terms import Const
from isoplan.engine.planning.answer.format import between
from isoplan.engine.planning.answer.quantity import Quantity, measure
from isoplan.engine.planning.optimum.frontier import floor
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan.infeasible_limits import clash, listed, loosen
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.solve import Goal, Task, solve
from isoplan.engine.planning.scenario.limits import LimitName, room
from isoplan.engine.planning.scenario.prices import COMPUTE
from isoplan.engine.quantities import count, flops, rounded

OF_SIZES: tuple[LimitName, ...] = ("unique", "epochs", "parameters", "memory")
"""Limits on N and D, which more compute cannot relax."""


def floor_of(fit: Fit) -> Quantity:
    """Return the floor (the ceiling if larger is better) with its intervals, one-sided if it is not resolved."""
    value, draws = floor(fit.law, fit.values), np.broadcast_to(floor(fit.law, fit.draws), len(fit.resamples))
    found = measure(fit, fit.sign * float(value), fit.sign * draws, fit.spec.y, within=possible(fit))
    if not fit.resampling.floorless:
        return found
    ci68, ci95 = (floor_interval(fit.resampling, fit.confidence, float(value), draws, level) for level in (0.68, 0.95))
    return replace(found, ci68=ci68, ci95=ci95)


def bound(fit: Fit) -> str:
    """Return the name of the limit of a law at infinite scale."""
    return "ceiling" if fit.larger_is_better else "floor"


def bound_symbol(fit: Fit) -> str:
    """Return the parameter of the bound, E or L_inf; empty if the law has none or more than one."""
    found = [term.amplitude for term in fit.law.terms if isinstance(term, Const)]
    return found[0] if len(found) == 1 else ""


def met(map: Through, target: float) -> str:
    """Return the sentence for a metric target that every loss reaches."""
    metric = map.map.spec.y
    return f"By its map every {map.law.spec.y} gives a {metric} better than {target:g}: ask for a harder one."


def unreachable(fit: Fit, task: Task, goal: Goal, target: float, map: Through | None = None) -> str:
    """Return why neither the best fit nor any resample of ``fit`` reaches ``target``, and what to do."""
    wanted = f"A target {map.map.spec.y if map else fit.spec.y} of {target:g}"
    if map is not None and np.isneginf(goal.best):
        return f"{wanted} is out of reach: by its map no {fit.spec.y} gives it; ask for an easier one."
    if task.limits and bool(floor(fit.law, fit.values) < goal.best):
        return f"{wanted} {_contradicts(fit, task, goal, map)}"
    limit = floor_of(fit)
    value = limit.value if limit.value is not None else math.nan
    spread = f" (95 %: {between(limit, limit.ci95)})" if limit.ci95 else ""
    whose = "no resample of this fit reaches it" if len(fit.resamples) else "this law never reaches it"
    if map is not None:
        most = f"{map.map.spec.y} {rounded(map.at(fit.sign * value))} at best"
        return (
            f"{wanted} is out of reach: {whose}, because the {bound(fit)} of the {fit.spec.y}, "
            f"{rounded(value, limit.ci95)}{spread}, allows {most}; ask for an easier one."
        )
    easier = "a lower" if fit.larger_is_better else "a higher"
    return (
        f"{wanted} is out of reach: {whose}, because the {bound(fit)} is {rounded(value, limit.ci95)}{spread}; "
        f"ask for {easier} one."
    )


def _contradicts(fit: Fit, task: Task, goal: Goal, map: Through | None) -> str:
    """Return how the limits exclude a goal above the floor of the best fit, naming only the limits that matter."""

    def reached(some: Mapping[LimitName, float]) -> bool:
        return bool(np.isfinite(solve(fit.law, fit.values, replace(task, limits=some), some, goal.best).C))

    most = clash(fit.law, task.limits, reached)
    sizes = {name: x for name, x in most.items() if name in OF_SIZES}
    others = {name: x for name, x in most.items() if name not in OF_SIZES}
    contradicts = f"contradicts the limit{'s' if len(most) > 1 else ''} of {listed(most, task.prices)}"
    instead = f"{loosen(most)} or ask for an easier target."
    if not others:
        left = room(fit.law, sizes, task.prices)
        v = fit.values | ({"U": left.U} if "unique" in sizes else {})
        best = float(loss_at(fit.law, v, np.minimum(left.N, ENDLESS), np.minimum(left.D, ENDLESS)))
        y, value = (map.map.spec.y, map.at(best)) if map else (fit.spec.y, fit.sign * best)
        allow = "they allow" if len(most) > 1 else "it allows"
        return f"{contradicts}: {allow} {y} {rounded(value)} at best, whatever is spent; {instead}"
    within = f"with at most {listed(sizes, task.prices)} it" if sizes else "it"
    if len(others) > 1:  # each can be kept alone: the need for one does not determine the other
        return f"{contradicts}: {within} can be reached within each of them, but not within both; {instead}"
    takes = _takes(fit, task, goal, sizes, next(iter(others)))
    return f"{contradicts}: {within} takes at least {takes}; {instead}"


def _takes(fit: Fit, task: Task, goal: Goal, sizes: Mapping[LimitName, float], of: LimitName) -> str:
    """Return the least amount of the limited quantity ``of`` that the goal needs, within limits on ``sizes``."""
    prices = task.prices
    if of == "money" and prices is not None:
        aim = replace(task, aim=prices.rates)
        paid = aim.cost(solve(fit.law, fit.values, aim, sizes, goal.best))
        return f"{count(float(paid), 3)} {prices.currency}"
    least = solve(fit.law, fit.values, replace(task, aim=COMPUTE), sizes, goal.best)
    timed = prices is not None and not least.N < prices.machine.least
    hours = f" ({count(float(prices.machine.hours(least.C)), 3)} h)" if prices is not None and timed else ""
    return f"{flops(float(least.C))}{hours}"
