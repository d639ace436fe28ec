"""Widths of intervals, and the verdict whether the cells that decrease a width are worth their cost.

A decrease pays if it is at least ``PAYS`` and larger than the scatter of the simulated outcomes. The simulated outcomes
are few, so the decrease has an error. If the decrease differs from the larger of these two limits by less than
``ERRORS`` standard errors, the verdict is "undecided", because more outcomes could change it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

PAYS = 0.15
"""Smallest relative decrease of the width at which training pays."""
ERRORS = 1.5
"""The verdict is not decided if a decrease differs from its limit by less than this number of standard errors."""
MEDIAN = 1.2533
"""Ratio of the standard error of a median to that of a mean, for normally distributed values."""

Verdict = Literal["pays", "undecided", "does not pay"]
VERDICTS: tuple[Verdict, ...] = ("pays", "undecided", "does not pay")
"""All verdicts, the best first."""


@dataclass(frozen=True)
class Width:
    """Half the width of a 68 % interval, in logarithms: its expected value, and its range over simulated outcomes.

    The range contains about 69 % of the outcomes. ``outcomes`` are the simulated widths. ``low`` and ``high`` are NaN
    and ``outcomes`` is empty if the width was not simulated. Widths that are simulated with the same seed belong to the
    same outcomes, in the same order.
    """

    expected: float
    low: float = math.nan
    high: float = math.nan
    outcomes: tuple[float, ...] = ()

    def at_most(self, most: float) -> Width:
        """Return the width with an expected value of at most ``most``; the range contains the expected value."""
        expected = min(self.expected, most)
        low, high = float(np.minimum(self.low, expected)), float(np.maximum(self.high, expected))
        return Width(expected, low, high, self.outcomes)


Widths = tuple[Width, ...]
"""One width per estimand."""


@dataclass(frozen=True)
class Narrowing:
    """A decrease of the logarithm of a width: its expected value ``by``, and its ``scatter`` over simulated outcomes.

    ``error`` is the standard error of ``by``. Scatter and error are 0 if the widths were not simulated.
    """

    by: float
    scatter: float = 0.0
    error: float = 0.0

    @property
    def scatters(self) -> bool:
        """Whether the scatter is the larger of the two limits."""
        return self.scatter > -math.log(1 - PAYS)

    @property
    def verdict(self) -> Verdict:
        """Whether the decrease is worth its cells."""
        above = self.by - max(-math.log(1 - PAYS), self.scatter)
        if math.isnan(above):
            return "does not pay"
        return "undecided" if abs(above) < ERRORS * self.error else "pays" if above >= 0 else "does not pay"

    @property
    def share(self) -> float:
        """The expected relative decrease of the width."""
        return 1 - math.exp(-self.by)


def narrowing(before: Width, after: Width) -> Narrowing:
    """Return the decrease from the width ``before`` to the width ``after``, which have the same outcomes.

    If ``before`` has no outcomes, its expected width is used for every outcome of ``after``.
    """
    if not math.isfinite(after.expected):
        return Narrowing(0.0)
    by = math.inf if math.isinf(before.expected) else math.log(before.expected / after.expected)
    with np.errstate(all="ignore"):
        ratios = np.log(np.array(before.outcomes or before.expected) / np.array(after.outcomes))
    known = ratios[np.isfinite(ratios)]
    if len(known) < 2:
        return Narrowing(by)
    scatter = float(np.std(known, ddof=1))
    return Narrowing(by, scatter, MEDIAN * scatter / math.sqrt(len(known)))


def best_narrowing(before: Sequence[Width], after: Sequence[Width]) -> Narrowing:
    """Return the decrease with the best verdict. If several estimands have this verdict, the first of them is used."""
    found = [narrowing(*pair) for pair in zip(before, after, strict=True)]
    return min(found, key=lambda one: VERDICTS.index(one.verdict))
