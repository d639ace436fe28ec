"""Typed questions for a budget or a target: one reader and one answer for the page, the terminal and Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import Through
from isoplan.engine.planning.plan.money import read_budget
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.fields import FIELDS, Place
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.scenario.typed_prices import read_limits, read_prices
from isoplan.engine.quantities import Reading, parse_number

OURS = ("our_params", "our_samples")
"""Fields of a stated plan, with which the answer is compared."""


@dataclass(frozen=True)
class Asked:
    """A question that was read from texts: the ``question``, the ``prices``, and the stated plan ``ours`` (N, D).

    ``reading`` states how a budget was read; None for a target. ``ours`` is None if no plan is stated.
    """

    question: Question
    prices: Prices | None = None
    reading: Reading | None = None
    ours: tuple[float, float] | None = None


def read_question(
    fit: Fit,
    texts: Mapping[str, str],
    place: Place,
    rule: ComputeRule | None = None,
    *,
    target: str = "",
    metric: str = "",
) -> Asked:
    """Read a question from ``texts`` by the name of their field: the budget, limits, prices, and a stated plan.

    The text "budget" is FLOPs, device hours or money. If it is missing, the question is for the text
    "target_loss", a value of the quantity of ``fit``, or of ``metric`` if this is given; ``target`` names this field in
    sentences. Raises PlannerError that names the wrong field.
    """
    limits, prices = read_limits(texts, place), read_prices(texts, place)
    ours = read_ours(texts, place)
    if "budget" in texts:
        reading = read_budget(fit, texts["budget"], prices, place, rule, limits)
        return Asked(Question("budget", reading.value, limits), prices, reading, ours)
    value = parse_number(texts.get("target_loss", ""), target or FIELDS["target_loss"].called(place))
    return Asked(Question("target", value, limits, metric), prices, None, ours)


def answer_question(
    fit: Fit,
    asked: Asked,
    rule: ComputeRule | None = None,
    other: ComputeRule | None = None,
    maps: tuple[Through, ...] = (),
) -> Plan:
    """Answer a question that was read, with the comparison with the stated plan if there is one.

    ``rule``, ``other`` and ``maps`` are those of ``plan_budget``; a target of a metric takes the first map. Raises
    PlannerError if the question has no answer.
    """
    question, prices = asked.question, asked.prices
    if question.kind == "budget":
        plan = plan_budget(
            fit, question.value, rule, limits=question.limits, prices=prices, other=other, maps=maps
        )  # fmt: skip
    else:
        map = maps[0] if maps and question.metric else None
        plan = plan_target(
            fit, question.value, rule, limits=question.limits, prices=prices, other=other, map=map
        )  # fmt: skip
    if asked.ours is None:
        return plan
    return replace(plan, saving=save_against(fit, plan, *asked.ours))


def read_ours(texts: Mapping[str, str], place: Place) -> tuple[float, float] | None:
    """Return N and D of the stated plan; None if neither is given. Raises PlannerError if only one of them is."""
    given = [name for name in OURS if texts.get(name, "").strip()]
    if not given:
        return None
    if len(given) == 1:
        missing = next(name for name in OURS if name not in given)
        raise PlannerError(f"Give the {FIELDS[missing].called(place)} with the {FIELDS[given[0]].called(place)}.")
    N, D = (float(FIELDS[name].value(texts[name], place)) for name in OURS)
    return N, D
