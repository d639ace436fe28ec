"""Training steps to a target against batch size, as arrays: the law with its bands, the plateau and its start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.result import Fit, Parameter
from isoplan.engine.planning.drawing.curves import AxisCurve, one_axis_curve

ROOM = 1.5
"""Factor by which the drawn batch sizes extend below the smallest and above the largest."""
POINTS = 80


@dataclass(frozen=True, eq=False)
class Updates:
    """Law S(B) with its bands, its minimum steps S_min and samples E_min, and B_crit with its intervals.

    ``slope`` (s,) is E_min / B, the value of S without a plateau. Without a plateau, S_min is not above zero and B_crit
    is infinite.
    """

    curve: AxisCurve
    slope: Floats
    least: Parameter
    critical: Parameter

    @property
    def levels_off(self) -> bool:
        """Whether the best fit has a plateau."""
        return bool(self.least.value > 0 and np.isfinite(self.critical.value))


def updates(fit: Fit) -> Updates:
    """Compute the figure of a fit of the law critical-batch, over a range that contains its runs and B_crit."""
    least = next(p for p in fit.parameters if p.name == "S_min")
    critical = next(p for p in fit.derived if p.name == "B_crit")
    low, high = fit.data.ranges[str(fit.law.axis)]
    if least.value > 0 and np.isfinite(critical.value):
        low, high = min(low, critical.value), max(high, critical.value)
    x = np.unique(np.r_[np.geomspace(low / ROOM, high * ROOM, POINTS), fit.data.ranges[str(fit.law.axis)]])
    return Updates(one_axis_curve(fit, x), np.asarray(float(fit.values["E_min"]) / x), least, critical)
