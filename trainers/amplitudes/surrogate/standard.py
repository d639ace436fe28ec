"""Weights of points, weighted statistics, and the standardisation of invariants and targets with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes.check import row_of

Weight = Floats | None


def relative(weight: Floats) -> Weight:
    """Return the weights (points,) divided by their mean, or None if all are equal, so that results do not change."""
    if (weight == weight[0]).all():
        return None
    scaled = weight / weight.max()  # the sum of the largest weights can overflow
    return scaled / scaled.mean()


def mean(values: Floats | NDArray[np.bool_], weight: Weight) -> Floats:
    """Return the mean over the first axis of ``values`` (points, ...), weighted with ``weight`` (points,)."""
    return np.asarray(np.average(values, axis=0, weights=weight))


def variance(values: Floats, weight: Weight) -> Floats:
    """Return the variance over the first axis of ``values`` (points, ...)."""
    return np.asarray(values.var(axis=0) if weight is None else mean((values - mean(values, weight)) ** 2, weight))


def unit(values: Floats) -> Floats:
    """Return the largest power of two that is at most the largest of ``values`` (points, ...), for each column.

    Values are divided by it before they are squared. This prevents overflow and underflow without rounding.
    """
    return np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)


def deviation(values: Floats, weight: Weight) -> Floats:
    """Return the root of the variance over the first axis of ``values`` (points, ...), for values of any size."""
    scale = unit(values)
    return np.asarray(np.sqrt(variance(values / scale, weight)) * scale)


def quantiles(values: Floats, shares: float | Floats, weight: Weight) -> Floats:
    """Return the values below which the fractions ``shares`` of the weight of ``values`` (points,) lie.

    Points with equal weights are interpolated linearly. With weights a quantile is one of the values, so a point of
    weight 2 counts as two points.
    """
    if weight is None:
        return np.asarray(np.quantile(values, shares))
    return np.asarray(np.quantile(values, shares, weights=weight, method="inverted_cdf"))


def effective(weight: Weight, points: int) -> float:
    """Return the effective number of points, (sum w)^2 / sum w^2 (Kish 1965); ``points`` if the weights are None."""
    return float(points) if weight is None else float(weight.sum() ** 2 / (weight**2).sum())


LOG, RAW = "log", "raw"
ROUNDING = 1e-9
"""Relative tolerance with respect to the largest value, below which a column counts as constant."""


@dataclass(frozen=True, eq=False)
class Standard:
    """Standardisation (x - mean) / spread by column; a constant column becomes 0."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Floats, weight: Weight = None) -> Standard:
        """Return the standardisation over the rows of ``values`` (points, columns), with their ``weight`` (points,)."""
        scale = unit(values)
        spread = deviation(values, weight)
        changes = spread > ROUNDING * np.abs(values).max(axis=0)
        return cls(mean(values / scale, weight) * scale, np.where(changes, spread, 1.0))

    def __call__(self, values: Floats) -> Floats:
        return (values - self.mean) / self.spread

    def back(self, values: Floats) -> Floats:
        """Return ``values`` before standardisation."""
        return values * self.spread + self.mean


def target(amplitude: Floats, kind: str) -> Floats:
    """Return the target (points, 1) of a surrogate before standardisation: log A, or A for ``kind`` raw (Sec. 4).

    Raises PlannerError if the amplitudes are invalid (see ``unfit``).
    """
    if why := unfit(amplitude, kind):
        raise PlannerError(why)
    return (np.log(amplitude) if kind == LOG else amplitude)[:, None]


def unfit(amplitude: Floats, kind: str) -> str:
    """Return the reason why amplitudes (points,) are invalid for a ``kind`` of target, or "" if they are valid.

    The reason is a sentence that names the first row. Logarithms need positive amplitudes. Raw amplitudes can be
    negative but not 0, because errors are also relative to them.
    """
    bad = ~np.isfinite(amplitude) | (amplitude <= 0 if kind == LOG else amplitude == 0)
    if not bad.any():
        return ""
    row = int(np.argmax(bad))
    if not np.isfinite(amplitude[row]):
        what = "is no number: leave such rows out"
    elif kind == RAW:
        what = "nothing can be relative to: leave such rows out"
    else:
        what = "has no logarithm: leave such rows out" + (", or set target to raw" if amplitude[row] else "")
    return f"{row_of(row, bad.sum())} has the amplitude {amplitude[row]:g}, which {what}."


def check_varies(y: Floats, kind: str, weight: Weight, points: str) -> None:
    """Check that the targets ``y`` (points, 1) of a ``kind`` vary by more than rounding.

    ``points`` is the purpose of the points, for the message. Logarithms are compared with at least 1, because their
    size depends on the unit of A. Raises PlannerError otherwise.
    """
    largest = np.abs(y).max() + (kind == LOG)
    if deviation(y[:, 0], weight) <= ROUNDING * largest:
        one = np.exp(y[0, 0]) if kind == LOG else y[0, 0]
        raise PlannerError(
            f"The amplitude is {one:g} at all {len(y):,} points {points}, so that there is nothing to learn: give "
            "events whose amplitudes differ."
        )
