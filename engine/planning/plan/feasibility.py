"""Feasibility of targets: whether a target can be reached, with what probability, and for which reason.

Whether a target can be reached depends on the floor of the law. The runs resolve the floor if its 95 % interval has two
ends and the lower end is above zero. Then the confidence curve of the floor gives the probability that the floor is
below the target. If the plan has limits, the probability is instead the share of resamples that reach the target within
these limits.

If the runs do not resolve the floor, no probability is stated: half of the resamples are then always fits without a
floor, so the share of resamples that reach the target is not a probability. The target still counts as reachable if the
floor is below the target with 95 % confidence.

Two further cases have no probability. One is a law without a confidence curve (iso-FLOP minima, a published law): in
simulations of iso-FLOP minima the share of resamples is not the probability. The other is a target that a run of the
table already reaches but the law does not reach with certainty. That run may be a favourable fluctuation, but a law
that is worse than its own runs is not reliable near this target either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.types.intervals import SURE, FloorConfidence, floor_interval, leading_axis
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.expression import ENDLESS
from isoplan.engine.laws.terms import Const
from isoplan.engine.planning.answer.format import SURE as CERTAIN
from isoplan.engine.planning.answer.format import between, probability
from isoplan.engine.planning.answer.quantity import Quantity, measure
from isoplan.engine.planning.optimum.frontier import floor
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.parts import Reachability, Verdict
from isoplan.engine.planning.plan.solve import Goal, Task, clash, listed, loosen, room, solve
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import COMPUTE
from isoplan.engine.quantities import count, flops, rounded

OF_SIZES: tuple[LimitName, ...] = ("unique", "epochs", "parameters", "memory")
"""Limits on N and D. More compute cannot offset them."""


def floor_of(fit: Fit) -> Quantity:
    """Return the floor with its intervals, or the ceiling if larger values are better.

    The intervals are one-sided if the runs do not resolve the floor.
    """
    value, draws = floor(fit.law, fit.values), np.broadcast_to(floor(fit.law, fit.draws), len(fit.resamples))
    found = measure(fit, fit.sign * float(value), fit.sign * draws, fit.spec.y, within=possible(fit))
    if not fit.resampling.floorless:
        return found
    ci68, ci95 = (floor_interval(fit.resampling, fit.confidence, float(value), draws, level) for level in (0.68, 0.95))
    return replace(found, ci68=ci68, ci95=ci95)


def bound(fit: Fit) -> str:
    """Return the word for the value of a law at infinite scale: "ceiling" if larger values are better, else "floor"."""
    return "ceiling" if fit.larger_is_better else "floor"


def bound_symbol(fit: Fit) -> str:
    """Return the name of the law's constant term, such as E or L_inf; empty if there is none or more than one."""
    found = [term.amplitude for term in fit.law.terms if isinstance(term, Const)]
    return found[0] if len(found) == 1 else ""


def met(map: Through, target: float) -> str:
    """Return a sentence which states that every possible loss gives a metric better than ``target``."""
    metric = map.map.spec.y
    return f"By the map every {map.law.spec.y} gives a {metric} better than {target:g}: ask for a harder target."


def unreachable(fit: Fit, task: Task, goal: Goal, target: float, map: Through | None = None) -> str:
    """Return a text on a ``target`` that neither ``fit`` nor any of its resamples reaches.

    The text states the fact, the reason, and what to do. ``map`` is the map to the metric of the target; None if the
    target is a value of the quantity that the law predicts.
    """
    wanted = f"A target {map.map.spec.y if map else fit.spec.y} of {target:g}"
    if map is not None and np.isneginf(goal.best):
        return f"{wanted} is out of reach: by the map no {fit.spec.y} gives this value; ask for an easier target."
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
            f"{rounded(value, limit.ci95)}{spread}, allows {most}; ask for an easier target."
        )
    easier = "a lower" if fit.larger_is_better else "a higher"
    return (
        f"{wanted} is out of reach: {whose}, because the {bound(fit)} is {rounded(value, limit.ci95)}{spread}; "
        f"ask for {easier} target."
    )


def _contradicts(fit: Fit, task: Task, goal: Goal, map: Through | None) -> str:
    """Return a text on how the limits of ``task`` exclude a goal that the best fit would reach without limits.

    The text names only the limits that together exclude the goal.
    """

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
        allow = "these limits allow" if len(most) > 1 else "this limit allows"
        return f"{contradicts}: {allow} {y} {rounded(value)} at best, with any amount of compute; {instead}"
    within = f"with at most {listed(sizes, task.prices)}, the target" if sizes else "the target"
    if len(others) > 1:  # each limit alone allows the goal, so the text must name several limits
        return f"{contradicts}: {within} can be reached within each of these limits, but not within both; {instead}"
    takes = _takes(fit, task, goal, sizes, next(iter(others)))
    return f"{contradicts}: {within} needs at least {takes}; {instead}"


def _takes(fit: Fit, task: Task, goal: Goal, sizes: Mapping[LimitName, float], of: LimitName) -> str:
    """Return the least compute or money that reaches the goal, as text.

    The text states money if ``of`` is "money", otherwise compute. ``sizes`` are the limits on N and D that still apply.
    """
    prices = task.prices
    if of == "money" and prices is not None:
        aim = replace(task, aim=prices.rates)
        paid = aim.cost(solve(fit.law, fit.values, aim, sizes, goal.best))
        return f"{count(float(paid), 3)} {prices.currency}"
    least = solve(fit.law, fit.values, replace(task, aim=COMPUTE), sizes, goal.best)
    timed = prices is not None and not least.N < prices.machine.least
    hours = f" ({count(float(prices.machine.hours(least.C)), 3)} h)" if prices is not None and timed else ""
    return f"{flops(float(least.C))}{hours}"


def reachability(
    fit: Fit, asked: str, limited: bool, goals: Floats, reached: Bools, best_run: str = ""
) -> Reachability | None:
    """Return whether ``fit`` reaches the target ``asked`` (a text such as "loss 0.1"); None without resamples.

    ``goals`` are the values of the law at which the target is reached (lower is better): one value () for all
    resamples, or one value per resample (r,). ``reached`` (r,) states which resamples reach their goal. ``limited``
    states that the plan has limits; ``reached`` takes them into account. ``best_run`` is the result of the best run of
    the table, such as "a loss of 0.09"; it is empty if this run does not reach the target.
    """
    if not len(fit.resamples):
        return None
    found = _by_law(fit, asked, limited, goals, reached)
    if not best_run or limited or (found.probability or 0.0) > CERTAIN:
        return found
    text = f"A run of the table already has {best_run}."
    if found.verdict == "reachable":
        return found if found.probability is None else replace(found, probability=None, text=text)
    return Reachability("not determined", None, f"{text} The law does not determine whether other runs reach {asked}.")


def _by_law(fit: Fit, asked: str, limited: bool, goals: Floats, reached: Bools) -> Reachability:
    """Return whether the law reaches the target; the best run of the table is ignored."""
    known = fit.confidence
    if known is None or limited:
        return _by_resamples(fit, asked, limited, reached)
    p = float(np.mean(np.where(np.isnan(goals), 1.0, known.below(goals))))
    if known.resolved and not known.agrees(float(fit.values[known.name])):
        return _disputed(fit, known, asked, (p, float(np.mean(reached))))
    if known.resolved:
        return _stated(p, "If the law holds, the target can be reached")
    limit = f"The floor {known.name} is below {rounded(known.upper(SURE))} (95 %)"
    if p >= SURE:
        return Reachability("reachable", None, f"{limit}, so {asked} can be reached.")
    text = f"{limit} and zero is not excluded: whether {asked} can be reached is not determined."
    return Reachability("not determined", None, f"{text} {_what_to_train(fit)}")


def _by_resamples(fit: Fit, asked: str, limited: bool, reached: Bools) -> Reachability:
    """Return whether the target can be reached, estimated from the resamples that reach the target.

    If the runs resolve the floor, the probability is the fraction of resamples that reach the target. If not, this
    fraction is computed for resamples with a floor above zero and for resamples without a floor. The verdict is then
    "reachable" or "out of reach" only if the fractions of both groups give this verdict. A law without a confidence
    curve gets the verdict of ``_unanimous``.
    """
    within = " within the limits" if limited else ""
    if fit.confidence is None:
        return _unanimous(fit, f"{asked}{within}", reached)
    able = f"If the law holds, the target can be reached{' within the limits' if limited else ''}"
    floors = np.broadcast_to(floor(fit.law, fit.draws), len(fit.resamples))
    zero = (floors <= 0) & (np.ptp(floors) > 0) & (fit.sign > 0)
    if fit.confidence.resolved:
        return _stated(float(np.mean(reached)), able)
    shares = [float(np.mean(reached[some])) for some in (zero, ~zero) if some.any()]
    if min(shares) >= SURE:
        return Reachability("reachable", None, f"{able}, with or without a floor (confidence 95 %).")
    if max(shares) <= 1 - SURE:
        return Reachability(
            "out of reach",
            None,
            f"If the law holds, {asked} is not reached{within}, with or without a floor (confidence 95 %).",
        )
    text = f"The runs do not resolve a floor: whether {asked} can be reached{within} is not determined."
    return Reachability("not determined", None, f"{text} {_what_to_train(fit)}")


def _unanimous(fit: Fit, what: str, reached: Bools) -> Reachability:
    """Return the verdict for a law that has no confidence curve. This verdict has no probability.

    The verdict is "reachable" if all resamples reach the target, "out of reach" if none reaches it, otherwise
    "not determined". ``what`` is the target as text.
    """
    if reached.all():
        return Reachability("reachable", None, "")
    if not reached.any():
        return Reachability("out of reach", None, f"No refit reaches {what}.")
    text = f"This law has no confidence curve of its {bound(fit)}: whether {what} can be reached is not determined."
    return Reachability("not determined", None, text)


def _stated(p: float, able: str) -> Reachability:
    verdict: Verdict = "reachable" if p >= SURE else "out of reach" if p <= 1 - SURE else "uncertain"
    return Reachability(verdict, p, f"{able} with probability {probability(p)}.")


def _disputed(fit: Fit, known: FloorConfidence, asked: str, both: tuple[float, float]) -> Reachability:
    """Return the verdict if the objective of the fit and least squares give different floors.

    ``both`` contains two probabilities of reaching the target: one from the confidence curve of the least-squares
    floor, and one from the resamples of the fit. The verdict is "reachable" if both are at least 95 %, "out of reach"
    if both are at most 5 %, otherwise "not determined".
    """
    name, floors = known.name, f"{rounded(float(fit.values[known.name]))} and {rounded(known.upper(0.5))}"
    text = f"The objective {fit.spec.objective} and least squares give different floors {name}: {floors}."
    if min(both) >= SURE:
        return Reachability(
            "reachable", None, f"{text} {asked[:1].upper()}{asked[1:]} can be reached with both floors."
        )
    if max(both) <= 1 - SURE:
        return Reachability("out of reach", None, f"{text} Both floors exclude {asked} (95 %).")
    return Reachability(
        "not determined",
        None,
        f"{text} Whether {asked} can be reached is not determined. Check the runs with the largest residuals.",
    )


def _what_to_train(fit: Fit) -> str:
    """Return a sentence that names the runs to train in order to resolve the floor."""
    ends = {axis: span[1] for axis, span in fit.data.ranges.items() if axis in fit.law.axes}
    if not ends or not any(isinstance(t, Const) for t in fit.law.terms):
        return "Train larger runs to resolve the floor."
    axis = leading_axis(fit.law, fit.values, ends)
    return f"Train runs with {axis} above {count(ends[axis])} to resolve the floor."
