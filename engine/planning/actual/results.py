"""Table of plans and their results, and the number of results inside their intervals with its probability by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isoplan.engine.planning.actual.outcome import LEVELS, Outcome, differs
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


RARE = 0.05
"""Probability below which a count is not explained by chance."""


@dataclass(frozen=True)
class Tally:
    """Count of the results (``inside`` of ``total``) that lie in their prediction intervals at ``level``.

    ``chance`` is the binomial probability of a count at least as far from the expected one, on the same side.
    ``shared`` states whether some results come from the same fit and so have its error in common.
    """

    level: float
    inside: int
    total: int
    chance: float
    shared: bool

    @property
    def expected(self) -> float:
        """Mean number of results inside if the intervals are correct."""
        return self.level * self.total

    @property
    def few(self) -> bool:
        """Whether the results are too few to judge the intervals: a count of 0 would not be rare by chance."""
        from scipy.stats import binom

        return float(binom.pmf(0, self.total, self.level)) >= RARE

    @property
    def sentence(self) -> str:
        """The count and its interpretation as a sentence."""
        if not self.total:
            return "No result has a prediction interval to compare with."
        what = "actual result lies" if self.total == 1 else "actual results lie"
        text = f"{self.inside} of {self.total} {what} inside the {100 * self.level:.0f} % prediction interval"
        text += f", where {self.expected:.1f} are expected"
        if self.few:
            return f"{text}: too few results to judge the intervals by."
        side = "so few" if self.inside < self.expected else "so many"
        text += f"; {side} happen by chance in {_percent(self.chance)} of cases"
        if self.chance < RARE:
            fault = "narrow" if self.inside < self.expected else "wide"
            return f"{text}, so the intervals are probably too {fault}."
        return f"{text}, which agrees with the intervals."

    def to_json(self) -> dict[str, Any]:
        """Return the count for JSON."""
        return asdict(self) | {"expected": self.expected, "sentence": self.sentence}


def tally(outcomes: Sequence[Outcome], level: float) -> Tally:
    """Count the outcomes inside their prediction interval at 0.68 or 0.95, among those that have one."""
    from scipy.stats import binom

    known = [(o.fit, held) for o in outcomes if (held := o.inside(level)) is not None]
    total, inside = len(known), sum(held for _, held in known)
    below, above = binom.cdf(inside, total, level), binom.sf(inside - 1, total, level)
    chance = float(below if inside < level * total else above) if total else 1.0
    return Tally(level, inside, total, chance, len({fit for fit, _ in known}) < total)


def shared(found: Tally) -> str:
    """Return a sentence if results share a fit and so are not independent, else an empty string."""
    return (
        "Results of one fit share its error, so they count less than the same number of independent results."
    ) * found.shared


def _percent(p: float) -> str:
    return f"{100 * p:.2g} %" if p >= 0.001 else "less than 0.1 %"
