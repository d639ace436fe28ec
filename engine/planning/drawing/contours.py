"""Iso-loss lines of a surface, interpolated on its grid: the (N, D) that reach each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.planning.drawing.curves import Surface

POINTS = 160
"""Number of vertices of a line, enough to interrupt it closely around a label."""


@dataclass(frozen=True, eq=False)
class Contour:
    """Line on which the law equals ``level``: N and D sorted by N."""

    level: float
    N: Floats
    D: Floats


def contours_of(surface: Surface) -> tuple[Contour, ...]:
    """Return the line of each of the surface's levels that crosses the window in at least two points.

    The loss is interpolated in log D along every N of the grid and in log N along every D, so that both the steep and
    the flat part of a line are smooth.
    """
    lines = (_line(surface, level) for level in surface.levels)
    return tuple(line for line in lines if line is not None)


def _line(surface: Surface, level: float) -> Contour | None:
    N, D = np.log(surface.N), np.log(surface.D)
    by_n = np.array([_crossing(level, row, D) for row in surface.loss])
    by_d = np.array([_crossing(level, column, N) for column in surface.loss.T])
    x, y = np.concatenate([N, by_d]), np.concatenate([by_n, D])
    known = np.isfinite(x) & np.isfinite(y)
    if np.sum(known) < 2:
        return None
    order = np.lexsort((-y[known], x[known]))
    return Contour(level, *_even(x[known][order], y[known][order]))


def _even(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return N and D of ``POINTS`` vertices, evenly spaced along a line of ln N and ln D."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    at = np.linspace(0.0, along[-1], POINTS)
    return np.exp(np.interp(at, along, x)), np.exp(np.interp(at, along, y))


def _crossing(level: float, loss: Floats, at: Floats) -> float:
    """Return where ``loss``, monotone in ``at``, crosses ``level``; NaN if it does not."""
    if not np.all(np.isfinite(loss)):
        return float("nan")
    rising = loss[-1] > loss[0]
    values, places = (loss, at) if rising else (loss[::-1], at[::-1])
    return float(np.interp(level, values, places, left=np.nan, right=np.nan))
