"""Straight line through anchors, ln(loss - floor) against ln X, with its confidence band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.amplitude.anchors import LOSS_ERROR, Anchor


@dataclass(frozen=True)
class Line:
    """Straight line ln(loss - floor) = ``height`` - ``alpha`` (ln X - ``middle``) through n anchors.

    ``error`` is the relative error of one loss, ``lever`` the sum of (ln X - middle)^2.
    """

    n: int
    middle: float
    height: float
    alpha: float
    error: float
    lever: float

    @property
    def alpha_error(self) -> float:
        """Standard error of the exponent."""
        return self.error / math.sqrt(self.lever)

    def at(self, x: float) -> float:
        """Return loss - floor at ``x``."""
        return math.exp(self.height - self.alpha * (math.log(x) - self.middle))

    def ends(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the upper and the lower end of the 68 % band of loss - floor at ``x`` (k,), each of shape (k,)."""
        off = np.log(x) - self.middle
        middle, half = self.height - self.alpha * off, self.error * np.sqrt(1 / self.n + off**2 / self.lever)
        return np.exp(middle + half), np.exp(middle - half)

    def solve(self, excess: float) -> Interval:
        """Return where the lower and the upper end of the band reach ``excess`` (Fieller's theorem).

        If the exponent is compatible with 0, the band's upper end rises again and the upper value is inf. In this case
        the lower value is the middle of the anchors if the band is already that low there.
        """
        gap, square = self.height - math.log(excess), self.error**2
        a, b, c = self.alpha**2 - square / self.lever, self.alpha * gap, gap**2 - square / self.n
        root = math.sqrt(max(b * b - a * c, 0.0))
        if a <= 0 and (gap <= 0 or c <= 0):
            return math.exp(self.middle), math.inf
        low = c / (b + root) if b > 0 else (b - root) / a  # avoids the difference of two similar numbers
        with np.errstate(over="ignore"):
            ends = np.exp(self.middle + np.array([low, (b + root) / a if a > 0 else math.inf]))
        return float(ends[0]), float(ends[1])


def fit_line(anchors: Sequence[Anchor], floor: float = 0.0) -> Line:
    """Fit the line through the ``anchors`` of one axis by least squares of logs, with K fixed at ``floor``.

    The error of the losses is 10 % (amplitudes, App. C), or their scatter around the line if this is larger. Raises
    PlannerError for fewer than two places, for a loss at or below the floor, and if the loss does not fall.
    """
    axis = anchors[0].axis
    if any(a.loss <= floor for a in anchors):
        raise PlannerError(f"A loss of the law is at or below the floor {floor:g}: give a lower floor.")
    x, y = np.log([a.x for a in anchors]), np.log([a.loss - floor for a in anchors])
    if len(np.unique(x)) < 2:
        raise PlannerError(
            f"A law needs runs at two values of {axis} or more that {axis} limits: train one at another {axis}."
        )
    lever = float(np.sum((x - x.mean()) ** 2))
    alpha = -float((x - x.mean()) @ y) / lever
    if alpha <= 0:
        raise PlannerError(
            f"The loss of the runs does not decrease with {axis}, so {axis} does not limit it. Increase the other "
            f"axes, or give other runs."
        )
    left = y - y.mean() + alpha * (x - x.mean())
    scatter = math.sqrt(float(left @ left) / (len(anchors) - 2)) if len(anchors) > 2 else 0.0
    return Line(len(anchors), float(x.mean()), float(y.mean()), alpha, max(LOSS_ERROR, scatter), lever)
