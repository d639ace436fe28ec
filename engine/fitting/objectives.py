"""What a fit minimises: a plain sum over runs of weight times rho(residual).

An objective is a loss rho and the scale on which the residual is taken: ``log`` (log prediction - log y) or linear
(prediction - y). A new objective is a new ``Loss``; weights, relative errors and resampling are multipliers of it.

- ``huber-log``: sum of Huber_delta(log residual), delta 1e-3 (Hoffmann et al. 2022, arXiv:2203.15556, sec. 3.3).
  A sum, not a mean: a mean is so small that optimisers stop early (Besiroglu et al. 2024, arXiv:2404.10102).
- ``ols``: sum of squared residuals, without a factor 1/2. - ``ols-log``: the same of log residuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.fitting.spec import FitSpec

Floats = NDArray[np.float64]


class Loss(Protocol):
    """rho(r) and what a damped Newton method needs of it; arrays of any shape, elementwise."""

    def value(self, r: Floats) -> Floats:
        """rho(r)."""

    def slopes(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """rho'(r), rho''(r) and rho'(r)/r, the weight of iteratively reweighted least squares."""

    def softer(self, scale: float) -> tuple[Loss, ...]:
        """Smoother losses to solve first, softest first, where residuals are about ``scale``; often none."""


@dataclass(frozen=True)
class Square:
    """rho(r) = r^2."""

    def value(self, r: Floats) -> Floats:
        return r * r

    def slopes(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        two = np.full_like(r, 2.0)
        return 2.0 * r, two, two

    def softer(self, scale: float) -> tuple[Loss, ...]:
        return ()


@dataclass(frozen=True)
class Huber:
    """rho(r) = r^2/2 for |r| <= delta, else delta (|r| - delta/2)."""

    delta: float

    def value(self, r: Floats) -> Floats:
        size = np.asarray(np.abs(r))
        inner = np.minimum(size, self.delta)
        size = size - 0.5 * inner
        size *= inner
        return size

    def slopes(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        size = np.abs(r)
        slope = np.clip(r, -self.delta, self.delta)
        return slope, (size <= self.delta).astype(float), self.delta / np.maximum(size, self.delta)

    def softer(self, scale: float) -> tuple[Loss, ...]:
        """A ladder of deltas, a factor of ten apart, down to this one.

        With delta far below the residuals the sum is all kinks; following the minimum down the ladder is the
        smoothing of Madsen & Nielsen 1993, SIAM J. Optim. 3, 223, and ends at least absolute deviations.
        """
        steps = int(np.ceil(np.log10(max(0.1 * scale / self.delta, 1.0))))
        return tuple(Huber(self.delta * 10.0**k) for k in range(steps, 0, -1))


@dataclass(frozen=True)
class Objective:
    """A loss and the scale of its residual."""

    loss: Loss
    log: bool


def objective(spec: FitSpec) -> Objective:
    """The objective that ``spec`` names."""
    if spec.objective == "huber-log":
        return Objective(Huber(spec.delta), log=True)
    return Objective(Square(), log=spec.objective == "ols-log")
