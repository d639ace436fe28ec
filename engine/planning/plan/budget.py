"""Question 1: a budget -> N*, D*, the loss to expect, how flat the optimum is, and what limits make of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

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
from isoplan.engine.planning.plan.flatness import flat
from isoplan.engine.planning.plan.infeasible_limits import clash, listed, loosen
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.parts import CostLine, SecondRuleCost, Worth
from isoplan.engine.planning.plan.shadow_prices import worths
from isoplan.engine.planning.plan.solve import Question, Task
from isoplan.engine.planning.plan.support import support, too_far, within_reach
from isoplan.engine.planning.scenario.limits import NO_LIMITS, LimitName, Limits
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import count

ONE = 1 - 1e-9
"""One parameter or one sample, up to rounding."""
BEYOND, POINTS = 10.0, 50
"""Factor beyond the runs, and number of N, for the search of a loss without a minimum in N."""


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
        *converted(prices, task.limits, False, float(best.N)),
        *plans.uncredited(fit, limits, best.D),
        *plans.repeats(fit, extra.get("epochs")),
        *plans.impossible(extra),
    )
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
            *(() if too_far(fit, quantities) else of_answer),
            *plans.warnings(fit, quantities, lost),
        ),
        maps=tuple(m.map.hash for m in maps),
        support=support(fit, rule, quantities),
        **beside(fit, task, best, near, other, spent=spent),
    )


def nothing(fit: Fit, task: Task, C: float) -> str:
    """Why a budget has no answer."""
    if set(task.limits) - {"budget"}:
        most = clash(fit.law, task.limits, lambda some: _answered(fit, task, some))
        return f"{_limits(most, task.prices)} no model and no samples to train: {loosen(most)}."
    if not task.rule.proportional:
        return f"Under {task.rule.text} nothing spends {C:.3g} FLOPs."
    return at_an_end(fit, task.rule, C) or no_optimum(fit)


def check_size(fit: Fit, task: Task, at: Point, asked: Question) -> None:
    """Raise PlannerError where the answer ``at`` of the best fit is less than one parameter or less than one sample.

    The sentence names the limits where those are to blame, else the budget or target that was ``asked``. Runs that
    have less than one themselves count in another unit, and refuse nothing.
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
        raise PlannerError(f"A budget of {count(asked.value, 3)} FLOPs buys {shown}, {less}: give a larger one.")
    harder = "a harder" if asked.metric else "a higher" if fit.larger_is_better else "a lower"
    what = f"A target {asked.metric or fit.spec.y} of {asked.value:g}"
    raise PlannerError(f"{what} takes {shown}, {less}: ask for {harder} one.")


def _whole(fit: Fit, at: Point) -> bool:
    """Whether there is at least one parameter and one sample, as far as the law says and the runs count in ones."""
    spans = plans.spans(fit)
    return not any(x < ONE and spans.get(name, (1.0, 1.0))[0] >= 1 for name, x in (("N", at.N), ("D", at.D)))


def _bare(task: Task) -> dict[LimitName, float]:
    return {name: most for name, most in task.limits.items() if name == "budget"}


def _answered(fit: Fit, task: Task, limits: Mapping[LimitName, float]) -> bool:
    return bool(np.isfinite(replace(task, limits=limits).best(fit).loss))


def _limits(most: Mapping[LimitName, float], prices: Prices | None) -> str:
    """The subject of what limits leave: "The limit of 5 EUR leaves"."""
    return (
        f"The limits of {listed(most, prices)} leave"
        if len(most) > 1
        else f"The limit of {listed(most, prices)} leaves"
    )


def at_an_end(fit: Fit, rule: ComputeRule, C: float) -> str:
    """Return the sentence for a law whose loss at ``C`` FLOPs falls all the way to one end of N; empty otherwise."""
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
        f"At {count(C, 3)} FLOPs the loss has no minimum in N: the optimum is at the limit of N, the {side} "
        f"model. Set a limit on {limit}, or fit a law with separate terms for N and D."
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
    """D/N, passes over the unique samples (those of the plan, else the most that the runs had), and the training time.

    How many samples are unique is told where the plan simulates fewer than the limits allow. The time is that on the
    machine of the runs, where they say how long they took.
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
    """The training time on the machine of the runs; its interval holds the scatter of the runs' times too.

    None where the runs do not say how long they took.
    """
    runtime = fit.data.runtime
    if runtime is None:
        return None
    scatter = runtime.scatter * np.random.default_rng(fit.spec.seed).standard_normal(len(fit.resamples))
    many = runtime.seconds(draws.N, draws.D) * np.exp(scatter)
    return measure(fit, float(runtime.seconds(best.N, best.D)), many, "s")


class Beside(TypedDict):
    """The fields of a plan that are empty unless they were asked for."""

    prices: Prices | None
    bill: tuple[CostLine, ...]
    worth: tuple[Worth, ...]
    restated: SecondRuleCost | None


def beside(
    fit: Fit, task: Task, best: Point, draws: Point, other: ComputeRule | None, *, spent: bool = False
) -> Beside:
    """Return bill, worth of limits and second cost of the answer ``best`` (), ``draws`` (r,), if they were asked for.

    ``spent`` says that its compute is a given budget.
    """
    limited = set(task.limits) - {"budget"}
    return Beside(
        prices=task.prices,
        bill=bill(fit, best, draws, task.prices, spent) if task.prices is not None else (),
        worth=worths(fit, task, best) if limited else (),
        restated=restate(fit, best, draws, task.rule, other) if other is not None else None,
    )
