"""What points count for: weights with mean 1, or None where all count alike; means and quantiles under them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats

Weight = Floats | None


def relative(weight: Floats) -> Weight:
    """Weights (points,) over their mean; None where all are the same, so that they change no digit."""
    if (weight == weight[0]).all():
        return None
    scaled = weight / weight.max()  # sums of the largest numbers are not finite
    return scaled / scaled.mean()


def mean(values: Floats | NDArray[np.bool_], weight: Weight) -> Floats:
    """The mean over the first axis of ``values`` (points, ...), each point with its ``weight`` (points,)."""
    return np.asarray(np.average(values, axis=0, weights=weight))


def variance(values: Floats, weight: Weight) -> Floats:
    """The mean square of the distance to the mean, over the first axis of ``values`` (points, ...)."""
    return np.asarray(values.var(axis=0) if weight is None else mean((values - mean(values, weight)) ** 2, weight))


def unit(values: Floats) -> Floats:
    """The power of two next below the largest of ``values`` (points, ...) in each column.

    Values are divided by it before they are squared: no square is then too large or too small for a number, and the
    digits stay those that they were.
    """
    return np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)


def deviation(values: Floats, weight: Weight) -> Floats:
    """The root of the variance over the first axis of ``values`` (points, ...), in whatever unit they are."""
    scale = unit(values)
    return np.asarray(np.sqrt(variance(values / scale, weight)) * scale)


def quantiles(values: Floats, shares: float | Floats, weight: Weight) -> Floats:
    """The values below which so many ``shares`` of the weight of ``values`` (points,) lie.

    Points that count alike are interpolated linearly; with weights a quantile is one of the values, so that a point of
    weight 2 is two points.
    """
    if weight is None:
        return np.asarray(np.quantile(values, shares))
    return np.asarray(np.quantile(values, shares, weights=weight, method="inverted_cdf"))


def effective(weight: Weight, points: int) -> float:
    """Points without weights that know a mean as well: (sum w)^2 / sum w^2 (Kish 1965); all ``points`` for None."""
    return float(points) if weight is None else float(weight.sum() ** 2 / (weight**2).sum())
