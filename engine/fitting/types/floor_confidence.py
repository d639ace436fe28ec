"""Confidence of a floor: the one-sided confidence that it lies below a value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field
from scipy.special import ndtr, ndtri

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.intervals import Resampling
from isoplan.engine.laws import Law
from isoplan.engine.laws.law import Values

Interval = tuple[float, float]
EXCLUDED = 0.025
"""Largest confidence in a floor of zero for which the floor is resolved: its 95 % interval excludes zero."""
OUTSIDE = 0.16
"""Confidence in each tail of a 68 % interval."""
LARGEST = 8.0
"""Largest absolute normal score: beyond it a probability is 0 or 1 in floating point."""
SURE = 0.95
"""Confidence from which a statement about the floor is made without a probability."""


POINTS = Field(min_length=2, max_length=2_000)
"""Number of points of a confidence curve."""


@dataclass(frozen=True)
class FloorConfidence:
    """Confidence that the floor ``name`` lies below a value, as normal scores.

    ``score`` (k,) increases with the floors ``at`` (k,), which start at zero, the smallest possible floor of a loss. A
    score is the standard normal quantile of the confidence.
    """

    name: str
    at: Annotated[tuple[float, ...], POINTS]
    score: Annotated[tuple[float, ...], POINTS]

    def below(self, floor: ArrayLike) -> Floats:
        """Return the confidence, 0 to 1, that the floor is below each of ``floor`` (any shape); 0 for negative
        values.
        """
        x = np.asarray(floor, float)
        found = ndtr(np.interp(x, self.at, self.score))
        return np.where(x < self.at[0], 0.0, np.where(np.isnan(x), np.nan, found))

    def upper(self, level: float) -> float:
        """Return the value below which the floor lies with confidence ``level``; infinite if the runs give no limit."""
        wanted = float(ndtri(level))
        if wanted > self.score[-1]:
            return math.inf
        return float(np.interp(wanted, self.score, self.at))

    def agrees(self, floor: float) -> bool:
        """Whether ``floor``, from another objective, lies within the 68 % interval of the curve."""
        return bool(OUTSIDE <= self.below(floor) <= 1 - OUTSIDE)

    @property
    def resolved(self) -> bool:
        """Whether the runs exclude a floor of zero and limit the floor from above."""
        return bool(ndtr(self.score[0]) <= EXCLUDED and math.isfinite(self.upper(1 - EXCLUDED)))


def floor_interval(
    how: Resampling, confidence: FloorConfidence | None, value: float, draws: Floats, level: float
) -> Interval | None:
    """Return the one-sided interval at ``level`` of an unresolved floor: its upper limit, at least its ``value``.

    The lower end is minus infinity, that is, not determined. Fits without a confidence curve use the ``draws`` (r,).
    """
    if confidence is None:
        return how.limit(value, draws, level)
    return -math.inf, max(confidence.upper(level), value)


def leading_axis(law: Law, values: Values, most: Mapping[str, float]) -> str:
    """Return the axis of the largest term at the end of the runs, ``most`` of each axis.

    Larger runs along this axis decrease the loss most.
    """
    found = ((t.axis, t.value(values, np.asarray(most[t.axis]))) for t in law.terms if t.axis and t.axis in most)
    parts = {axis: float(part) for axis, part in found}
    return max(parts, key=lambda axis: parts[axis])
