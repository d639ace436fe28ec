"""Round numbers for figures: budgets and contour levels."""

from __future__ import annotations

import math

import numpy as np

from isoplan.engine.arrays import Floats

LEVELS = 9
NARROWEST = 1e-300
"""Smallest gap between losses; below it a double has no decimal places to round to."""


def nice_budgets(low: float, high: float, most: int = 8) -> tuple[float, ...]:
    """Return round budgets between ``low`` and ``high``: powers of ten, times 1, 2, 5 or 1, 3 if these are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [s * 10.0**k for k in range(first, last + 1) for s in steps if low <= s * 10.0**k <= high]
        if len(found) <= most:
            return tuple(found) or (float(f"{math.sqrt(low * high):.2e}"),)
    every = math.ceil(len(found) / most)
    return tuple(found[::every])


def contour_levels(loss: Floats, most: int = LEVELS) -> tuple[float, ...]:
    """Return at most ``most`` round levels that divide the figure into about equal areas; none for a flat surface."""
    values = loss[np.isfinite(loss)]
    if values.size == 0 or np.ptp(values) < NARROWEST:
        return ()
    wanted = np.quantile(values, (np.arange(most) + 0.5) / most)
    gaps = np.diff(wanted)
    near = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    levels = [_round_to(float(level), float(gap)) for level, gap in zip(wanted, near, strict=True) if gap > NARROWEST]
    return tuple(sorted({x for x in levels if values.min() < x < values.max()}))


def _round_to(x: float, gap: float) -> float:
    """Round ``x`` to a multiple of the largest 1, 2 or 5 times a power of ten that is at most ``gap``."""
    power = 10.0 ** math.floor(math.log10(gap))
    unit = next(s * power for s in (5, 2, 1) if s * power <= gap * (1 + 1e-9))
    places = max(0, -math.floor(math.log10(unit)))
    return round(round(x / unit) * unit, places)
