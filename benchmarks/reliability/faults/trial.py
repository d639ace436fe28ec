"""One trial: what was done, what should happen, what happened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """``done`` is what was done to ``what``; ``expected`` and ``happened`` are the same text where all went well."""

    what: str
    done: str
    expected: str
    happened: str

    @property
    def held(self) -> bool:
        """Whether what happened is what should."""
        return self.expected == self.happened


def rows(trials: Iterable[Trial]) -> tuple[tuple[str, str, str, str], ...]:
    """A line of a table for each ``what``, expected and happened; several things done to the same stand in one line."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for trial in trials:
        happened = "as expected" if trial.held else f"**{trial.happened}**"
        lines.setdefault((trial.what, trial.expected, happened), []).append(trial.done)
    return tuple((what, ", ".join(done), expected, happened) for (what, expected, happened), done in lines.items())


def told(error: BaseException) -> str:
    """The sentence of an error, without the places of this trial."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def same(losses: Sequence[float], expected: float) -> bool:
    """Whether all losses have the digits of the expected one."""
    return all(loss == expected for loss in losses) and math.isfinite(expected)
