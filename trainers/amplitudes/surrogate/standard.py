"""Weights of points and weighted statistics, and the standardisation of invariants and targets by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes.check import row_of

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


LOG, RAW = "log", "raw"
ROUNDING = 1e-9
"""Of the largest number: what changes by less does not change."""


@dataclass(frozen=True, eq=False)
class Standard:
    """(x - mean) / spread by column; a column that does not change becomes 0."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Floats, weight: Weight = None) -> Standard:
        """The standardisation over the rows of ``values`` (points, columns), each with its ``weight`` (points,)."""
        scale = unit(values)
        spread = deviation(values, weight)
        changes = spread > ROUNDING * np.abs(values).max(axis=0)
        return cls(mean(values / scale, weight) * scale, np.where(changes, spread, 1.0))

    def __call__(self, values: Floats) -> Floats:
        return (values - self.mean) / self.spread

    def back(self, values: Floats) -> Floats:
        """What ``values`` were before."""
        return values * self.spread + self.mean


def target(amplitude: Floats, kind: str) -> Floats:
    """What a surrogate learns, (points, 1), before it is standardised: log A, or A itself for ``kind`` raw (Sec. 4).

    Raises PlannerError as ``unfit`` says.
    """
    if why := unfit(amplitude, kind):
        raise PlannerError(why)
    return (np.log(amplitude) if kind == LOG else amplitude)[:, None]


def unfit(amplitude: Floats, kind: str) -> str:
    """Why amplitudes (points,) make no target of a ``kind``, a sentence that names the first row; empty if they do.

    Those of log are positive. Those of raw may be negative but not 0, since errors are relative to them as well.
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
    """Raises PlannerError where the targets ``y`` (points, 1) of a ``kind`` are all the same within rounding.

    ``points`` says which they are. Logarithms are compared with 1 at least: their own size is that of the unit of A.
    """
    largest = np.abs(y).max() + (kind == LOG)
    if deviation(y[:, 0], weight) <= ROUNDING * largest:
        one = np.exp(y[0, 0]) if kind == LOG else y[0, 0]
        raise PlannerError(
            f"The amplitude is {one:g} at all {len(y):,} points {points}, so that there is nothing to learn: give "
            "events whose amplitudes differ."
        )
