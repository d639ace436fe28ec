"""Question 2: a target -> the least compute or money that reaches it, and the probability that anything does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit, FitWarning
from engine.laws import Point
from engine.planning import plan as plans
from engine.planning.budget import allocation, check_size, derived, no_optimum
from engine.planning.convention import apart
from engine.planning.extras import beside
from engine.planning.frontier import floor
from engine.planning.level import is_surface
from engine.planning.limits import NO_LIMITS, Limits
from engine.planning.metric import Through
from engine.planning.plan import Plan, Question
from engine.planning.pricing.prices import COMPUTE, Prices, Rates
from engine.planning.quantity import NOT_ALWAYS_REACHED, Quantity, given, measure
from engine.planning.reach import bound, met, unreachable
from engine.planning.solve import Goal, Task
from engine.quantities import count, flops

LEAST_MONEY = "least-money"
WORTH_SAYING = 1.001
"""How many times the plan's money the least compute must cost for the plan to say so."""


def plan_target(
    fit: Fit,
    target: float,
    rule: ComputeRule | None = None,
    *,
    limits: Limits = NO_LIMITS,
    prices: Prices | None = None,
    other: ComputeRule | None = None,
    map: Through | None = None,
    aim: Rates | None = None,
) -> Plan:
    """The least cost that brings what the law describes to ``target``, under the fit's compute rule or ``rule``.

    That is the least compute, or the least money where ``prices`` pay for more than training (``Prices.aim``); ``aim``
    is another cost to be least.

    With a ``map`` (made of this fit by ``through``) ``target`` is one of its metric, and the plan has as many resamples
    as the map has. Resamples that cannot reach it within ``limits`` count as infinite cost. ``prices`` add the bill,
    ``other`` the cost by a second compute rule. Raises PlannerError for a target that is no number, that the quantity
    cannot take, that every loss meets, or that neither the best fit nor any resample reaches.
    """
    _check(fit, target, map)
    known, rule = fit.hash, rule or fit.compute
    fit = map.law if map else fit
    goal = map.goal(target) if map else Goal(*(np.asarray(fit.sign * target),) * 2)
    if map is not None and np.isnan(goal.best):
        raise PlannerError(met(map, target))
    task = Task(rule, limits.given, goal, prices, aim or (prices.aim if prices else COMPUTE))
    best, draws = task.best(fit), task.draws(fit)
    reached, p_reach = _reach(fit, task, goal, best, draws)
    if not reached and not p_reach:
        raise PlannerError(unreachable(fit, task, goal, target, map))
    if np.isnan(best.loss):
        raise PlannerError(no_optimum(fit))
    asked = Question("target", float(target), limits, map.map.spec.y if map else "")
    check_size(fit, task, best, asked)
    quantities = allocation(fit, best, draws) | {"loss": _asked(fit, goal, target, map)}
    extra = derived(fit, best, draws, limits) if reached else {}
    if p_reach is not None and p_reach < 1:  # where it costs infinity, ratios do not exist
        extra |= {k: replace(q, ci68=None, ci95=None, note=NOT_ALWAYS_REACHED) for k, q in extra.items() if k == "D/N"}
    lost = int(np.sum(np.isnan(getattr(draws, fit.law.axis or "C"))))
    return Plan(
        asked,
        known,
        fit.law.name,
        fit.spec.y,
        rule,
        {name: quantities[name] for name in ("N", "D", "C", "loss")},
        extra,
        p_reach,
        warnings=(
            *_risk(fit, target, p_reach, reached, bool(limits.given)),
            *(_least_money(fit, task, best) if reached else ()),
            *apart(fit, best, rule),
            *plans.uncredited(fit, limits, best.D),
            *plans.repeats(fit, extra.get("epochs")),
            *plans.warnings(fit, quantities, lost),
        ),
        maps=(map.map.hash,) if map else (),
        **beside(fit, task, best, draws, other if reached else None),
    )


def _least_money(fit: Fit, task: Task, best: Point) -> tuple[FitWarning, ...]:
    """What the least compute would cost, where the plan takes less money with more of it."""
    if task.prices is None or not task.aim.weighs or not is_surface(fit.law):
        return ()
    at = replace(task, aim=COMPUTE).best(fit)
    with np.errstate(invalid="ignore"):
        dearer = float(task.cost(at) / task.cost(best))
    if not dearer >= WORTH_SAYING:
        return ()
    total = count(float(task.cost(at)), 3)
    text = (
        f"The plan takes least money, not least compute: with {flops(float(at.C))} for {count(float(at.N), 3)} "
        f"parameters on {count(float(at.D), 3)} {plans.sample_unit(fit)} it would cost {total} {task.prices.currency}."
    )
    return (FitWarning(LEAST_MONEY, text),)


def _reach(fit: Fit, task: Task, goal: Goal, best: Point, draws: Point) -> tuple[bool, float | None]:
    """Whether the best fit reaches the goal, and the share of resamples that do (None without resamples)."""
    if task.limits:
        able, many = np.isfinite(best.C), np.isfinite(draws.C)
    else:
        able, many = floor(fit.law, fit.values) < goal.best, floor(fit.law, fit.draws) < goal.draws
    return bool(able), float(np.mean(many)) if len(fit.resamples) else None


def _asked(fit: Fit, goal: Goal, target: float, map: Through | None) -> Quantity:
    """The loss of the plan: the target itself, or what the map asks for."""
    span = plans.spans(fit).get("loss")
    if map is None:
        return given(fit, target, fit.spec.y, span)
    return measure(fit, float(fit.sign * goal.best), fit.sign * goal.draws, fit.spec.y, span)


def _check(fit: Fit, target: float, map: Through | None) -> None:
    if not math.isfinite(target):
        raise PlannerError(f"A target of {target:g} is no number: give one such as 2.0.")
    if map is not None:
        return
    seen = plans.spans(fit).get("loss")
    positive = fit.sign > 0 and (seen is None or seen[0] > 0)
    if positive and target <= 0:
        raise PlannerError(
            f"A target {fit.spec.y} of {target:g} cannot be: the runs have positive ones, so give one above zero."
        )


def _risk(fit: Fit, target: float, p_reach: float | None, reached: bool, limited: bool) -> tuple[FitWarning, ...]:
    """What the resamples say about reaching the target at all."""
    if p_reach is None or p_reach == 1.0:
        return ()
    return (*_share(fit, target, p_reach, reached, limited), *_of_minima(fit))


def _of_minima(fit: Fit) -> tuple[FitWarning, ...]:
    """A warning where the probability is that of a law of minima, which simulations show to be too high."""
    if fit.law.estimator != "parabola":
        return ()
    text = (
        f"Refits of iso-FLOP minima tend to a {bound(fit)} that is too {'low' if fit.sign > 0 else 'high'}, so this "
        "probability is too high, in simulations by 20 to 30 points near one half: fit a surface such as chinchilla."
    )
    return (FitWarning(plans.OPTIMISTIC, text),)


def _share(fit: Fit, target: float, p_reach: float, reached: bool, limited: bool) -> tuple[FitWarning, ...]:
    """How many resamples reach the target, in words."""
    n = len(fit.resamples)
    share = f"{round(p_reach * n):,} of {n:,} resamples"
    if limited:
        text = f"The best fit {'reaches' if reached else 'does not reach'} {target:g} within the limits; {share} do."
        return (FitWarning(plans.UNCERTAIN_FLOOR if reached else plans.BEST_FIT_FAILS, text),)
    if not reached:
        text = f"The best fit cannot reach {target:g}: its {bound(fit)} forbids it; {share} can."
        return (FitWarning(plans.BEST_FIT_FAILS, text),)
    text = f"Only {share} have a {bound(fit)} that allows {target:g}; the others count as infinite cost."
    return (FitWarning(plans.UNCERTAIN_FLOOR, text),)
