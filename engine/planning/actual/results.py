"""Table of plans and their results, one line per result, and the conclusions from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isoplan.engine.planning.actual.outcome import LEVELS, Outcome, differs
from isoplan.engine.planning.actual.tally import shared, tally
from isoplan.engine.planning.answer.format import aligned, between, number
from isoplan.engine.planning.plan.answer import Plan

SCHEMA = 1
HEAD = ("Plan", "Predicted", "68 %", "95 %", "Actual", "Result", "Note")


@dataclass(frozen=True)
class Result:
    """A plan with its ``name`` and its outcome."""

    name: str
    plan: Plan
    outcome: Outcome


def table(found: Sequence[Result]) -> tuple[tuple[str, ...], ...]:
    """Return the head of the table and one line per result, ready to show."""
    return (HEAD, *(_line(one) for one in found))


def verdict(found: Outcome) -> str:
    """Return where the result lies: "inside 68 %", "inside 95 %", "above 95 %", "below 95 %"; empty if unknown."""
    ends = found.predicted.ci95
    if ends is None:
        return ""
    if found.inside(LEVELS[0]):
        return "inside 68 %"
    if found.inside(LEVELS[1]):
        return "inside 95 %"
    return f"{'above' if found.actual.value > ends[1] else 'below'} 95 %"


def sentences(found: Sequence[Result]) -> tuple[str, ...]:
    """Return how many results lie inside their 68 % and 95 % intervals, and what follows from these counts."""
    counts = [tally([one.outcome for one in found], level) for level in LEVELS]
    if not counts[0].total:
        return (counts[0].sentence,)
    return (*(count.sentence for count in counts), *filter(None, (shared(counts[0]),)))


def as_text(found: Sequence[Result]) -> str:
    """Return all results as text for a terminal."""
    return "\n".join([*aligned(table(found)), "", *sentences(found)])


def to_json(found: Sequence[Result]) -> dict[str, Any]:
    """Return the object that ``isoplan actual --json`` prints; null if there is no interval."""
    return {
        "schema": SCHEMA,
        "results": [{"name": one.name} | one.outcome.to_json() for one in found],
        "all": [tally([one.outcome for one in found], level).to_json() for level in LEVELS],
    }


def _line(one: Result) -> tuple[str, ...]:
    q, actual = one.outcome.predicted, one.outcome.actual
    unit = "" if one.outcome.y == "loss" else f"{one.outcome.y} "
    notes = (differs(one.plan, actual), q.note, actual.note, actual.when)
    return (
        one.name,
        f"{unit}{number(q)}",
        between(q, q.ci68),
        between(q, q.ci95),
        number(q, actual.value),
        verdict(one.outcome),
        "; ".join(note for note in notes if note),
    )
