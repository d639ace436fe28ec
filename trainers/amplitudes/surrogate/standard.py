"""Standardisation: invariants and targets with mean 0 and spread 1 over the training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.rows import row_of
from isoplan.trainers.amplitudes.surrogate.weights import Weight, deviation, mean, unit

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
