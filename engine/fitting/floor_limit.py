"""The limit that single runs give a floor, where outliers hide how little the other runs scatter.

Least squares takes the scatter from all runs. A few diverged runs inflate it until the confidence curve allows floors
far above every other run. Every run lies above the floor but for its noise, so each of them limits the floor too.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtr

from engine.fitting.confidence import FloorConfidence
from engine.fitting.floor_profile import LARGEST
from engine.laws.law import Floats

HIDDEN = 2.0
"""Outliers count where the scatter of all runs is this many times the robust one; a run in twenty with five times the
noise gives 1.5."""
FEWEST = 7
"""Degrees of freedom below which the robust scatter says nothing."""
POINTS = 33


def limited(curve: FloorConfidence, y: Floats, fitted: Floats, free: int, log: bool) -> FloorConfidence:
    """The curve, at least as sure of a floor as single runs are.

    ``y`` and ``fitted`` (n,) are the runs and the law fitted to them with ``free`` parameters. The confidence that the
    floor lies below t is at least 1 - n T((y_i - t) / s) for the lowest run (Bonferroni), with T Student's distribution
    and s 1.4826 times the median absolute residual; residuals and y are logarithms where ``log`` says so.
    """
    there, freedom = np.isfinite(fitted), int(np.sum(np.isfinite(fitted))) - free
    if freedom < FEWEST:
        return curve
    seen = np.log(y[there]) if log else y[there]
    residual = seen - (np.log(fitted[there]) if log else fitted[there])
    robust = 1.4826 * float(np.median(np.abs(residual))) * np.sqrt(residual.size / freedom)
    if not 0 < HIDDEN * robust < np.sqrt(np.sum(residual**2) / freedom):
        return curve
    steps = float(np.min(seen)) + robust * np.linspace(-LARGEST, LARGEST, POINTS)
    at = np.union1d(curve.at, (np.exp(steps) if log else steps).clip(curve.at[0]))
    with np.errstate(divide="ignore"):
        beyond = ((np.log(at) if log else at) - np.min(seen)) / robust
    alone = ndtri(np.clip(1 - residual.size * stdtr(freedom, -beyond), 0.0, 1.0)).clip(-LARGEST, LARGEST)
    score = np.maximum(np.interp(at, curve.at, curve.score), alone)
    return FloorConfidence(curve.name, tuple(map(float, at)), tuple(map(float, np.maximum.accumulate(score))))
