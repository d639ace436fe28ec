"""Saving of a plan compared with a stated plan of N parameters on D samples, at the same loss."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import possible, sample_unit
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import Quantity, given, measure
from isoplan.engine.planning.optimum.surface import loss_at
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.bill import unknown, why_unknown
from isoplan.engine.planning.plan.budget import allocation
from isoplan.engine.planning.plan.largest_model import solve_within_support
from isoplan.engine.planning.plan.parts import Saving
from isoplan.engine.planning.plan.solve import Goal, Task
from isoplan.engine.planning.plan.support import too_far, within_reach
from isoplan.engine.planning.plan.utilisation import reached
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import COMPUTE, Prices

SHARE: Interval = (-math.inf, 100.0)
"""Possible savings in percent."""


def save_against(fit: Fit, plan: Plan, N: float, D: float, prices: Prices | None = None) -> Saving:
    """Compare a stated plan of ``N`` parameters on ``D`` samples with the cheapest plan of the same loss.

    The compute rule of ``plan`` gives the compute of both plans, and ``prices`` (by default those of ``plan``) give the
    money. If the law describes repeated samples, the cheapest plan respects the limit of ``plan`` on unique samples.
    "Cheapest" means least money if samples or queries have a price, otherwise least compute. Each resample of the fit
    has its own loss and its own cheapest plan. Raises PlannerError if N or D is not positive, if the law does not
    predict a loss from N and D, or if the stated plan lies too far beyond the runs.
    """
    for name, x in (("N", N), ("D", D)):
        if not (math.isfinite(x) and x > 0):
            raise PlannerError(f"Your plan: {name} must be a positive number.")
    if not fit.law.is_surface:
        raise PlannerError(
            f"The law {fit.law.name} does not predict {fit.spec.y} from N and D: compare with a law over N and D, such "
            "as chinchilla."
        )
    rule, prices = plan.compute, prices or plan.prices
    U = math.inf if plan.question.limits.unique is None else plan.question.limits.unique
    best_loss, losses = (_loss(fit, v, N, D, U) for v in (fit.values, fit.draws))
    C = float(rule.flops_anywhere(N, D))
    unit, seen = sample_unit(fit), spans(fit)
    stated = {
        "N": given(fit, N, "parameters", seen.get("N")),
        "D": given(fit, D, unit, seen.get("D")),
        "C": given(fit, C, "FLOPs", seen.get("C")),
        "loss": measure(
            fit, fit.sign * float(best_loss), fit.sign * losses, fit.spec.y, seen.get("loss"), possible(fit)
        ),
    }
    if not math.isfinite(best_loss) or too_far(fit, stated):
        raise PlannerError("Your plan is too far beyond the runs to be compared: enter N and D nearer to the runs.")
    limits: dict[LimitName, float] = {"unique": U} if fit.law.repeats else {}
    task = Task(rule, limits, Goal(best_loss, losses), prices, prices.aim if prices else COMPUTE)
    solved = solve_within_support(fit, task)
    best, draws = solved.best, within_reach(fit, solved.draws)
    saved, many = C - float(best.C), C - np.asarray(draws.C)
    flops = measure(fit, saved, many, "FLOPs")
    percent = measure(fit, 100 * saved / C, 100 * many / C, "%", within=SHARE)
    cheapest = allocation(fit, best, draws) | {"loss": stated["loss"]}
    paid = _money(fit, prices, (N, D, C, U), best, draws)
    if paid is None:
        return Saving(stated, cheapest, flops, percent, fit.spec.y)
    ours, theirs, money, share = paid
    in_money = task.aim.weighs
    return Saving(
        stated, cheapest, flops, share if in_money else percent, fit.spec.y, ours, theirs, money, in_money
    )  # fmt: skip


def _loss(fit: Fit, v: Mapping[str, Floats], N: float, D: float, U: float) -> Floats:
    unique = {"U": np.asarray(min(D, U))} if fit.law.repeats else {}
    found = loss_at(fit.law, {**v, **unique}, np.asarray(N), np.asarray(D))
    return np.broadcast_to(found, np.shape(next(iter(v.values()))))


def _money(
    fit: Fit, prices: Prices | None, stated: tuple[float, float, float, float], best: Point, draws: Point
) -> tuple[Quantity, Quantity, Quantity, Quantity] | None:
    """Return the money of the stated plan and of the cheapest plan, and the saving in money and in percent.

    The result is None without prices.
    """
    if prices is None or prices.machine.price is None:
        return None
    N, D, C, U = stated
    first, second = (reached(prices, size) for size in (N, float(best.N)))
    unit = prices.currency
    small = why_unknown(first.machine, N) or why_unknown(second.machine, float(best.N))
    if small:
        return unknown(unit, small), unknown(unit, small), unknown(unit, small), unknown("%", small)
    ours = float(_total(first, Point(*map(np.asarray, (N, D, C, math.nan, U)))))
    theirs, many = float(_total(second, best)), _total(second, draws)
    return (
        given(fit, ours, unit),
        measure(fit, theirs, many, unit),
        measure(fit, ours - theirs, ours - many, unit),
        measure(fit, 100 * (1 - theirs / ours), 100 * (1 - many / ours), "%", within=SHARE),
    )


def _total(prices: Prices, at: Point) -> Floats:
    """Return the total money of the points ``at`` by ``prices``, one per point; infinite for an infinite point."""
    amount = prices.lines(at.C, at.N, np.minimum(at.D, at.U))[-1].amount
    return np.where(np.isinf(at.C) | np.isinf(at.N) | np.isinf(at.D), np.inf, amount)


def saving_rows(saving: Saving) -> list[dict[str, str | Quantity]]:
    """Return three table rows (a label and quantities): the stated plan, the cheapest plan, and the saving."""
    found: list[dict[str, str | Quantity]] = []
    ours = "Your plan", saving.stated, saving.stated_money
    for label, sizes, money in (ours, ("Cheapest plan", saving.cheapest, saving.cheapest_money)):
        row: dict[str, str | Quantity] = {"Plan": label, saving.y: saving.stated["loss"]}
        row |= {f"{name} [{sizes[name].unit}]": sizes[name] for name in ("N", "D", "C")}
        found.append(row | ({} if money is None else {f"Cost [{money.unit}]": money}))
    last: dict[str, str | Quantity] = {**dict.fromkeys(found[0], ""), "Plan": "Saving", "C [FLOPs]": saving.flops}
    return [*found, last | ({} if saving.money is None else {f"Cost [{saving.money.unit}]": saving.money})]
