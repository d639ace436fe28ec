"""Conversion of the typed inputs of a planner question to values, for the page, the terminal and Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.plan.money import read_budget
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.scenario.fields import EUR, QUERIES, Field, Place, Texts
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.scenario.typed_prices import read_inference, read_limits, read_prices

CURVES = "curves"
"""Name of the option for training curves. The text of this option is not empty if curves are given."""


def read_given(question: PlannerQuestion, texts: Texts, place: Place) -> Given:
    """Read the typed inputs of a question. Raises PlannerError if an input is missing or wrong."""
    stated = [field for field in question.losses if texts.get(field.name)]
    if question.losses and len(stated) != 1:
        raise PlannerError(_which(question, place))
    limits = read_limits(texts, place)
    values = {field.name: _own_value(question, field, texts, place) for field in question.own}
    given = Given(limits=limits, values=values, place=place)
    if question.costs:
        given = replace(given, costs=question.read_costs(texts, place, values))
    else:
        given = replace(given, prices=_prices(texts, place), queries=read_inference(texts, place))
    for field in stated:
        asked, notes = _read_loss(field, texts[field.name], given)
        given = replace(given, asked=asked, notes=notes)
    return given


def _prices(texts: Texts, place: Place) -> Prices | None:
    # The page has one form for the machine and the queries. In the terminal and in Python, queries do not require a
    # machine: without a machine the cost of queries is stated in FLOPs.
    apart = () if place == "page" else [field.name for field in QUERIES]
    return read_prices({name: text for name, text in texts.items() if name not in apart}, place)


def _read_loss(field: Field, text: str, given: Given) -> tuple[Question, tuple[str, ...]]:
    """Return the question of the budget or target ``text``, and notes on how the text was interpreted."""
    if field.name != "budget":
        return Question("target", field.value(text, given.place), given.limits), ()
    asked, reading = read_budget(text, given.prices, given.limits, given.place)
    return asked, () if reading is None else tuple(reading.notes(text))


def _own_value(question: PlannerQuestion, field: Field, texts: Texts, place: Place) -> Any:
    """Return the value of a field that only this question has.

    The value is None if the field is not given or if training curves determine the value.
    """
    text, typed = texts.get(field.name, ""), place == "page" and field.name in texts
    if question.curves is None or question.curves.field != field.name:
        text = text or field.start
    elif not typed and bool(text) == bool(texts.get(CURVES)):
        raise PlannerError(_either(field, place))
    return field.value(text, place, texts.get("currency") or EUR) if text or typed else None


def _either(field: Field, place: Place) -> str:
    if place == "terminal":
        example = f"{field.option}, as in {field.option} {field.start}"
        return f"{field.name} is not known: give either {example}, or --{CURVES} with --runs."
    return f"Options {field.name}, {CURVES}: give exactly one of them."


def _which(question: PlannerQuestion, place: Place) -> str:
    names = [one.option if place == "terminal" else one.name for one in question.losses]
    if len(names) == 1:
        return f"Option {names[0]}: it is missing. Give it."
    if place == "terminal":
        return f"Give exactly one of {' and '.join(names)}."
    return f"Options {', '.join(names)}: give exactly one of them."
