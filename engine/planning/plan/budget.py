"""Plan for a budget: optimal N and D, expected loss, flatness of the optimum, and effect of limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import FROM_ONE, possible, sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import IMPOSSIBLE, Quantity, given, measure, unsaid
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan import answer as plans
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.bill import bill, converted
from isoplan.engine.planning.plan.convention import apart, restate
from isoplan.engine.planning.plan.largest_model import solve_within_support
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.sensitivity import flat, stated_worths
from isoplan.engine.planning.plan.solve import Task, clash, listed, loosen
from isoplan.engine.planning.plan.support import support, too_far, within_reach
from isoplan.engine.planning.scenario.limits import NO_LIMITS, LimitName, Limits, Question
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import count

ONE = 1 - 1e-9
"""Smallest model size and smallest number of samples of a valid plan: 1 minus a margin for rounding."""
BEYOND, POINTS = 10.0, 50
"""Range and number of points of a search for a minimum of the loss in N. The search evaluates ``POINTS`` values of N
between a factor ``BEYOND`` below the runs and a factor ``BEYOND`` above the runs.
"""


def plan_budget(
    fit: Fit,
    C: float,
    rule: ComputeRule | None = None,
    *,
    limits: Limits = NO_LIMITS,
    prices: Prices | None = None,
    other: ComputeRule | None = None,
    maps: tuple[Through, ...] = (),
    money: float | None = None,
) -> Plan:
    """Plan the best use of ``C`` FLOPs by the law of ``fit``, within ``limits``.

    ``rule`` is the compute rule, by default the rule of the fit. ``prices`` add the bill, ``other`` adds the cost by a
    second compute rule, and ``maps`` add the metrics that they predict. Each map must come from ``through`` with this
    fit. ``money`` is the amount from which ``spendable`` computed ``C`` and ``limits``. Raises PlannerError if the
    budget is not a positive number, if the law has no compute-optimal frontier, if a limit cannot be applied, or if no
    model can be trained within the budget and the limits.
    """
    if not (math.isfinite(C) and C > 0):
        raise PlannerError(f"The budget of {C:g} FLOPs is not positive. Give a positive number, such as 1e20.")
    rule = rule or fit.compute
    task = Task(rule, {"budget": float(C), **limits.given}, prices=prices)
    solved = solve_within_support(fit, task)
    task, best, draws = solved.task, solved.best, solved.draws
    if not np.isfinite(best.loss):
        raise PlannerError(nothing(fit, task, C))
    check_size(fit, task, best, Question("budget", float(C)))
    spent = not limits.given
    quantities = allocation(fit, best, draws)
    if spent:
        quantities |= {"C": given(fit, C, "FLOPs", plans.spans(fit).get("C"))}
    if (note := quantities["loss"].note).startswith(IMPOSSIBLE):
        raise PlannerError(
            f"At {count(float(C), 3)} FLOPs the {fit.spec.y} is {note}: ask for a budget nearer to the runs."
        )
    near = within_reach(fit, draws)
    extra = derived(fit, best, draws, limits)
    for m in maps:
        extra[m.map.spec.y] = m.metric(best.loss, draws.loss[m.kept])
    lost = int(np.sum(np.isnan(draws.loss)))
    of_answer = (
        *solved.warnings,
        *converted(prices, task.limits, False, float(best.N)),
        *plans.uncredited(fit, limits, best.D),
        *plans.repeats(fit, extra.get("epochs")),
        *plans.impossible(extra),
    )
    return Plan(
        Question("budget", float(C), limits, money=money),
        fit.hash,
        fit.law.name,
        fit.spec.y,
        rule,
        {name: quantities[name] for name in ("N", "D", "C", "loss")},
        extra,
        flat=flat(fit, task, best, draws),
        warnings=(
            *apart(fit, best, rule),
            *(() if too_far(fit, quantities) else of_answer),
            *plans.warnings(fit, quantities, lost),
        ),
        maps=tuple(m.map.hash for m in maps),
        support=support(fit, rule, quantities),
        prices=prices,
        bill=bill(fit, best, near, prices, spent),
        worth=stated_worths(fit, task, best, limits, money),
        restated=restate(fit, best, near, rule, other),
    )


def nothing(fit: Fit, task: Task, C: float) -> str:
    """Return a sentence that states why no model can be trained with ``C`` FLOPs within the limits of ``task``."""
    if set(task.limits) - {"budget"}:
        most = clash(fit.law, task.limits, lambda some: _answered(fit, task, some))
        return f"{_limits(most, task.prices)} no model and no samples to train: {loosen(most)}."
    if not task.rule.proportional:
        return f"Under {task.rule.text} no N and D cost {C:.3g} FLOPs."
    return at_an_end(fit, task.rule, C) or no_optimum(fit)


def check_size(fit: Fit, task: Task, at: Point, asked: Question) -> None:
    """Raise PlannerError if the answer ``at`` of the best fit has less than one parameter or less than one sample.

    The message names the limits that cause the small size. If no limit causes it, the message names the budget or the
    target of ``asked``. N or D is not checked if a run has a value below one, because the runs then use another unit.
    """
    if _whole(fit, at):
        return
    sizes = ((at.N, "parameters"), (at.D, sample_unit(fit)))
    shown = " on ".join(f"{count(float(x), 2)} {unit}" for x, unit in sizes if not np.isnan(x))
    less = " and ".join(f"less than one {unit.removesuffix('s')}" for x, unit in sizes if x < ONE)
    if set(task.limits) - {"budget"} and _whole(fit, replace(task, limits=_bare(task)).best(fit)):
        most = clash(fit.law, task.limits, lambda some: _whole(fit, replace(task, limits=some).best(fit)))
        raise PlannerError(f"{_limits(most, task.prices)} {shown}, {less}: {loosen(most)}.")
    if asked.kind == "budget":
        raise PlannerError(f"A budget of {count(asked.value, 3)} FLOPs buys {shown}, {less}: give a larger budget.")
    harder = "a harder" if asked.metric else "a higher" if fit.larger_is_better else "a lower"
    what = f"A target {asked.metric or fit.spec.y} of {asked.value:g}"
    raise PlannerError(f"{what} takes {shown}, {less}: ask for {harder} target.")


def _whole(fit: Fit, at: Point) -> bool:
    """Return whether N and D of the point ``at`` are at least one.

    N or D is not checked if it is NaN, or if a run has a value below one (the runs then use another unit).
    """
    spans = plans.spans(fit)
    return not any(x < ONE and spans.get(name, (1.0, 1.0))[0] >= 1 for name, x in (("N", at.N), ("D", at.D)))


def _bare(task: Task) -> dict[LimitName, float]:
    return {name: most for name, most in task.limits.items() if name == "budget"}


def _answered(fit: Fit, task: Task, limits: Mapping[LimitName, float]) -> bool:
    return bool(np.isfinite(replace(task, limits=limits).best(fit).loss))


def _limits(most: Mapping[LimitName, float], prices: Prices | None) -> str:
    """Return the beginning of a sentence about limits, such as "The limit of 5 EUR leaves"."""
    return (
        f"The limits of {listed(most, prices)} leave"
        if len(most) > 1
        else f"The limit of {listed(most, prices)} leaves"
    )


def at_an_end(fit: Fit, rule: ComputeRule, C: float) -> str:
    """Return a sentence on a loss without a minimum in N at ``C`` FLOPs. Such a loss only rises or only falls with N.

    The result is empty if the loss has a minimum, or if the law does not depend on both N and D.
    """
    ranges = fit.data.ranges
    vanished = any(t.axis is not None and not float(fit.values[t.amplitude]) for t in fit.law.terms)
    if not fit.law.is_surface or vanished or not {"N", "D"} <= ranges.keys():
        return ""
    N = np.geomspace(ranges["N"][0] / BEYOND, ranges["N"][1] * BEYOND, POINTS)
    loss = loss_at(fit.law, fit.values, N, rule.samples(np.full_like(N, C), N))
    steps = np.diff(loss)
    if not np.isfinite(steps).all() or not ((steps > 0).all() or (steps < 0).all()):
        return ""
    side, limit = ("smallest", "the number of samples") if steps[0] > 0 else ("largest", "the model size")
    return (
        f"At {count(C, 3)} FLOPs the loss has no minimum in N: the {side} possible model is the best. "
        f"Set a limit on {limit}, or fit a law with separate terms for N and D."
    )


def no_optimum(fit: Fit) -> str:
    """Return a sentence which states that the best fit has no compute-optimal point for the question.

    The sentence includes the parameter values of the fit.
    """
    values = ", ".join(f"{name} = {float(v):.3g}" for name, v in fit.values.items())
    return (
        "This fit has no compute-optimal point for this question, because one of its terms is zero or far out of "
        f"range ({values}): ask for less extreme numbers, add runs in which N and D vary independently, or fix a "
        "parameter."
    )


def allocation(fit: Fit, best: Point, draws: Point) -> dict[str, Quantity]:
    """Return N, D, C and loss: values from the best fit ``best`` (), intervals from the resamples ``draws`` (r,)."""
    spans = plans.spans(fit)
    sizes = {
        "N": (best.N, draws.N, "parameters"),
        "D": (best.D, draws.D, sample_unit(fit)),
        "C": (best.C, draws.C, "FLOPs"),
    }
    found = {
        name: unsaid(fit, unit, name) if np.isnan(value) else measure(fit, float(value), r, unit, spans.get(name))
        for name, (value, r, unit) in sizes.items()
    }
    loss = measure(
        fit, fit.sign * float(best.loss), fit.sign * draws.loss, fit.spec.y, spans.get("loss"), possible(fit)
    )
    return found | {"loss": loss}


def derived(fit: Fit, best: Point, draws: Point, limits: Limits = NO_LIMITS) -> dict[str, Quantity]:
    """Return D/N, the passes over the unique samples, and the training time, by name; empty if N or D is NaN.

    If the plan has a finite number U of unique samples, "passes" is D / U; "U" is included if it differs from the limit
    on unique samples. Otherwise "epochs" is D divided by the largest U of the runs. "time" is the training time on the
    machine of the runs; it is omitted if the times of the runs are not known.
    """
    if np.isnan(best.N) or np.isnan(best.D):
        return {}
    unit = sample_unit(fit)
    with np.errstate(invalid="ignore"):
        found = {"D/N": measure(fit, float(best.D / best.N), draws.D / draws.N, f"{unit} per parameter")}
        draws = within_reach(fit, draws)
    if np.isfinite(best.U):
        simulated = np.minimum(draws.D, draws.U)
        if min(best.D, best.U) != limits.unique:
            found["U"] = measure(fit, float(min(best.D, best.U)), simulated, unit)
        passes = max(float(best.D / best.U), 1.0)
        found["passes"] = measure(fit, passes, draws.D / simulated, "passes", within=FROM_ONE)
    elif unique := plans.spans(fit).get("U"):
        found["epochs"] = measure(fit, float(best.D / unique[1]), draws.D / unique[1], "passes")
    return found | ({} if (time := time_of(fit, best, draws)) is None else {"time": time})


def time_of(fit: Fit, best: Point, draws: Point) -> Quantity | None:
    """Return the training time in seconds on the machine of the runs; None if no training time of the runs is known.

    The interval includes the scatter of the measured times around the fitted time.
    """
    runtime = fit.data.runtime
    if runtime is None:
        return None
    scatter = runtime.scatter * np.random.default_rng(fit.spec.seed).standard_normal(len(fit.resamples))
    many = runtime.seconds(draws.N, draws.D) * np.exp(scatter)
    return measure(fit, float(runtime.seconds(best.N, best.D)), many, "s")
