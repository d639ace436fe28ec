"""A warning of a fit or an answer: a code, a sentence, and the level that follows from the code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ABOUT_RUNS = "runs"
"""Code of notes about the import of runs (derived columns, omitted rows). Plans do not repeat these notes."""


class Level(StrEnum):
    """Levels of a warning, lowest first.

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
        "map-form",
        "no-budget",
        "objective",
        "one-floor",
        "own-settings",
        "rule-in-use",
        ABOUT_RUNS,
        "starts-agree",
        "unmeasured",
        "utilisation",
    }
)
"""Codes of warnings that only inform."""
STOPS = frozenset({"below-floor", "flat", "impossible", "run-is-better", "unsupported"})
"""Codes of warnings after which the answer should not be used."""


LONGEST = 90
"""Maximum number of characters of the short form of a warning."""
_CLAUSE_END = re.compile(r"(?<=[\w)%])[.:;](?= )")


@dataclass(frozen=True)
class FitWarning:
    """A warning of a fit or an answer: ``code`` for programs, ``text`` (a sentence) for people."""

    code: str
    text: str

    @property
    def level(self) -> Level:
        """The level of the warning, from its code; CAUTION for a code that is in neither NOTES nor STOPS."""
        if self.code in STOPS:
            return Level.STOP
        return Level.NOTE if self.code in NOTES else Level.CAUTION

    @property
    def short(self) -> str:
        """The first clause of the sentence, at most ``LONGEST`` characters, without a full stop.

        A longer clause is cut at its last comma within this length. Without a comma, it is cut after a word and ends
        with "...".
        """
        clause = _CLAUSE_END.split(self.text, maxsplit=1)[0].rstrip(".")
        if len(clause) <= LONGEST:
            return clause
        comma = clause.rfind(", ", LONGEST // 3, LONGEST)
        return clause[:comma] if comma > 0 else clause[: clause.rindex(" ", 0, LONGEST)].rstrip(",;:(") + " ..."

    @property
    def line(self) -> str:
        """The warning as the terminal prints it: ``Caution: <sentence>``."""
        return f"{self.level.capitalize()}: {self.text}"

    def to_json(self) -> dict[str, str]:
        """Return the warning for JSON. The level is included for convenience, because it follows from the code."""
        return {"code": self.code, "level": self.level.value, "text": self.text}


def by_level(warnings: Iterable[FitWarning]) -> tuple[FitWarning, ...]:
    """Return the warnings sorted by level, highest first. Warnings of one level keep their order."""
    order = list(Level)
    return tuple(sorted(warnings, key=lambda warning: -order.index(warning.level)))
