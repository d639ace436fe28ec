"""Number of actual results inside their intervals over all plans, and its probability by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isoplan.engine.planning.actual.outcome import Outcome

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
