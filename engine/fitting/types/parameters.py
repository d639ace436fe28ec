"""Fitted parameters with standard errors and intervals, computed from the best fit and its resamples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.intervals import FloorConfidence, Resampling, cut, floor_interval
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.text import Interval as Interval
from isoplan.engine.laws import Law
from isoplan.engine.laws.terms import Const

Reading = Callable[[float, Floats, float], Interval | None]
"""Function that computes the interval of a number from its best fit, its draws (r,) and the confidence level."""
ANYTHING: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class Parameter:
    """A fitted or published parameter. The standard error ``se`` and the intervals are None if they are unknown."""

    name: str
    value: float
    se: float | None = None
    ci68: Interval | None = None
    ci95: Interval | None = None
    fixed: bool = False

    @property
    def error(self) -> float | None:
        """The error after ±: half the 68 % interval, or ``se`` if there is no interval. None if an end is infinite.

        Half the interval is preferred, because ``se`` is a standard deviation, which a few distant refits can dominate.
        """
        if self.ci68 is None:
            return self.se
        half = (self.ci68[1] - self.ci68[0]) / 2
        return half if math.isfinite(half) else None


def parameters(
    spec: FitSpec,
    theta: Floats,
    resamples: Floats,
    held: tuple[str, ...],
    how: Resampling,
    confidence: FloorConfidence | None = None,
) -> tuple[Parameter, ...]:
    """Return all parameters, from the best fit ``theta`` (p,) and the ``resamples`` (r, p).

    A parameter in ``held`` is marked as fixed and has no standard error and no interval. An unresolved floor has
    one-sided intervals, with an upper limit and no lower end. ``confidence`` is the confidence curve of the floor.
    """
    law = spec.find_law()
    ours, read_floor = floors(law), partial(floor_interval, how, confidence)

    def free(name: str, value: float, draws: Floats) -> Parameter:
        read = read_floor if name in ours and how.floorless else how.interval
        return parameter(name, value, draws, read, ANYTHING if name in ours else law.param(name).bounds)

    return tuple(
        Parameter(name, float(value), fixed=True) if name in held else free(name, float(value), draws)
        for name, value, draws in zip(law.names, theta, resamples.T, strict=True)
    )


def parameter(name: str, value: float, draws: Floats, read: Reading, within: Interval = ANYTHING) -> Parameter:
    """Return a number with its standard error and intervals, which ``read`` computes from its ``draws`` (r,).

    Intervals are clipped to the bounds ``within``. If too many draws are at a bound, the runs do not determine the end
    of the interval at this bound, and the end is replaced by infinity. Too many means more draws than the interval
    excludes on that side.
    """
    ci68, ci95 = (_opened(cut(read(value, draws, level), within), draws, level, within) for level in (0.68, 0.95))
    return Parameter(name, value, spread(draws), ci68, ci95)


def _opened(ends: Interval | None, draws: Floats, level: float, within: Interval) -> Interval | None:
    """Return the interval ``ends``. An end at a bound in ``within`` becomes infinite if too many draws equal it."""
    if ends is None or ends[0] == ends[1]:
        return ends
    sound, tail = draws[np.isfinite(draws)], (1 - level) / 2
    low = math.isfinite(within[0]) and ends[0] <= within[0] and float(np.mean(sound <= within[0])) > tail
    high = math.isfinite(within[1]) and ends[1] >= within[1] and float(np.mean(sound >= within[1])) > tail
    return (-math.inf if low else ends[0], math.inf if high else ends[1])


def parameter_row(p: Parameter, unit: str, meaning: str) -> text.Row:
    """Return the row of one parameter in the table of a fit.

    ``value``, ``error`` (half the 68 % interval) and the ends of the intervals are plain floats: None if unknown,
    infinite if unbounded. ``text`` is the value, rounded to the precision of its interval. Without an interval,
    ``text`` also contains the standard error.
    """
    low68, high68 = p.ci68 or (None, None)
    shown = text.beside_interval(p.value, p.ci68) if p.ci68 else text.plus_minus(p.value, p.se)
    low95, high95 = p.ci95 or (None, None)
    return {
        "parameter": p.name,
        "text": "fixed at " + text.number(p.value) if p.fixed else shown,
        "value": p.value,
        "error": p.error,
        "low 68 %": low68,
        "high 68 %": high68,
        "low 95 %": low95,
        "high 95 %": high95,
        "unit": unit,
        "meaning": meaning,
    }


def floors(law: Law) -> list[str]:
    """Return the names of the floors of ``law``.

    The lower bound of a floor is zero. The fit ignores this bound if a y is zero or negative and residuals are not
    logs.
    """
    return [t.amplitude for t in law.terms if isinstance(t, Const)]


def spread(draws: Floats) -> float | None:
    """Return the standard deviation of the finite draws; None if there are fewer than two or the result overflows."""
    sound = draws[np.isfinite(draws)]
    if sound.size < 2:
        return None
    with np.errstate(over="ignore"):
        found = float(np.std(sound, ddof=1))
    return found if np.isfinite(found) else None
