"""Question 1: a budget -> N*, D*, the loss to expect, how flat the optimum is, and what limits make of it."""

from __future__ import annotations

import math

import numpy as np

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.laws import Point
from engine.planning import plan as plans
from engine.planning.convention import apart
from engine.planning.extras import beside
from engine.planning.flat import flat
from engine.planning.limits import NO_LIMITS, WORDS, Limits
from engine.planning.metric import Through
from engine.planning.plan import Plan, Question
from engine.planning.pricing.prices import Prices
from engine.planning.quantity import Quantity, given, measure, unsaid
from engine.planning.solve import Task


def plan_budget(
    fit: Fit,
    C: float,
    rule: ComputeRule | None = None,
    *,
    limits: Limits = NO_LIMITS,
    prices: Prices | None = None,
    other: ComputeRule | None = None,
    maps: tuple[Through, ...] = (),
) -> Plan:
    """The best use of ``C`` FLOPs by the law of ``fit``, under its compute rule or ``rule``, within ``limits``.

    ``prices`` add the bill, ``other`` the cost by a second compute rule, ``maps`` (made of this fit by ``through``) the
    metrics to expect. Raises PlannerError for a budget that is no positive number, for a law that knows no frontier,
    and for limits that it cannot keep.
    """
    if not (math.isfinite(C) and C > 0):
        raise PlannerError(f"A budget of {C:g} FLOPs buys nothing: give a positive number, such as 1e20.")
    rule = rule or fit.compute
    task = Task(rule, {"budget": float(C), **limits.given}, prices=prices)
    best, draws = task.best(fit), task.draws(fit)
    if not np.isfinite(best.loss):
        raise PlannerError(nothing(fit, task, C))
    spent = not limits.given
    quantities = allocation(fit, best, draws)
    if spent:
        quantities |= {"C": given(fit, C, "FLOPs", plans.spans(fit).get("C"))}
    extra = derived(fit, best, draws, limits)
    for m in maps:
        extra[m.map.spec.y] = m.metric(best.loss, draws.loss[m.kept])
    lost = int(np.sum(np.isnan(draws.loss)))
    return Plan(
        Question("budget", float(C), limits),
        fit.hash,
        fit.law.name,
        fit.spec.y,
        rule,
        {name: quantities[name] for name in ("N", "D", "C", "loss")},
        extra,
        flat=flat(fit, task, best, draws),
        warnings=(
            *apart(fit, best, rule),
            *plans.uncredited(fit, limits),
            *plans.repeats(fit, extra.get("epochs")),
            *plans.warnings(fit, quantities, lost),
        ),
        maps=tuple(m.map.hash for m in maps),
        **beside(fit, task, best, draws, other, spent=spent),
    )


def nothing(fit: Fit, task: Task, C: float) -> str:
    """Why a budget has no answer."""
    if set(task.limits) - {"budget"}:
        named = " and ".join(WORDS[name] for name in task.limits)
        return f"The limits on {named} leave no model and no samples to train: loosen one of them."
    return no_optimum(fit) if task.rule.proportional else f"Under {task.rule.text} nothing spends {C:.3g} FLOPs."


def no_optimum(fit: Fit) -> str:
    """The sentence for a best fit that has no optimum where it was asked."""
    values = ", ".join(f"{name} = {float(v):.3g}" for name, v in fit.values.items())
    return (
        "This fit has no compute-optimal point there, because one of its terms has vanished or is out of all range "
        f"({values}): ask for less extreme numbers, add runs that vary N and D apart, or fix a parameter."
    )


def allocation(fit: Fit, best: Point, draws: Point) -> dict[str, Quantity]:
    """N, D, C and loss with intervals from the best fit's point and the resamples' (r,)."""
    spans = plans.spans(fit)
    sizes = {
        "N": (best.N, draws.N, "parameters"),
        "D": (best.D, draws.D, plans.sample_unit(fit)),
        "C": (best.C, draws.C, "FLOPs"),
    }
    found = {
        name: unsaid(fit, unit, name) if np.isnan(value) else measure(fit, float(value), r, unit, spans.get(name))
        for name, (value, r, unit) in sizes.items()
    }
    loss = measure(fit, fit.sign * float(best.loss), fit.sign * draws.loss, fit.spec.y, spans.get("loss"))
    return found | {"loss": loss}


def derived(fit: Fit, best: Point, draws: Point, limits: Limits = NO_LIMITS) -> dict[str, Quantity]:
    """D/N, and passes over the unique samples: those of the plan, else the most that the runs had where they say.

    How many samples are unique is told where the plan simulates fewer than the limits allow.
    """
    if np.isnan(best.N) or np.isnan(best.D):
        return {}
    unit = plans.sample_unit(fit)
    with np.errstate(invalid="ignore"):
        found = {"D/N": measure(fit, float(best.D / best.N), draws.D / draws.N, f"{unit} per parameter")}
    if np.isfinite(best.U):
        if best.U != limits.unique:
            found["U"] = measure(fit, float(best.U), np.minimum(draws.D, draws.U), unit)
        passes = np.where(np.isinf(draws.U), 1.0, draws.D / draws.U)
        found["passes"] = measure(fit, float(best.D / best.U), passes, "passes")
        return found
    unique = plans.spans(fit).get("U")
    if unique:
        found["epochs"] = measure(fit, float(best.D / unique[1]), draws.D / unique[1], "passes")
    return found
