"""Table of plans with their measured results, and a test of how many results lie in their prediction intervals."""

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
    """A plan, its ``name``, and the comparison with its measured result."""

    name: str
    plan: Plan
    outcome: Outcome


def table(found: Sequence[Result]) -> tuple[tuple[str, ...], ...]:
    """Return the headings of the table and one row of texts per result."""
    return (HEAD, *(_line(one) for one in found))


def verdict(found: Outcome) -> str:
    """Return where the result lies relative to its prediction interval; empty if no interval exists.

    The text is "inside 68 %", "inside 95 %", "above 95 %" or "below 95 %".
    """
    ends = found.predicted.ci95
    if ends is None:
        return ""
    if found.inside(LEVELS[0]):
        return "inside 68 %"
    if found.inside(LEVELS[1]):
        return "inside 95 %"
    return f"{'above' if found.actual.value > ends[1] else 'below'} 95 %"


def sentences(found: Sequence[Result]) -> tuple[str, ...]:
    """Return sentences on how many results lie inside their 68 % and 95 % intervals.

    The sentences also state what these numbers mean.
    """
    counts = [tally([one.outcome for one in found], level) for level in LEVELS]
    if not counts[0].total:
        return (counts[0].sentence,)
    return (*(count.sentence for count in counts), *filter(None, (shared(counts[0]),)))


def as_text(found: Sequence[Result]) -> str:
    """Return the table of all results and its sentences as text for a terminal."""
    return "\n".join([*aligned(table(found)), "", *sentences(found)])


def to_json(found: Sequence[Result]) -> dict[str, Any]:
    """Return the JSON object that ``isoplan actual --json`` prints. A missing interval is null."""
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
"""If the probability of a count is below this number, the count is not explained by chance."""


@dataclass(frozen=True)
class Tally:
    """Number ``inside`` of the results that lie in their prediction intervals at ``level``, out of ``total``.

    ``chance`` is the binomial probability of ``inside`` or a more extreme count. A count is more extreme if it lies on
    the same side of the expected count as ``inside``, but farther away. ``shared`` is True if some results come from
    the same fit and thus have a common error.
    """

    level: float
    inside: int
    total: int
    chance: float
    shared: bool

    @property
    def expected(self) -> float:
        """Expected number of results inside if the intervals are correct."""
        return self.level * self.total

    @property
    def few(self) -> bool:
        """Whether there are too few results to judge the intervals, because even a count of 0 would not be rare."""
        from scipy.stats import binom

        return float(binom.pmf(0, self.total, self.level)) >= RARE

    @property
    def sentence(self) -> str:
        """Sentence with the count, the expected count, and the meaning of their difference."""
        if not self.total:
            return "No result has a prediction interval to compare with."
        what = "actual result lies" if self.total == 1 else "actual results lie"
        text = f"{self.inside} of {self.total} {what} inside the {100 * self.level:.0f} % prediction interval"
        text += f"; {self.expected:.1f} are expected"
        if self.few:
            return f"{text}. There are too few results to judge the intervals."
        side = "fewer" if self.inside < self.expected else "more"
        text += f". By chance, {self.inside} or {side} lie inside in {_percent(self.chance)} of cases"
        if self.chance < RARE:
            fault = "narrow" if self.inside < self.expected else "wide"
            return f"{text}, so the intervals are probably too {fault}."
        return f"{text}, which agrees with the intervals."

    def to_json(self) -> dict[str, Any]:
        """Return the count as a JSON object."""
        return asdict(self) | {"expected": self.expected, "sentence": self.sentence}


def tally(outcomes: Sequence[Outcome], level: float) -> Tally:
    """Count the outcomes inside their prediction interval at ``level``, 0.68 or 0.95.

    Outcomes without an interval are skipped.
    """
    from scipy.stats import binom

    known = [(o.fit, held) for o in outcomes if (held := o.inside(level)) is not None]
    total, inside = len(known), sum(held for _, held in known)
    below, above = binom.cdf(inside, total, level), binom.sf(inside - 1, total, level)
    chance = float(below if inside < level * total else above) if total else 1.0
    return Tally(level, inside, total, chance, len({fit for fit, _ in known}) < total)


def shared(found: Tally) -> str:
    """Return the sentence that results of the same fit are not independent; empty if each result has its own fit."""
    return (
        "Results of one fit share its error, so they count less than the same number of independent results."
    ) * found.shared


def _percent(p: float) -> str:
    return f"{100 * p:.2g} %" if p >= 0.001 else "less than 0.1 %"
