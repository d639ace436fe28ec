"""Seconds of cells that were trained before, here or elsewhere, and what they say about another cell of the family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

NEAREST = 5
"""Cells whose speed is used. Left out one at a time, half of the bundled cells are predicted within a factor of 1.7."""


@dataclass(frozen=True)
class Earlier:
    """A trained cell: parameters ``N``, compute ``C`` in FLOPs, and the ``seconds`` that it took; all above 0."""

    N: float
    C: float
    seconds: float


def seconds_of(N: float | None, C: float | None, earlier: Sequence[Earlier]) -> float:
    """Predict the seconds of a cell: its FLOPs at the median speed of the cells nearest in log C and log N.

    Without FLOPs it is the median of the seconds. ``earlier`` must not be empty.
    """
    if not C:
        return median(one.seconds for one in earlier)

    def distance(one: Earlier) -> float:
        return math.log(one.C / C) ** 2 + (math.log(one.N / N) ** 2 if N else 0.0)

    near = sorted(earlier, key=distance)[:NEAREST]
    return C / median(one.C / one.seconds for one in near)
