"""The parameters of a fit with standard errors and intervals, from the best fit and its resamples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from engine.fitting.confidence import FloorConfidence, floor_interval
from engine.fitting.intervals import cut
from engine.fitting.possible import ANYTHING, possible
from engine.fitting.resampling import Resampling
from engine.fitting.result import Fit, FitWarning, Interval, Parameter
from engine.fitting.spec import FitSpec
from engine.laws import Law
from engine.laws.law import Floats
from engine.laws.terms import Const

Reading = Callable[[float, Floats, float], Interval | None]
"""The interval of a number from its value, its draws (r,) and the level."""
MAP, LEVEL = "metric-map", "C"
"""Name of the law of metrics, and its parameter for the value far from the runs."""


def parameters(
    spec: FitSpec,
    theta: Floats,
    resamples: Floats,
    held: tuple[str, ...],
    how: Resampling,
    confidence: FloorConfidence | None = None,
) -> tuple[Parameter, ...]:
    """Best fit, standard error and intervals of every parameter that is not ``held``, from (p,) and (r, p) values.

    A floor that is not resolved has one-sided intervals: an upper limit, and no lower end.
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
    """One number with its standard error and intervals from its ``draws`` (r,), by a reading of ``Resampling``.

    The intervals end at the ends of ``within``. An end at which more draws lie than the interval leaves out there is
    not determined by the runs: the interval has no end on that side.
    """
    ci68, ci95 = (_opened(cut(read(value, draws, level), within), draws, level, within) for level in (0.68, 0.95))
    return Parameter(name, value, spread(draws), ci68, ci95)


def _opened(ends: Interval | None, draws: Floats, level: float, within: Interval) -> Interval | None:
    """An interval without those of its ends that lie where draws pile up at an end of ``within``."""
    if ends is None or ends[0] == ends[1]:
        return ends
    sound, tail = draws[np.isfinite(draws)], (1 - level) / 2
    low = math.isfinite(within[0]) and ends[0] <= within[0] and float(np.mean(sound <= within[0])) > tail
    high = math.isfinite(within[1]) and ends[1] >= within[1] and float(np.mean(sound >= within[1])) > tail
    return (-math.inf if low else ends[0], math.inf if high else ends[1])


def levelled(fit: Fit) -> Fit:
    """Limit the interval of the level C of a metric map to the values of its metric: a rejection is at least 1.

    If the best fit lies outside, the fit gets a warning instead.
    """
    within, level = possible(fit), float(fit.values.get(LEVEL, np.nan))
    if fit.law.name != MAP or LEVEL in fit.spec.fixed:
        return fit
    if not within[0] <= level <= within[1]:
        return replace(fit, warnings=(*fit.warnings, _beyond(fit, level, within)))
    made = parameter(LEVEL, float(fit.values[LEVEL]), fit.draws[LEVEL], fit.resampling.interval, within)
    return replace(fit, parameters=tuple(made if p.name == LEVEL else p for p in fit.parameters))


def _beyond(fit: Fit, level: float, within: Interval) -> FitWarning:
    """Return the warning for a level C outside ``within``, the values of the metric."""
    end = within[0] if level < within[0] else within[1]
    ends = f"{within[0]:g} to {within[1]:g}" if math.isfinite(within[1]) else f"at least {within[0]:g}"
    return FitWarning(
        "level",
        f"The level {LEVEL} = {level:.3g} of the map is no value of {fit.spec.y} ({ends}): the runs do not determine "
        f"it. Use the map within the range of the runs only, or fix {LEVEL}, for example at {end:g}.",
    )


def floors(law: Law) -> list[str]:
    """The parameters that may be negative where y is, whatever their bounds."""
    return [t.amplitude for t in law.terms if isinstance(t, Const)]


def spread(draws: Floats) -> float | None:
    """The standard deviation of the finite draws; None where it has no finite value."""
    sound = draws[np.isfinite(draws)]
    if sound.size < 2:
        return None
    with np.errstate(over="ignore"):
        found = float(np.std(sound, ddof=1))
    return found if np.isfinite(found) else None
