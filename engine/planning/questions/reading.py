"""The reader of what is typed for a planner question, in the terminal or in Python."""

from __future__ import annotations

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.plan.answer import Question
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.scenario.fields import QUERIES, Place, Texts
from isoplan.engine.planning.scenario.typed_prices import read_inference, read_limits, read_prices


def read_given(question: PlannerQuestion, texts: Texts, place: Place) -> Given:
    """Read the options of a question, in the terminal or in Python. Raises PlannerError that names what is wrong."""
    stated = [one for one in question.losses if texts.get(one.name)]
    if question.losses and len(stated) != 1:
        raise PlannerError(_which(question, place))
    limits = read_limits(texts, place)
    notes: tuple[str, ...] = ()
    asked: Question | None = None
    for one in stated:
        text = texts[one.name]
        if one.name == "budget":
            reading = one.value(text, place)
            notes = (f"{text} is read as {reading.value:.4g} FLOPs: {reading.note}.",) if reading.note else ()
            asked = Question("budget", reading.value, limits)
        else:
            asked = Question("target", one.value(text, place), limits)
    # Without a machine queries are counted in FLOPs, so they are no prices here.
    prices = read_prices({name: text for name, text in texts.items() if name not in {q.name for q in QUERIES}}, place)
    values = {one.name: one.value(texts.get(one.name) or one.start, place) for one in question.own}
    return Given(asked, limits, prices, read_inference(texts, place), values=values, notes=notes)


def _which(question: PlannerQuestion, place: Place) -> str:
    names = [one.option if place == "terminal" else one.name for one in question.losses]
    if len(names) == 1:
        return f"Option {names[0]}: it is missing. Give it."
    if place == "terminal":
        return f"Ask for one loss: give either {' or '.join(names)}."
    return f"Options {', '.join(names)}: give exactly one of them."
