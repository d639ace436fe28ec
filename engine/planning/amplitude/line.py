"""A straight line through anchors: ln(loss - floor) against ln X, with the band that their errors leave."""

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
    """ln(loss - floor) = ``height`` - ``alpha`` (ln X - ``middle``): a straight line through n anchors.

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
        """The standard error of the exponent."""
        return self.error / math.sqrt(self.lever)

    def at(self, x: float) -> float:
        """loss - floor at ``x``."""
        return math.exp(self.height - self.alpha * (math.log(x) - self.middle))

    def ends(self, x: Floats) -> tuple[Floats, Floats]:
        """The 68 % band of loss - floor at ``x`` (k,): its upper and lower end, each (k,)."""
        off = np.log(x) - self.middle
        middle, half = self.height - self.alpha * off, self.error * np.sqrt(1 / self.n + off**2 / self.lever)
        return np.exp(middle + half), np.exp(middle - half)

    def solve(self, excess: float) -> Interval:
        """Where the lower and the upper end of the band come down to ``excess`` (Fieller).

        The upper end is inf where the exponent is not told from 0, since the band's upper end rises again; the lower
        end is the middle of the anchors then where the band is that low there already.
        """
        gap, square = self.height - math.log(excess), self.error**2
        a, b, c = self.alpha**2 - square / self.lever, self.alpha * gap, gap**2 - square / self.n
        root = math.sqrt(max(b * b - a * c, 0.0))
        if a <= 0 and (gap <= 0 or c <= 0):
            return math.exp(self.middle), math.inf
        low = c / (b + root) if b > 0 else (b - root) / a  # without the difference of two like numbers
        with np.errstate(over="ignore"):
            ends = np.exp(self.middle + np.array([low, (b + root) / a if a > 0 else math.inf]))
        return float(ends[0]), float(ends[1])


def fit_line(anchors: Sequence[Anchor], floor: float = 0.0) -> Line:
    """The line through the ``anchors`` of one axis by least squares of logs, K held at ``floor``.

    Losses are known to 10 % (amplitudes, App. C), or as well as they scatter around the line, whichever is worse.
    Raises PlannerError for fewer than two places, for a loss at the floor, and where the loss does not fall.
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
            f"The loss of the runs does not fall with {axis}, so that {axis} does not limit it: raise what else limits "
            "it, or give other runs."
        )
    left = y - y.mean() + alpha * (x - x.mean())
    scatter = math.sqrt(float(left @ left) / (len(anchors) - 2)) if len(anchors) > 2 else 0.0
    return Line(len(anchors), float(x.mean()), float(y.mean()), alpha, max(LOSS_ERROR, scatter), lever)
