"""Upper bound of a floor from the lowest run, for tables in which outliers inflate the scatter.

Least squares estimates one scatter from all runs. A few diverged runs inflate it, and the confidence curve then allows
floors far above most runs. Every run lies above the floor except for its noise, so the lowest run bounds the floor.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtr

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.floor_confidence import LARGEST, FloorConfidence

INFLATED = 2.0
"""Ratio of the scatter of all runs to their robust scatter from which the bound applies. It is 1.5 if one run in twenty
has five times the noise of the others."""
FEWEST = 7
"""Smallest number of degrees of freedom for which the robust scatter is used."""
POINTS = 33


def bound_by_lowest_run(curve: FloorConfidence, y: Floats, fitted: Floats, free: int, log: bool) -> FloorConfidence:
    """Raise the confidence of ``curve`` to that of the lowest run, if outliers inflate the scatter.

    ``y`` and ``fitted`` (n,) are the runs and the predictions of the law with ``free`` fitted parameters. The
    confidence that the floor lies below t is at least 1 - n T((min y - t) / s) (Bonferroni). T is the distribution
    function of Student's t, s is 1.4826 times the median absolute residual, corrected for the degrees of freedom.
    Residuals, y and t are logarithms if ``log`` is true.
    """
    finite = np.isfinite(fitted)
    freedom = int(np.sum(finite)) - free
    if freedom < FEWEST:
        return curve
    scaled = np.log(y[finite]) if log else y[finite]
    residual = scaled - (np.log(fitted[finite]) if log else fitted[finite])
    robust = 1.4826 * float(np.median(np.abs(residual))) * np.sqrt(residual.size / freedom)
    if not 0 < INFLATED * robust < np.sqrt(np.sum(residual**2) / freedom):
        return curve
    lowest = float(np.min(scaled))
    steps = lowest + robust * np.linspace(-LARGEST, LARGEST, POINTS)
    at = np.union1d(curve.at, (np.exp(steps) if log else steps).clip(curve.at[0]))
    with np.errstate(divide="ignore"):
        distance = ((np.log(at) if log else at) - lowest) / robust
    bound = ndtri(np.clip(1 - residual.size * stdtr(freedom, -distance), 0.0, 1.0)).clip(-LARGEST, LARGEST)
    score = np.maximum(np.interp(at, curve.at, curve.score), bound)
    return FloorConfidence(curve.name, tuple(map(float, at)), tuple(map(float, np.maximum.accumulate(score))))
