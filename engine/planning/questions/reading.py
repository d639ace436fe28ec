"""Reader of the typed inputs of a planner question, for the page, the terminal and Python."""

from __future__ import annotations

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.scenario.fields import EUR, QUERIES, Place, Texts
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.typed_prices import read_inference, read_limits, read_prices


def read_given(question: PlannerQuestion, texts: Texts, place: Place) -> Given:
    """Read the typed inputs of a question. Raises PlannerError with the name of a missing or wrong input."""
    stated = [field for field in question.losses if texts.get(field.name)]
    if question.losses and len(stated) != 1:
        raise PlannerError(_which(question, place))
    limits, asked, notes = read_limits(texts, place), None, []
    for field in stated:
        value = field.value(texts[field.name], place)
        if field.name == "budget":
            notes += value.notes(texts["budget"])
            value = value.value
        asked = Question("budget" if field.name == "budget" else "target", value, limits)
    # The page has one form for machine and queries. Elsewhere queries without a machine are counted in FLOPs.
    apart = () if place == "page" else [field.name for field in QUERIES]
    prices = read_prices({name: text for name, text in texts.items() if name not in apart}, place)
    currency = texts.get("currency") or EUR
    values = {field.name: field.value(texts.get(field.name) or field.start, place, currency) for field in question.own}
    return Given(asked, limits, prices, read_inference(texts, place), values=values, notes=tuple(notes))


def _which(question: PlannerQuestion, place: Place) -> str:
    names = [one.option if place == "terminal" else one.name for one in question.losses]
    if len(names) == 1:
        return f"Option {names[0]}: it is missing. Give it."
    if place == "terminal":
        return f"Ask for one loss: give either {' or '.join(names)}."
    return f"Options {', '.join(names)}: give exactly one of them."
