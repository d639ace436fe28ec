"""A training curve over the fraction of its schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats

COMPLETE = 0.9
"""Fraction of its schedule that a finished curve must reach.

A cell that stopped earlier has not completed its learning-rate schedule, so its final loss is not comparable.
"""
WINDOW = (0.8, 0.85, 0.9, 0.95, 1.0)
"""Positions, as fractions of the present position, over which the current loss is averaged."""


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """Losses ``y`` (n,) of one cell at increasing fractions ``x`` (n,) of its schedule, from 0 to 1.

    All numbers are positive. ``end`` is the final loss of a finished cell, and NaN for a running cell. Curves of equal
    ``group``, such as cells with the same number of samples, resemble each other. "" means that the curve belongs to no
    group.
    """

    x: Floats
    y: Floats
    end: float = math.nan
    group: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the cell has finished its schedule with a usable final loss."""
        return bool(self.x.size) and self.x[-1] >= COMPLETE and math.isfinite(self.end) and self.end > 0

    def logs(self, at: Floats | Sequence[float]) -> Floats:
        """Return ln(loss) at the positions ``at``, by linear interpolation over ln(position)."""
        return np.asarray(np.interp(np.log(at), np.log(self.x), np.log(self.y)))

    def level(self, position: float) -> float:
        """Return ln(current loss) at ``position``: the mean over the last fifth of the curve up to ``position``."""
        return float(np.mean(self.logs(position * np.array(WINDOW))))

    def until(self, position: float) -> TrainingCurve:
        """Return the part of the curve up to ``position``: the curve of a cell that has reached this position."""
        seen = self.x <= position
        return TrainingCurve(self.x[seen], self.y[seen])


def curve_of(
    x: Sequence[float] | Floats, y: Sequence[float] | Floats, end: float = math.nan, group: str = ""
) -> TrainingCurve:
    """Return a curve from points in any order. Points without a positive finite position and loss are left out."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
    x, first = np.unique(x[kept], return_index=True)
    return TrainingCurve(x, y[kept][first], end, group)
