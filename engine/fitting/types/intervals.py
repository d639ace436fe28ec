"""Intervals from resamples: bias-corrected percentile (the default) and plain percentile.

The bias-corrected interval shifts the percentiles by how far the best fit lies from the median of its resamples
(Efron 1981, "Nonparametric standard errors and confidence intervals", sec. 4). It is invariant under monotone
transforms, so an interval of log C gives the interval of C.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from isoplan.engine.arrays import Floats

Method = Literal["bc", "percentile"]

FEWEST = 20
"""Fewer resamples than this give no interval."""


def interval(central: float, draws: ArrayLike, level: float, method: Method = "bc") -> tuple[float, float] | None:
    """The interval of one number from its best fit and its resamples ``draws`` (r,), at ``level`` in (0, 1).

    An infinite end means unbounded on that side. NaN draws (a resample for which the number does not exist) are
    left out. None where ``central`` is NaN or fewer than 20 draws are numbers.
    """
    low, high = band(np.asarray([central], float), np.asarray(draws, float).reshape(-1, 1), level, method)
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


def band(
    central: ArrayLike, draws: ArrayLike, level: float, method: Method = "bc", expand: float = 1.0
) -> tuple[Floats, Floats]:
    """Lower and upper ends for many numbers at once: ``central`` (s), ``draws`` (r, s) -> two arrays (s).

    Same rules as ``interval``; both ends are NaN where there is no interval. ``expand`` widens the percentiles: it
    multiplies their normal scores.
    """
    centre = np.asarray(central, float)
    ordered = np.sort(np.asarray(draws, float), axis=0)  # NaN goes last
    count = np.sum(~np.isnan(ordered), axis=0)
    tail = float(ndtr(expand * ndtri((1 - level) / 2)))
    low_share, high_share = np.full(centre.shape, tail), np.full(centre.shape, 1 - tail)
    if method == "bc":
        shift = 2 * _bias(centre, ordered, count)
        low_share, high_share = ndtr(shift + ndtri(tail)), ndtr(shift + ndtri(1 - tail))
    none = (count < FEWEST) | np.isnan(centre)
    low, high = (np.where(none, np.nan, _quantile(ordered, count, share)) for share in (low_share, high_share))
    return low, high


def _bias(centre: Floats, ordered: Floats, count: NDArray[np.int_]) -> Floats:
    """z0: the normal score of the share of draws below the best fit; a tie counts half."""
    below = np.sum(ordered < centre, axis=0) + 0.5 * np.sum(ordered == centre, axis=0)
    total = np.maximum(count, 1)
    return ndtri(np.clip(below / total, 0.5 / total, 1 - 0.5 / total))


def _quantile(ordered: Floats, count: NDArray[np.int_], share: Floats) -> Floats:
    """The quantile ``share`` (s) of the first ``count`` (s) sorted draws, linear between neighbours, inf-safe.

    Draw i is the quantile i / (count + 1): what one more draw lies below with that probability.
    """
    if ordered.shape[0] == 0:
        return np.full(share.shape, np.nan)
    at = np.clip(share * (count + 1) - 1, 0, np.maximum(count - 1, 0))
    left = np.floor(at).astype(np.int64)
    right = np.minimum(left + 1, np.maximum(count - 1, 0))
    a = np.take_along_axis(ordered, left[None], axis=0)[0]
    b = np.take_along_axis(ordered, right[None], axis=0)[0]
    part = at - left
    with np.errstate(invalid="ignore"):
        between = np.where(np.isneginf(a), a, a + part * (b - a))
    return np.where((a == b) | (part == 0), a, between)


def cut(ends: tuple[float, float] | None, within: tuple[float, float]) -> tuple[float, float] | None:
    """An interval without what lies outside ``within``; an end that cannot be reached stays infinite."""
    if ends is None or ends[0] == math.inf:
        return ends
    low, high = (min(max(end, within[0]), within[1]) for end in ends)
    return (low, math.inf if ends[1] == math.inf else high)
