"""What can be reached at all: the floor of a law, and why a target is out of reach, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.fitting.result import Fit
from engine.laws.expression import ENDLESS
from engine.planning.frontier import floor
from engine.planning.level import is_surface, loss_at
from engine.planning.limits import LimitName, named, room
from engine.planning.metric import Through
from engine.planning.pricing.prices import COMPUTE, Prices
from engine.planning.quantity import Quantity, measure
from engine.planning.solve import Goal, Task, solve
from engine.planning.text import between
from engine.quantities import count, flops, rounded

OF_SIZES: tuple[LimitName, ...] = ("unique", "epochs", "parameters", "memory")
"""The limits on N and D, which no amount of compute loosens."""


def floor_of(fit: Fit) -> Quantity:
    """The floor (where larger is better, the ceiling) with its intervals, one-sided where it is not resolved."""
    value, draws = floor(fit.law, fit.values), np.broadcast_to(floor(fit.law, fit.draws), len(fit.resamples))
    found = measure(fit, fit.sign * float(value), fit.sign * draws, fit.spec.y)
    if not fit.resampling.floorless:
        return found
    ci68, ci95 = (fit.resampling.limit(float(value), draws, level) for level in (0.68, 0.95))
    return replace(found, ci68=ci68, ci95=ci95)


def bound(fit: Fit) -> str:
    """What the limit of a law at infinite scale is called."""
    return "floor" if fit.sign > 0 else "ceiling"


def met(map: Through, target: float) -> str:
    """The sentence for a metric target that every loss meets."""
    metric = map.map.spec.y
    return f"By its map every {map.law.spec.y} gives a {metric} better than {target:g}: ask for a harder one."


def unreachable(fit: Fit, task: Task, goal: Goal, target: float, map: Through | None = None) -> str:
    """Why neither the best fit nor any resample of ``fit`` reaches ``target``, and what to do about it."""
    wanted = f"A target {map.map.spec.y if map else fit.spec.y} of {target:g}"
    if map is not None and np.isneginf(goal.best):
        return f"{wanted} is out of reach: by its map no {fit.spec.y} gives it; ask for an easier one."
    if task.limits and bool(floor(fit.law, fit.values) < goal.best):
        return f"{wanted} {_contradicts(fit, task, goal)}"
    limit = floor_of(fit)
    value = limit.value if limit.value is not None else math.nan
    spread = f" (95 %: {between(limit, limit.ci95)})" if limit.ci95 else ""
    whose = "no resample of this fit reaches it" if len(fit.resamples) else "this law never reaches it"
    easier = "an easier" if map else "a higher" if fit.sign > 0 else "a lower"
    needs = f", and it needs a {fit.spec.y} of {rounded(float(fit.sign * goal.best))}" if map else ""
    return (
        f"{wanted} is out of reach: {whose}, because the {bound(fit)} is {rounded(value, limit.ci95)}{spread}{needs}; "
        f"ask for {easier} one."
    )


def _contradicts(fit: Fit, task: Task, goal: Goal) -> str:
    """How the limits keep the best fit from a goal above its floor."""
    sizes: dict[LimitName, float] = {}
    if is_surface(fit.law):
        sizes = {name: most for name, most in task.limits.items() if name in OF_SIZES}
        left = room(fit.law, sizes, task.prices)
        v = fit.values | ({"U": left.U} if "unique" in sizes else {})
        best = float(loss_at(fit.law, v, np.minimum(left.N, ENDLESS), np.minimum(left.D, ENDLESS)))
        if best >= goal.best:
            shown = f"{_named(sizes, task.prices)} allow {fit.spec.y} {rounded(fit.sign * best)} at best"
            return (
                f"contradicts the limits: {shown}, whatever is spent; loosen one of them or ask for an easier target."
            )
        least = solve(fit.law, fit.values, replace(task, aim=COMPUTE), sizes, goal.best)
    else:
        least = solve(fit.law, fit.values, task, {}, goal.best)
    others = {name: most for name, most in task.limits.items() if name not in OF_SIZES}
    takes = flops(float(least.C)) + (
        f" ({count(float(task.prices.machine.hours(least.C)), 3)} h)" if task.prices is not None else ""
    )
    if task.prices is not None and "money" in others:
        paid = task.cost(solve(fit.law, fit.values, task, sizes, goal.best))
        takes += f" and {count(float(paid), 3)} {task.prices.currency}"
    return (
        f"contradicts the limits: it takes at least {takes}, which {_named(others, task.prices)} do not allow; "
        "loosen one of them or ask for an easier target."
    )


def _named(limits: Mapping[LimitName, float], prices: Prices | None) -> str:
    """Limits as a sentence names them: "at most 2 M unique samples and 100 M parameters"."""
    return f"at most {' and '.join(named(name, most, prices) for name, most in limits.items())}"
