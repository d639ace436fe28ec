"""What a surrogate is worth on test points: its error, and relative errors of the amplitude."""

from __future__ import annotations

from typing import Literal

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.surrogate.standard import LOG
from isoplan.trainers.amplitudes.surrogate.weights import Weight, deviation, mean, quantiles, unit, variance

METRICS: dict[str, Literal["min", "max"]] = dict.fromkeys(
    ("relative_median", "relative_mean", "relative_99", "epsilon", "sigma_mean"), "min"
)
"""The metrics of a cell and the direction that is better, beside its loss."""
FURTHEST = 30.0
"""Log of A_NN / A and of sigma at most: of points far from those that were learned a guess may be anything, but a row
holds finite numbers."""


def errors(guess: Floats, truth: Floats, kind: str, weight: Weight = None) -> dict[str, float]:
    """Errors of ``guess`` for the targets ``truth``, both (points,) and before standardisation, of ``kind`` log or raw.

    ``loss`` is the mean squared error over the variance of the truth: that of the standardised target, 1 for whoever
    guesses the mean. ``spread`` is the root of that variance, the standard deviation of log A (of A in its unit where
    ``kind`` is raw): loss x spread^2 is in the units of the target. ``relative_median``, ``relative_mean`` and
    ``relative_99`` (99 % of the points are better) are of |A_NN / A - 1|, and ``epsilon`` is sum |A_NN - A| / sum |A|
    (eq. 23). Each point counts with its ``weight`` (points,), all alike where it is None.
    """
    if kind == LOG:
        off, share = np.expm1(np.minimum(guess - truth, FURTHEST)), np.exp(truth - truth.max())
    else:
        off, share = guess / truth - 1, np.abs(truth) / np.abs(truth).max()
    relative, counted = np.abs(off), share if weight is None else weight * share
    scale = unit(truth)
    return {
        "loss": float(mean(((guess - truth) / scale) ** 2, weight) / variance(truth / scale, weight)),
        "spread": float(deviation(truth, weight)),
        "relative_median": float(quantiles(relative, 0.5, weight)),
        "relative_mean": float(mean(relative, weight)),
        "relative_99": float(quantiles(relative, 0.99, weight)),
        "epsilon": float(np.sum(relative * counted) / np.sum(counted)),
    }
