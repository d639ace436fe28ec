"""Question 1: a budget -> N*, D*, the loss to expect, and how flat the optimum is."""

from __future__ import annotations

import math

import numpy as np

from engine.costs import ComputeRule, increasing_root
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.laws import Point
from engine.laws.law import Floats
from engine.planning import plan as plans
from engine.planning.frontier import frontier
from engine.planning.plan import Flat, Plan, Question
from engine.planning.quantity import Quantity, given, measure, unsaid

TOLERANCE = 0.01
WIDEST = 20.0
"""Decades on either side of N* within which the ends of the flat stretch are looked for."""


def plan_budget(fit: Fit, C: float, rule: ComputeRule | None = None) -> Plan:
    """The best use of ``C`` FLOPs by the law of ``fit``, under its compute rule or ``rule``.

    Raises PlannerError for a budget that is no positive number, and for a law that knows no frontier.
    """
    if not (math.isfinite(C) and C > 0):
        raise PlannerError(f"A budget of {C:g} FLOPs buys nothing: give a positive number, such as 1e20.")
    rule = rule or fit.compute
    budget = np.asarray(float(C))
    best, draws = frontier(fit.law, fit.values, budget, rule), frontier(fit.law, fit.draws, budget, rule)
    if not np.isfinite(best.loss):
        raise PlannerError(no_optimum(fit) if rule.proportional else f"Under {rule.text} nothing spends {C:.3g} FLOPs.")
    quantities = allocation(fit, best, draws) | {"C": given(fit, C, "FLOPs", plans.spans(fit).get("C"))}
    extra = derived(fit, best, draws)
    lost = int(np.sum(np.isnan(draws.loss)))
    return Plan(
        Question("budget", float(C)),
        fit.hash,
        fit.law.name,
        fit.spec.y,
        rule,
        {name: quantities[name] for name in ("N", "D", "C", "loss")},
        extra,
        flat=_flat(fit, best, rule),
        warnings=(
            *plans.apart(fit, best, rule),
            *plans.repeats(fit, extra.get("epochs")),
            *plans.warnings(fit, quantities, lost),
        ),
    )


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


def derived(fit: Fit, best: Point, draws: Point) -> dict[str, Quantity]:
    """D/N, and passes over the most unique samples that the runs had, where the law and the runs say them."""
    if np.isnan(best.N) or np.isnan(best.D):
        return {}
    unit = plans.sample_unit(fit)
    with np.errstate(invalid="ignore"):
        found = {"D/N": measure(fit, float(best.D / best.N), draws.D / draws.N, f"{unit} per parameter")}
    unique = plans.spans(fit).get("U")
    if unique:
        found["epochs"] = measure(fit, float(best.D / unique[1]), draws.D / unique[1], "passes")
    return found


def _flat(fit: Fit, best: Point, rule: ComputeRule) -> Flat | None:
    """Where the iso-FLOP curve of the best fit leaves the 1 % band; None for a law that is no surface over N and D."""
    if set(fit.law.axes) != {"N", "D"} or not np.isfinite(best.N):
        return None
    limit = best.loss + TOLERANCE * abs(best.loss)
    centre = math.log(float(best.N))

    sides = np.array([-1.0, 1.0])

    def excess(x: Floats, side: Floats) -> Floats:
        """Loss over the limit at ln N = centre + side x."""
        N = np.exp(centre + side * x)
        D = rule.samples(best.C, N)
        loss = fit.law.predict(fit.theta, {"N": N, "D": np.where(np.isnan(D), 1.0, D)})
        return np.where(np.isnan(D), np.inf, loss - limit)

    x = increasing_root(excess, 0.0, WIDEST * math.log(10), sides)
    x = np.where(np.isnan(x), np.inf, x)
    N = np.exp(centre + sides * x)
    D = np.where(N == 0, np.inf, np.where(np.isinf(N), 0.0, rule.samples(best.C, np.where(np.isinf(x), best.N, N))))
    return Flat(TOLERANCE, (float(N[0]), float(N[1])), (float(D[0]), float(D[1])))
