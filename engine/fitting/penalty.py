"""Gaussian priors as a quadratic that is added to an objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.fitting.descent import Local

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STEP = 1e-6
"""Relative step of the central differences that say how the law's parameters follow the solver's."""


@dataclass(frozen=True, eq=False)
class Penalty:
    """The sum over k priors of weight (parameter - mean)^2, in the unit of the objective.

    ``place`` are the parameters' positions in the law; ``mean`` is (1, k), or (r, k) where every resample has its own;
    ``external`` gives the law's parameters (..., p) from the solver's (..., q).
    """

    place: Ints  # (k,)
    mean: Floats  # (1, k) or (r, k)
    weight: Floats  # (k,)
    external: Callable[[Floats], Floats]

    def of(self, resamples: Ints | slice) -> Penalty:
        """The penalty of some resamples."""
        return self if len(self.mean) == 1 else replace(self, mean=self.mean[resamples])

    def value(self, theta: Floats) -> float:
        """The penalty at one point (q,), with the first means."""
        return float(self.weight @ (self.external(theta)[self.place] - self.mean[0]) ** 2)

    def added(self, to: Local, theta: Floats, owner: Ints) -> Local:
        """``to`` at ``theta`` (b, q) with the penalty; ``owner`` (b) are the resamples.

        Its Hessian is the Gauss-Newton one, exact where a parameter is one of the solver's own.
        """
        gap = self.external(theta)[:, self.place] - (self.mean if len(self.mean) == 1 else self.mean[owner])
        slope = self._slope(theta)
        gauss = 2 * np.einsum("k,bki,bkj->bij", self.weight, slope, slope)
        return Local(
            to.value + gap**2 @ self.weight,
            to.gradient + 2 * np.einsum("k,bk,bki->bi", self.weight, gap, slope),
            to.hessian + gauss,
            to.gauss + gauss,
        )

    def _slope(self, theta: Floats) -> Floats:
        """d parameter / d theta: (b, k, q); zero where a parameter has no finite slope."""
        step = STEP * np.where(theta == 0, 1.0, np.abs(theta))
        moved = step[:, :, None] * np.eye(theta.shape[1])
        with np.errstate(all="ignore"):
            up, down = self.external(theta[:, None] + moved), self.external(theta[:, None] - moved)
            slope = (up - down)[..., self.place] / (2 * step[..., None])
        return np.where(np.isfinite(slope), slope, 0.0).transpose(0, 2, 1)
