"""Reading and answering of typed questions for a budget or a target, for the page, the terminal and Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.largest_model import limit_model
from isoplan.engine.planning.plan.map_form import form_notes
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.money import read_budget, spendable
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.solve import Task, task_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.plan.utilisation import utilisation_note, with_reached_utilisation
from isoplan.engine.planning.scenario.fields import FIELDS, Place
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.scenario.typed_prices import read_limits, read_prices
from isoplan.engine.quantities import Reading, parse_number

OURS = ("our_params", "our_samples")
"""Fields of the user's own plan. The answer is compared with this plan."""


@dataclass(frozen=True)
class Asked:
    """A question that was read from texts, with its prices and the user's own plan.

    ``reading`` states how the text of a budget was interpreted. It is None for a target. It is also None for a budget
    in money, because the plan converts such a budget. ``ours`` contains N and D of the user's own plan; None if the
    user gives no plan.
    """

    question: Question
    prices: Prices | None = None
    reading: Reading | None = None
    ours: tuple[float, float] | None = None


def read_question(texts: Mapping[str, str], place: Place, *, target: str = "", metric: str = "") -> Asked:
    """Read a question from typed texts: a budget or a target, limits, prices, and the user's own plan.

    ``texts`` contains the texts by the name of their field. The text "budget" is an amount of FLOPs, device hours or
    money. Without this text, the question is about the target in the text "target_loss". The target is a value of
    ``metric`` if this name is given, otherwise of the quantity that the fit predicts. ``target`` is the name of the
    target field in error messages. Raises PlannerError if a field is wrong; the message names this field.
    """
    limits, prices = read_limits(texts, place), read_prices(texts, place)
    ours = read_ours(texts, place)
    if "budget" in texts:
        question, reading = read_budget(texts["budget"], prices, limits, place)
        return Asked(question, prices, reading, ours)
    value = parse_number(texts.get("target_loss", ""), target or FIELDS["target_loss"].called(place))
    return Asked(Question("target", value, limits, metric), prices, None, ours)


def answer_question(
    fit: Fit,
    asked: Asked,
    rule: ComputeRule | None = None,
    other: ComputeRule | None = None,
    maps: tuple[Through, ...] = (),
) -> Plan:
    """Answer the question ``asked``. If it contains the user's own plan, compare the answer with that plan.

    ``rule`` is the compute rule; None means the rule of the fit. ``other`` is a second rule, by which the cost of the
    plan is computed as well. ``maps`` predict metrics from the loss; for a target in a metric the first map is used.
    Raises PlannerError if the question has no answer.
    """
    question, map = asked.question, maps[0] if maps and asked.question.metric else None
    prices = with_reached_utilisation(asked.prices, lambda some: _size(fit, question, some, rule or fit.compute, map))
    if question.kind == "budget":
        C, limits = _spendable(fit, question, prices, rule)
        plan = plan_budget(
            fit, C, rule, limits=limits, prices=prices, other=other, maps=maps, money=question.money
        )  # fmt: skip
    else:
        plan = plan_target(
            fit, question.value, rule, limits=question.limits, prices=prices, other=other, map=map
        )  # fmt: skip
    if plan.answers:
        notes = (*utilisation_note(prices, plan.allocation["N"].value), *form_notes(one.map for one in maps))
        plan = replace(plan, warnings=(*plan.warnings, *notes))
    if asked.ours is None:
        return plan
    return replace(plan, saving=save_against(fit, plan, *asked.ours))


def _size(fit: Fit, question: Question, prices: Prices, rule: ComputeRule, map: Through | None) -> float:
    """Return N of the answer to ``question`` with ``prices``; NaN if there is no answer."""
    try:
        if map is None:
            value, limits = _spendable(fit, question, prices, rule)
            law, task = fit, task_of(fit, replace(question, value=value, limits=limits), rule, prices)
        else:
            law, task = map.law, Task(rule, question.limits.given, map.goal(question.value), prices, prices.aim)
        return float(limit_model(law, task)[0].N)
    except PlannerError:  # the plan raises the same error
        return math.nan


def _spendable(fit: Fit, question: Question, prices: Prices | None, rule: ComputeRule | None) -> tuple[float, Limits]:
    """Return the FLOPs and the limits of a budget; a budget in money is converted by ``prices``."""
    if question.money is None or prices is None:
        return question.value, question.limits
    return spendable(fit, question.money, prices, rule, question.limits)


def read_ours(texts: Mapping[str, str], place: Place) -> tuple[float, float] | None:
    """Return N and D of the user's own plan; None if both are missing. Raises PlannerError if only one is missing."""
    given = [name for name in OURS if texts.get(name, "").strip()]
    if not given:
        return None
    if len(given) == 1:
        missing = next(name for name in OURS if name not in given)
        raise PlannerError(f"Give the {FIELDS[missing].called(place)} with the {FIELDS[given[0]].called(place)}.")
    N, D = (float(FIELDS[name].value(texts[name], place)) for name in OURS)
    return N, D
