"""One trial of a fault: the action, and its expected and real outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """A trial: the tested object ``what``, the action ``done`` on this object, and two outcomes.

    The trial is passed if the outcomes ``expected`` and ``happened`` are equal.
    """

    what: str
    done: str
    expected: str
    happened: str

    @property
    def held(self) -> bool:
        """Whether the real outcome equals the expected outcome."""
        return self.expected == self.happened


def rows(trials: Iterable[Trial]) -> tuple[tuple[str, str, str, str], ...]:
    """Return table rows. Trials that differ only in their action share a row, which lists the actions."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for trial in trials:
        happened = "as expected" if trial.held else f"**{trial.happened}**"
        lines.setdefault((trial.what, trial.expected, happened), []).append(trial.done)
    return tuple((what, ", ".join(done), expected, happened) for (what, expected, happened), done in lines.items())


def told(error: BaseException) -> str:
    """Return the type and the message of an error, only the first line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def same(losses: Sequence[float], expected: float) -> bool:
    """Return whether all losses are exactly equal to ``expected`` and finite."""
    return all(loss == expected for loss in losses) and math.isfinite(expected)
