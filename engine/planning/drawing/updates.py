"""Updates to a target against batch size, as arrays: the law with its bands, the plateau and where it begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.result import Fit, Parameter
from isoplan.engine.planning.drawing.curves import AxisCurve, one_axis_curve

ROOM = 1.5
"""Batch sizes are drawn from this factor below the smallest to this factor above the largest."""
POINTS = 80


@dataclass(frozen=True, eq=False)
class Updates:
    """The law S(B) with its bands, its least updates S_min and samples E_min, and B_crit with its intervals.

    ``slope`` (s,) is E_min / B, what S would be without a plateau. Where there is no plateau S_min is not above zero
    and B_crit is infinite.
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
    """The picture of a fit of the law critical-batch, wide enough to hold its runs and B_crit."""
    least = next(p for p in fit.parameters if p.name == "S_min")
    critical = next(p for p in fit.derived if p.name == "B_crit")
    low, high = fit.data.ranges[str(fit.law.axis)]
    if least.value > 0 and np.isfinite(critical.value):
        low, high = min(low, critical.value), max(high, critical.value)
    x = np.unique(np.r_[np.geomspace(low / ROOM, high * ROOM, POINTS), fit.data.ranges[str(fit.law.axis)]])
    return Updates(one_axis_curve(fit, x), np.asarray(float(fit.values["E_min"]) / x), least, critical)
