"""Iso-loss lines of a surface, read off its grid: the (N, D) that reach each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.laws.law import Floats
from engine.planning.curves import Surface


@dataclass(frozen=True, eq=False)
class IsoLoss:
    """The line on which the law gives ``level``: N and D in order of N."""

    level: float
    N: Floats
    D: Floats


def iso_loss(surface: Surface) -> tuple[IsoLoss, ...]:
    """The line of each of the surface's levels, where it crosses the window in two points at least.

    Loss is interpolated in log D along every N of the grid and in log N along every D, so that neither the steep nor
    the flat part of a line is coarse.
    """
    lines = (_line(surface, level) for level in surface.levels)
    return tuple(line for line in lines if len(line.N) > 1)


def _line(surface: Surface, level: float) -> IsoLoss:
    N, D = np.log(surface.N), np.log(surface.D)
    by_n = np.array([_crossing(level, row, D) for row in surface.loss])
    by_d = np.array([_crossing(level, column, N) for column in surface.loss.T])
    x, y = np.concatenate([N, by_d]), np.concatenate([by_n, D])
    known = np.isfinite(x) & np.isfinite(y)
    order = np.lexsort((-y[known], x[known]))
    return IsoLoss(level, np.exp(x[known][order]), np.exp(y[known][order]))


def _crossing(level: float, loss: Floats, at: Floats) -> float:
    """Where ``loss``, which falls or rises all along ``at``, passes ``level``; NaN where it does not."""
    if not np.all(np.isfinite(loss)):
        return float("nan")
    rising = loss[-1] > loss[0]
    values, places = (loss, at) if rising else (loss[::-1], at[::-1])
    return float(np.interp(level, values, places, left=np.nan, right=np.nan))
