"""Baseline predictions without a law; a law is useful only if it is better than these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats


@dataclass(frozen=True, eq=False)
class Points:
    """n runs: the size of each (n,), the logs of its axes (n, k), and y (n,)."""

    size: Floats
    x: Floats
    y: Floats


def last_point(known: Points, new: Points) -> Floats:
    """Predict y of the largest known run, or the mean of all of its size: no further improvement."""
    return np.full(len(new.size), np.mean(known.y[known.size == np.max(known.size)]))


def log_linear(known: Points, new: Points) -> Floats:
    """Predict by a straight line in logs of y and of every axis, by least squares: a power law without a floor.

    If a known y is zero or less, the line is in y itself.
    """
    log = bool(np.all(known.y > 0))
    centre = known.x.mean(axis=0)
    line, *_ = np.linalg.lstsq(_with_one(known.x - centre), np.log(known.y) if log else known.y, rcond=None)
    out: Floats = _with_one(new.x - centre) @ line
    return np.exp(out) if log else out


def nearest_cell(known: Points, new: Points) -> Floats:
    """Predict y of the nearest known setting in the logs of the axes; runs with equal settings are averaged."""
    cells, of = np.unique(known.x, axis=0, return_inverse=True)
    mean = np.bincount(of.ravel(), known.y) / np.bincount(of.ravel())
    from scipy.spatial import cKDTree  # takes 0.1 s to import, and a fit does not need it

    return np.asarray(mean[cKDTree(cells).query(new.x)[1]], float)


def _with_one(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


BASELINES: dict[str, Callable[[Points, Points], Floats]] = {
    "last point": last_point,
    "log-linear": log_linear,
    "nearest cell": nearest_cell,
}
