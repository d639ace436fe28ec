"""A warning of a fit or an answer: a code, a sentence, and the level that follows from the code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ABOUT_RUNS = "runs"
"""Code of notes on how the runs were read (columns derived, rows left out). Plans do not repeat them."""


class Level(StrEnum):
    """Level of a warning, lowest first.

    ``NOTE``: information. ``CAUTION``: the answer is wider or extrapolated. ``STOP``: the answer should not be used.
    """

    NOTE = "note"
    CAUTION = "caution"
    STOP = "stop"


NOTES = frozenset(
    {
        "at-zero",
        "curves",
        "least-money",
        "left-out",
        "no-budget",
        "no-saving",
        "objective",
        "one-floor",
        "rule-in-use",
        ABOUT_RUNS,
        "starts-agree",
        "unmeasured",
    }
)
"""Codes of warnings that are only information."""
STOPS = frozenset({"below-floor", "flat", "impossible", "run-is-better", "unsupported"})
"""Codes of warnings for which the answer should not be used."""


@dataclass(frozen=True)
class FitWarning:
    """A warning of a fit or an answer: a code for programs and a sentence for people."""

    code: str
    text: str

    @property
    def level(self) -> Level:
        """The level of the code; a caution if it is in neither list."""
        if self.code in STOPS:
            return Level.STOP
        return Level.NOTE if self.code in NOTES else Level.CAUTION

    @property
    def line(self) -> str:
        """The warning as a terminal prints it: ``Caution: <sentence>``."""
        return f"{self.level.capitalize()}: {self.text}"

    def to_json(self) -> dict[str, str]:
        """Return the warning for JSON. The level is derived from the code, so older files without a level read the
        same.
        """
        return {"code": self.code, "level": self.level.value, "text": self.text}


def by_level(warnings: Iterable[FitWarning]) -> tuple[FitWarning, ...]:
    """Return the warnings sorted by level, highest first, in their order within a level."""
    order = list(Level)
    return tuple(sorted(warnings, key=lambda warning: -order.index(warning.level)))
