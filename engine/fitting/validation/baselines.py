"""Predictions that need no law: what a law must beat to be worth its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats


@dataclass(frozen=True, eq=False)
class Points:
    """n runs: how large each was (n,), the logs of its axes (n, k), and y (n,)."""

    size: Floats
    x: Floats
    y: Floats


def last_point(known: Points, new: Points) -> Floats:
    """y of the largest known run, the mean of those that share its size: nothing gets better."""
    return np.full(len(new.size), np.mean(known.y[known.size == np.max(known.size)]))


def log_linear(known: Points, new: Points) -> Floats:
    """A straight line in logs of y and of every axis, by least squares: a power law without a floor.

    Where a known y is zero or less the line is one in y itself.
    """
    log = bool(np.all(known.y > 0))
    centre = known.x.mean(axis=0)
    line, *_ = np.linalg.lstsq(_with_one(known.x - centre), np.log(known.y) if log else known.y, rcond=None)
    out: Floats = _with_one(new.x - centre) @ line
    return np.exp(out) if log else out


def nearest_cell(known: Points, new: Points) -> Floats:
    """y of the known cell that is nearest in the logs of the axes; runs that share a cell are averaged."""
    cells, of = np.unique(known.x, axis=0, return_inverse=True)
    mean = np.bincount(of.ravel(), known.y) / np.bincount(of.ravel())
    from scipy.spatial import cKDTree  # 0.1 s to import, and a fit does not need it

    return np.asarray(mean[cKDTree(cells).query(new.x)[1]], float)


def _with_one(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])


BASELINES: dict[str, Callable[[Points, Points], Floats]] = {
    "last point": last_point,
    "log-linear": log_linear,
    "nearest cell": nearest_cell,
}
