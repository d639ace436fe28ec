"""A warning of a fit or an answer: a code, a sentence, and the level that follows from the code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a warning weighs, least first.

    ``NOTE`` is information, ``CAUTION`` says that the answer is wider or extrapolated, ``STOP`` that it should not be
    used.
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
        "runs",
        "starts-agree",
        "unmeasured",
    }
)
"""Codes of warnings that are information alone."""
STOPS = frozenset({"below-floor", "flat", "impossible", "run-is-better", "unsupported"})
"""Codes of warnings after which the answer should not be used."""


@dataclass(frozen=True)
class FitWarning:
    """A warning of a fit or an answer: a code for programs and a sentence for people."""

    code: str
    text: str

    @property
    def level(self) -> Level:
        """The level of the code; a caution where neither list names it."""
        if self.code in STOPS:
            return Level.STOP
        return Level.NOTE if self.code in NOTES else Level.CAUTION

    @property
    def line(self) -> str:
        """``Caution: <sentence>``, as a terminal prints it."""
        return f"{self.level.capitalize()}: {self.text}"

    def to_json(self) -> dict[str, str]:
        """The warning for JSON. The level is derived from the code, so older files without one are read alike."""
        return {"code": self.code, "level": self.level.value, "text": self.text}


def by_level(warnings: Iterable[FitWarning]) -> tuple[FitWarning, ...]:
    """The warnings in their order, those of the highest level first."""
    order = list(Level)
    return tuple(sorted(warnings, key=lambda warning: -order.index(warning.level)))
