"""Contour lines of a loss surface: round levels, and the (N, D) at which the loss equals each level.

Points of a contour line are interpolated between the points of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats

LEVELS = 9
NARROWEST = 1e-300
"""Loss differences below this count as zero, because double precision cannot resolve them."""
POINTS = 160
"""Number of points of a contour line. The gap around a label is small because the points are dense."""


@dataclass(frozen=True, eq=False)
class Contour:
    """Contour line at which the loss equals ``level``: N and D of its points, sorted by N."""

    level: float
    N: Floats
    D: Floats


def contour_levels(loss: Floats, most: int = LEVELS) -> tuple[float, ...]:
    """Return at most ``most`` round levels that divide the figure into about equal areas.

    A constant surface has no levels.
    """
    values = loss[np.isfinite(loss)]
    if values.size == 0 or np.ptp(values) < NARROWEST:
        return ()
    wanted = np.quantile(values, (np.arange(most) + 0.5) / most)
    gaps = np.diff(wanted)
    near = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    levels = [_round_to(float(level), float(gap)) for level, gap in zip(wanted, near, strict=True) if gap > NARROWEST]
    return tuple(sorted({x for x in levels if values.min() < x < values.max()}))


def _round_to(x: float, gap: float) -> float:
    """Round ``x`` to a multiple of a step.

    The step is 1, 2 or 5 times a power of ten. It is the largest such number that does not exceed ``gap``.
    """
    power = 10.0 ** math.floor(math.log10(gap))
    unit = next(s * power for s in (5, 2, 1) if s * power <= gap * (1 + 1e-9))
    places = max(0, -math.floor(math.log10(unit)))
    return round(round(x / unit) * unit, places)


def contours_of(N: Floats, D: Floats, loss: Floats, levels: Iterable[float]) -> tuple[Contour, ...]:
    """Return a contour line for each of ``levels``. Levels with fewer than two points on the grid are skipped.

    ``loss`` has the shape (len(N), len(D)). It is interpolated in log D at each N of the grid, and in log N at each D
    of the grid. With both interpolations, the steep and the flat sections of a line are smooth.
    """
    lines = (_line(np.log(N), np.log(D), loss, level) for level in levels)
    return tuple(line for line in lines if line is not None)


def _line(N: Floats, D: Floats, loss: Floats, level: float) -> Contour | None:
    """Return the contour line at ``level``; None if the line has fewer than two points on the grid."""
    by_n = np.array([_crossing(level, row, D) for row in loss])
    by_d = np.array([_crossing(level, column, N) for column in loss.T])
    x, y = np.concatenate([N, by_d]), np.concatenate([by_n, D])
    known = np.isfinite(x) & np.isfinite(y)
    if np.sum(known) < 2:
        return None
    order = np.lexsort((-y[known], x[known]))
    return Contour(level, *_even(x[known][order], y[known][order]))


def _even(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return N and D of ``POINTS`` points, evenly spaced along a line. ``x`` is ln N and ``y`` is ln D of the line."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    at = np.linspace(0.0, along[-1], POINTS)
    return np.exp(np.interp(at, along, x)), np.exp(np.interp(at, along, y))


def _crossing(level: float, loss: Floats, at: Floats) -> float:
    """Return the value of ``at`` at which ``loss`` equals ``level``; NaN if ``loss`` never equals ``level``.

    ``loss`` must be monotone in ``at``.
    """
    if not np.all(np.isfinite(loss)):
        return float("nan")
    rising = loss[-1] > loss[0]
    values, places = (loss, at) if rising else (loss[::-1], at[::-1])
    return float(np.interp(level, values, places, left=np.nan, right=np.nan))
