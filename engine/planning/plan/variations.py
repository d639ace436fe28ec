"""Variations of a plan: plans for half the budget, for ten times the budget, and for limits ten per cent larger."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import aligned, cell_texts, decades
from isoplan.engine.planning.answer.quantity import Quantity, given, withheld
from isoplan.engine.planning.answer.standing import SEEN
from isoplan.engine.planning.plan.answer import Plan, spans
from isoplan.engine.planning.plan.bill import bill
from isoplan.engine.planning.plan.budget import allocation
from isoplan.engine.planning.plan.largest_model import solve_within_support
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.money import spendable
from isoplan.engine.planning.plan.parts import CostLine
from isoplan.engine.planning.plan.sensitivity import MORE
from isoplan.engine.planning.plan.solve import Goal, Task
from isoplan.engine.planning.plan.support import too_far
from isoplan.engine.planning.scenario.limits import WORDS, LimitName
from isoplan.engine.planning.scenario.prices import COMPUTE

FACTORS = {"Half of the {}": 0.5, "Ten times the {}": 10.0}
"""Factors of the budget, by label; {} is replaced by "budget" or "money"."""


@dataclass(frozen=True)
class Variation:
    """Answer for another budget or a larger limit: N, D, C, loss, ``metrics`` by name, and the total ``money``.

    ``label`` describes the change. ``money`` is None without prices. If the runs do not support the variation, or if
    the variation has no answer, the quantities have no value, and their notes state the reason.
    """

    label: str
    N: Quantity
    D: Quantity
    C: Quantity
    loss: Quantity
    metrics: Mapping[str, Quantity]
    money: Quantity | None = None

    @property
    def beyond(self) -> str:
        """Largest distance of N, D, C and the loss from the runs, as text; "-" inside the range of the runs."""
        far = max(q.beyond for q in (self.N, self.D, self.C, self.loss))
        return decades(far) if far > SEEN else "-"


def vary(fit: Fit, plan: Plan, maps: tuple[Through, ...] = ()) -> tuple[Variation, ...]:
    """Return the variations of ``plan``: half the budget, ten times the budget, and larger limits.

    Each limit that the plan reaches is raised by ten per cent, while the other limits do not change. A larger limit
    lowers the cost of a plan for a target, and improves the loss of a plan for a budget. The "budget" of a plan for a
    target is its compute, or its money if the plan minimises the total money. A budget in money is scaled as money.
    ``maps`` add the metrics that they predict. The result is empty if ``plan`` has no compute, for example because the
    runs do not support the plan.
    """
    C = plan.allocation["C"].value if plan.question.kind == "target" else plan.question.value
    if C is None or not plan.answers or fit.law.frontier is None:
        return ()
    limits, money = plan.question.limits.given, _money(plan)
    found = [
        _vary(fit, label.format("budget" if money is None else "money"), _scaled(fit, plan, C, money, factor), maps)
        for label, factor in FACTORS.items()
    ]
    for worth in plan.worth:
        if worth.binds and worth.limit in limits:
            more = {**limits, worth.limit: worth.most * MORE}
            found.append(_vary(fit, f"10 % more {WORDS[worth.limit]}", _task(fit, plan, more, maps), maps))
    return tuple(found)


def _money(plan: Plan) -> float | None:
    """Return the money of a budget in money, or the total money of a plan that reaches a target for the least money.

    The result is None for all other plans.
    """
    if plan.question.kind == "budget":
        return plan.question.money
    if plan.question.kind != "target" or plan.prices is None or plan.prices.aim is COMPUTE:
        return None
    total = _total(plan.bill)
    return None if total is None else total.value


def _scaled(fit: Fit, plan: Plan, C: float, money: float | None, factor: float) -> Task:
    """Return the task of ``plan`` with its budget multiplied by ``factor``.

    The budget is ``money`` if this is given, otherwise the compute ``C``.
    """
    limits = plan.question.limits
    if money is None or plan.prices is None:
        return Task(plan.compute, {"budget": C * factor, **limits.given}, prices=plan.prices)
    if limits.money == plan.question.money:  # the limit is the budget, not an additional limit
        limits = replace(limits, money=None)
    most = min(money * factor, math.inf if limits.money is None else limits.money)
    C, limits = spendable(fit, most, plan.prices, plan.compute, limits)
    return Task(plan.compute, {"budget": C, **limits.given}, prices=plan.prices)


def _task(fit: Fit, plan: Plan, limits: Mapping[LimitName, float], maps: tuple[Through, ...]) -> Task:
    """Return the task of ``plan`` with ``limits`` instead of the limits of the plan."""
    asked = plan.question
    if asked.kind == "budget":
        return Task(plan.compute, {"budget": asked.value, **limits}, prices=plan.prices)
    loss = plan.allocation["loss"].value
    one = next((m for m in maps if m.map.spec.y == asked.metric), None)
    goal = one.goal(asked.value) if one else Goal(*(np.asarray(fit.sign * (loss or asked.value)),) * 2)
    return Task(plan.compute, limits, goal, plan.prices, plan.prices.aim if plan.prices else COMPUTE)


def _vary(fit: Fit, label: str, task: Task, maps: tuple[Through, ...]) -> Variation:
    law = maps[0].law if task.goal is not None and task.goal.draws.ndim and maps else fit
    names = [m.map.spec.y for m in maps]
    try:
        solved = solve_within_support(law, task)
    except PlannerError as error:
        return _without(fit, label, str(error), names)
    task, best, draws = solved.task, solved.best, solved.draws
    if not np.isfinite(best.loss) or not np.isfinite(best.C):
        return _without(fit, label, "not possible within the limits", names)
    quantities = allocation(law, best, draws)
    if task.goal is None and set(task.limits) == {"budget"}:
        quantities["C"] = given(fit, task.limits["budget"], "FLOPs", spans(fit).get("C"))
    metrics = {m.map.spec.y: m.metric(best.loss, draws.loss[m.kept] if law is fit else draws.loss) for m in maps}
    spent = task.goal is None and set(task.limits) == {"budget"}
    money = _total(bill(law, best, draws, task.prices, spent))
    if too_far(fit, quantities | metrics):
        money = None if money is None else withheld(money)
        quantities, metrics = ({name: withheld(q) for name, q in some.items()} for some in (quantities, metrics))
    N, D, C, loss = (quantities[name] for name in ("N", "D", "C", "loss"))
    return Variation(label, N, D, C, loss, metrics, money)


def _total(lines: Iterable[CostLine]) -> Quantity | None:
    """Return the total money of the ``lines`` of a bill; None if no line is in money."""
    return next((line.amount for line in lines if (line.part, line.what) == ("total", "money")), None)


def _without(fit: Fit, label: str, note: str, metrics: list[str]) -> Variation:
    N, D, C, loss = (Quantity(None, unit=x, note=note) for x in ("parameters", sample_unit(fit), "FLOPs", fit.spec.y))
    return Variation(label, N, D, C, loss, {name: Quantity(None, unit=name, note=note) for name in metrics})


def variation_rows(plan: Plan, variations: tuple[Variation, ...]) -> list[dict[str, str | Quantity]]:
    """Return ``plan`` and its ``variations`` as table rows. A row maps each column heading to a label or a quantity."""
    N, D, C, loss = (plan.allocation[name] for name in ("N", "D", "C", "loss"))
    names = list(variations[0].metrics) if variations else []
    own = {name: plan.derived[name] for name in names if name in plan.derived}
    this = Variation("This plan", N, D, C, loss, own, _total(plan.bill))
    unit = this.money.unit if this.money is not None else ""
    rows: list[dict[str, str | Quantity]] = []
    for one in (this, *variations):
        row: dict[str, str | Quantity] = {"Change": one.label, "N": one.N, f"D [{one.D.unit}]": one.D}
        row |= {"C [FLOPs]": one.C, plan.y: one.loss, **one.metrics}
        if this.money is not None:
            row[f"Money [{unit}]"] = one.money or Quantity(None, unit=unit, note=one.C.note)
        rows.append(row | {"Beyond the runs": one.beyond})
    return rows


def variation_lines(plan: Plan, variations: tuple[Variation, ...]) -> list[str]:
    """Return the table of ``plan`` and its ``variations`` as lines for a terminal; "-" replaces a missing value.

    The result is empty if there are no variations.
    """
    if not variations:
        return []
    rows = cell_texts(variation_rows(plan, variations))
    return ["", *aligned([list(rows[0]), *(list(row.values()) for row in rows)])]
