"""Question 2: a target -> the least compute that reaches it, and the probability that anything does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit, FitWarning
from engine.planning import plan as plans
from engine.planning.budget import allocation, derived, no_optimum
from engine.planning.frontier import floor, least_compute
from engine.planning.plan import Plan, Question
from engine.planning.quantity import NOT_ALWAYS_REACHED, Quantity, given, measure
from engine.planning.text import between
from engine.quantities import rounded


def plan_target(fit: Fit, target: float, rule: ComputeRule | None = None) -> Plan:
    """The least compute that brings what the law describes to ``target``, under the fit's compute rule or ``rule``.

    Resamples whose floor lies at or above the target count as infinite cost. Raises PlannerError for a target that is
    no number, that the quantity cannot take, or that neither the best fit nor any resample reaches.
    """
    _check(fit, target)
    rule = rule or fit.compute
    goal = np.asarray(fit.sign * target)
    p_reach = float(np.mean(floor(fit.law, fit.draws) < goal)) if len(fit.resamples) else None
    reached = bool(floor(fit.law, fit.values) < goal)
    if not reached and not p_reach:
        raise PlannerError(_unreachable(fit, target))
    best, draws = least_compute(fit.law, fit.values, goal, rule), least_compute(fit.law, fit.draws, goal, rule)
    if np.isnan(best.loss):
        raise PlannerError(no_optimum(fit))
    quantities = allocation(fit, best, draws) | {"loss": given(fit, target, fit.spec.y, plans.spans(fit).get("loss"))}
    extra = derived(fit, best, draws) if reached else {}
    if "D/N" in extra and p_reach is not None and p_reach < 1:  # where it costs infinity, D/N does not exist
        extra["D/N"] = replace(extra["D/N"], ci68=None, ci95=None, note=NOT_ALWAYS_REACHED)
    axis = fit.law.axis or "C"
    lost = int(np.sum(np.isnan(getattr(draws, axis))))
    return Plan(
        Question("target", float(target)),
        fit.hash,
        fit.law.name,
        fit.spec.y,
        rule,
        {name: quantities[name] for name in ("N", "D", "C", "loss")},
        extra,
        p_reach,
        warnings=(
            *_risk(fit, target, p_reach, reached),
            *plans.apart(fit, best, rule),
            *plans.repeats(fit, extra.get("epochs")),
            *plans.warnings(fit, quantities, lost),
        ),
    )


def floor_of(fit: Fit) -> Quantity:
    """The floor (where larger is better, the ceiling) with its intervals, one-sided where it is not resolved."""
    value, draws = floor(fit.law, fit.values), np.broadcast_to(floor(fit.law, fit.draws), len(fit.resamples))
    found = measure(fit, fit.sign * float(value), fit.sign * draws, fit.spec.y)
    if not fit.resampling.floorless:
        return found
    ci68, ci95 = (fit.resampling.limit(float(value), draws, level) for level in (0.68, 0.95))
    return replace(found, ci68=ci68, ci95=ci95)


def _check(fit: Fit, target: float) -> None:
    if not math.isfinite(target):
        raise PlannerError(f"A target of {target:g} is no number: give one such as 2.0.")
    seen = plans.spans(fit).get("loss")
    positive = fit.sign > 0 and (seen is None or seen[0] > 0)
    if positive and target <= 0:
        raise PlannerError(
            f"A target {fit.spec.y} of {target:g} cannot be: the runs have positive ones, so give one above zero."
        )


def _bound(fit: Fit) -> str:
    return "floor" if fit.sign > 0 else "ceiling"


def _unreachable(fit: Fit, target: float) -> str:
    limit = floor_of(fit)
    value = limit.value if limit.value is not None else math.nan
    spread = f" (95 %: {between(limit, limit.ci95)})" if limit.ci95 else ""
    whose = "no resample of this fit reaches it" if len(fit.resamples) else "this law never reaches it"
    easier = "higher" if fit.sign > 0 else "lower"
    return (
        f"A target {fit.spec.y} of {target:g} is out of reach: {whose}, because the {_bound(fit)} is "
        f"{rounded(value, limit.ci95)}{spread}; ask for a {easier} one."
    )


def _risk(fit: Fit, target: float, p_reach: float | None, reached: bool) -> tuple[FitWarning, ...]:
    """What the resamples say about reaching the target at all."""
    if p_reach is None or p_reach == 1.0:
        return ()
    n = len(fit.resamples)
    share = f"{round(p_reach * n):,} of {n:,} resamples"
    if not reached:
        text = f"The best fit cannot reach {target:g}: its {_bound(fit)} forbids it; {share} can."
        return (FitWarning(plans.BEST_FIT_FAILS, text),)
    text = f"Only {share} have a {_bound(fit)} that allows {target:g}; the others count as infinite cost."
    return (FitWarning(plans.UNCERTAIN_FLOOR, text),)
