"""Standardisation: invariants and targets with mean 0 and spread 1 over the training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlannerError
from trainers.amplitudes.surrogate.weights import Weight, mean, variance

Real = NDArray[np.float64]
LOG, RAW = "log", "raw"


@dataclass(frozen=True, eq=False)
class Standard:
    """(x - mean) / spread by column; a column that does not change becomes 0."""

    mean: Real
    spread: Real

    @classmethod
    def of(cls, values: Real, weight: Weight = None) -> Standard:
        """The standardisation over the rows of ``values`` (points, columns), each with its ``weight`` (points,)."""
        spread = np.sqrt(variance(values, weight))
        return cls(mean(values, weight), np.where(spread > 1e-9 * (1 + np.abs(values).max(axis=0)), spread, 1.0))

    def __call__(self, values: Real) -> Real:
        return (values - self.mean) / self.spread

    def back(self, values: Real) -> Real:
        """What ``values`` were before."""
        return values * self.spread + self.mean


def target(amplitude: Real, kind: str) -> Real:
    """What a surrogate learns, (points, 1), before it is standardised: log A, or A itself for ``kind`` raw (Sec. 4).

    Raises PlannerError that names the first row whose amplitude is not finite or, for log, not positive.
    """
    bad = ~np.isfinite(amplitude) | (amplitude <= 0 if kind == LOG else False)
    if bad.any():
        row = int(np.argmax(bad))
        raise PlannerError(
            f"Row {row}: the amplitude is {amplitude[row]:.3g} and has no logarithm: leave such events out, or take "
            "target raw."
        )
    return (np.log(amplitude) if kind == LOG else amplitude)[:, None]


def amplitude(values: Real, kind: str) -> Real:
    """The amplitude that ``target`` makes ``values`` of."""
    return np.exp(values) if kind == LOG else values
