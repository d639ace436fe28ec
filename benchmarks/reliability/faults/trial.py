"""One trial: the action, the expected and the actual outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """Result of the action ``done`` on ``what``; ``expected`` and ``happened`` are equal if it is correct."""

    what: str
    done: str
    expected: str
    happened: str

    @property
    def held(self) -> bool:
        """Whether the outcome is the expected one."""
        return self.expected == self.happened


def rows(trials: Iterable[Trial]) -> tuple[tuple[str, str, str, str], ...]:
    """Return a table row for each ``what``, expected and happened; actions with equal values share a row."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for trial in trials:
        happened = "as expected" if trial.held else f"**{trial.happened}**"
        lines.setdefault((trial.what, trial.expected, happened), []).append(trial.done)
    return tuple((what, ", ".join(done), expected, happened) for (what, expected, happened), done in lines.items())


def told(error: BaseException) -> str:
    """Return the message of an error, first line only."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def same(losses: Sequence[float], expected: float) -> bool:
    """Return whether all losses equal the expected one exactly."""
    return all(loss == expected for loss in losses) and math.isfinite(expected)
