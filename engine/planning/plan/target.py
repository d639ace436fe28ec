"""Plan for a target: the least compute or money that reaches it, and the probability that it can be reached."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Bools
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import possible, sample_unit
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import NOT_ALWAYS_REACHED, Quantity, given, measure
from isoplan.engine.planning.optimum.frontier import floor
from isoplan.engine.planning.plan import answer as plans
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.bill import bill, converted
from isoplan.engine.planning.plan.budget import allocation, check_size, derived, no_optimum
from isoplan.engine.planning.plan.convention import apart, restate
from isoplan.engine.planning.plan.feasibility import bound, met, reachability, unreachable
from isoplan.engine.planning.plan.largest_model import solve_within_support
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.sensitivity import stated_worths
from isoplan.engine.planning.plan.solve import Goal, Task
from isoplan.engine.planning.plan.support import support, too_far, within_reach
from isoplan.engine.planning.scenario.limits import NO_LIMITS, Limits, Question
from isoplan.engine.planning.scenario.prices import COMPUTE, Prices, Rates
from isoplan.engine.quantities import count, flops

LEAST_MONEY = "least-money"
WORTH_SAYING = 1.001
"""The answer mentions the plan of least compute if its cost in money is at least this number times the cost of the
plan of least money.
"""


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
    """Plan the least cost at which ``target`` is reached, within ``limits``.

    The compute rule is ``rule``, by default that of the fit. The cost is the compute, or the total money if ``prices``
    contain a price for more than training (``Prices.aim``). If ``aim`` is given, it defines the cost instead.

    With a ``map`` (made from this fit by ``through``), ``target`` is a value of the metric of the map, and the plan has
    as many resamples as the map. A resample that cannot reach the target within ``limits`` counts as infinite cost.
    ``prices`` add the bill, and ``other`` adds the cost by a second compute rule.

    Raises PlannerError if the target is not a finite number, is a value that the quantity cannot have, is reached by
    every loss, or is reached neither by the best fit nor by any resample.
    """
    _check(fit, target, map)
    known, rule = fit.hash, rule or fit.compute
    fit = map.law if map else fit
    goal = map.goal(target) if map else Goal(*(np.asarray(fit.sign * target),) * 2)
    if map is not None and np.isnan(goal.best):
        raise PlannerError(met(map, target))
    task = Task(rule, limits.given, goal, prices, aim or (prices.aim if prices else COMPUTE))
    solved = solve_within_support(fit, task)
    task, best, draws = solved.task, solved.best, solved.draws
    reached, many = _reach(fit, task, goal, best, draws)
    asked = Question("target", float(target), limits, map.map.spec.y if map else "")
    described = map.map if map else fit
    able = reachability(
        fit, f"{described.spec.y} {target:g}", bool(limits.given), goal.draws, many, _best_run(described, target)
    )
    if not reached and not many.any() and (able is None or able.verdict == "out of reach"):
        raise PlannerError(unreachable(fit, task, goal, target, map))
    if np.isnan(best.loss):
        raise PlannerError(no_optimum(fit))
    check_size(fit, task, best, asked)
    quantities = allocation(fit, best, draws) | {"loss": _asked(fit, goal, target, map)}
    near = within_reach(fit, draws)
    extra = derived(fit, best, draws, limits) if reached else {}
    if not many.all():  # no interval of D/N: a resample that cannot reach the target has no D/N
        extra |= {k: replace(q, ci68=None, ci95=None, note=NOT_ALWAYS_REACHED) for k, q in extra.items() if k == "D/N"}
    placed = quantities
    if map is not None:
        extra[asked.metric] = given(map.map, target, asked.metric, map.map.data.ranges.get(asked.metric))
        placed = quantities | {asked.metric: extra[asked.metric]}
    lost, far = int(np.sum(np.isnan(getattr(draws, fit.law.axis or "C")))), too_far(fit, placed)
    return Plan(
        asked,
        known,
        fit.law.name,
        fit.spec.y,
        rule,
        {name: quantities[name] for name in ("N", "D", "C", "loss")},
        extra,
        able.probability if able else None,
        reach=able,
        warnings=(
            *_risk(fit, target, reached, many, bool(limits.given), far),
            *(() if far else (*solved.warnings, *_of_answer(fit, task, best, reached, limits, extra))),
            *apart(fit, best, rule),
            *plans.impossible(quantities),
            *plans.warnings(fit, placed, lost),
        ),
        maps=(map.map.hash,) if map else (),
        support=support(fit, rule, placed),
        prices=prices,
        bill=bill(fit, best, near, prices),
        worth=stated_worths(fit, task, best, limits),
        restated=restate(fit, best, near, rule, other if reached else None),
    )


def _of_answer(
    fit: Fit, task: Task, best: Point, reached: bool, limits: Limits, extra: Mapping[str, Quantity]
) -> tuple[FitWarning, ...]:
    """Return the warnings for an answer that the runs support."""
    return (
        *(_least_money(fit, task, best) if reached else ()),
        *converted(task.prices, task.limits, task.aim.weighs, float(best.N)),
        *plans.uncredited(fit, limits, best.D),
        *plans.repeats(fit, extra.get("epochs")),
    )


def _least_money(fit: Fit, task: Task, best: Point) -> tuple[FitWarning, ...]:
    """Return a warning that states what the plan of least compute would cost in money.

    The warning is given only if the plan minimises money and the plan of least compute costs more money.
    """
    if task.prices is None or not task.aim.weighs or not fit.law.is_surface:
        return ()
    at = replace(task, aim=COMPUTE).best(fit)
    with np.errstate(invalid="ignore"):
        dearer = float(task.cost(at) / task.cost(best))
    if not dearer >= WORTH_SAYING:
        return ()
    total = count(float(task.cost(at)), 3)
    text = (
        f"The plan minimises money, not compute. The plan with the least compute, {flops(float(at.C))} for "
        f"{count(float(at.N), 3)} parameters on {count(float(at.D), 3)} {sample_unit(fit)}, costs {total} "
        f"{task.prices.currency}."
    )
    return (FitWarning(LEAST_MONEY, text),)


def _reach(fit: Fit, task: Task, goal: Goal, best: Point, draws: Point) -> tuple[bool, Bools]:
    """Return whether the best fit reaches the goal, and an array (r,) of whether each resample does."""
    if task.limits:
        able, many = np.isfinite(best.C), np.isfinite(draws.C)
    else:
        able, many = floor(fit.law, fit.values) < goal.best, floor(fit.law, fit.draws) < goal.draws
    return bool(able), np.broadcast_to(many, len(fit.resamples))


def _asked(fit: Fit, goal: Goal, target: float, map: Through | None) -> Quantity:
    """Return the loss of the plan with intervals.

    The loss is the target itself. With a ``map``, it is the loss at which the metric equals the target.
    """
    span = plans.spans(fit).get("loss")
    if map is None:
        return given(fit, target, fit.spec.y, span)
    within = possible(fit)
    # A resample in which no possible loss gives the target uses the best possible loss.
    best = within[0 if fit.sign > 0 else 1]
    draws = np.where(np.isneginf(goal.draws) & math.isfinite(best), best, fit.sign * goal.draws)
    return measure(fit, float(fit.sign * goal.best), draws, fit.spec.y, span, within)


def _check(fit: Fit, target: float, map: Through | None) -> None:
    if not math.isfinite(target):
        raise PlannerError(f"The target {target:g} is not a finite number. Give a number such as 2.0.")
    asked = map.map if map is not None else fit
    low, high = possible(asked)
    if not low < target <= high:
        ends = f"above {low:g}" if math.isinf(high) else f"above {low:g} and at most {high:g}"
        raise PlannerError(f"A target {asked.spec.y} of {target:g} is not possible: give a target {ends}.")


def _best_run(fit: Fit, target: float) -> str:
    """Return the result of the best run of the table, such as "a loss of 0.09".

    The text is empty if this run does not reach ``target``.
    """
    best = fit.best_run
    if best is None or not (best >= target if fit.larger_is_better else best <= target):
        return ""
    return f"a {fit.spec.y} of {best:.4g}"


def _risk(fit: Fit, target: float, reached: bool, many: Bools, limited: bool, far: bool) -> tuple[FitWarning, ...]:
    """Return a warning on how resamples that miss the target affect the intervals; empty if all resamples reach it.

    ``many`` (r,) states which resamples reach the target, and ``reached`` states whether the best fit does. ``far``
    states that the runs do not support the plan; the plan then has no intervals.
    """
    if many.all():
        return ()
    within = " within the limits" if limited else ""
    if reached:
        text = f"Some resamples do not reach {target:g}{within}"
        text += "." if far else ": they count as infinite cost in the intervals."
        return (FitWarning(plans.UNCERTAIN_FLOOR, text), *_of_minima(fit))
    text = f"The best fit does not reach {target:g}{within}"
    text += "." if far else ": the intervals are those of the resamples that reach it."
    return (FitWarning(plans.BEST_FIT_FAILS, text), *_of_minima(fit))


def _of_minima(fit: Fit) -> tuple[FitWarning, ...]:
    """Return a warning that no probability is stated for a law of iso-FLOP minima.

    In simulations, the resamples of such a law reach targets too often.
    """
    if fit.law.estimator != "parabola":
        return ()
    side = "high" if fit.larger_is_better else "low"
    text = (
        f"Refits of iso-FLOP minima tend to a {bound(fit)} that is too {side}. In simulations, if about half of the "
        "refits reach a target, the true probability is 20 to 30 percentage points lower. Therefore no probability is "
        "stated. Fit a surface such as chinchilla."
    )
    return (FitWarning(plans.OPTIMISTIC, text),)
