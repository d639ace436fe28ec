"""The noise around the curves of an iso-FLOP sweep, as their residuals show it: what their residual bootstrap draws.

Runs drawn from the nine or so of a budget repeat some sizes and lack others, and parabolas through them scatter two to
three times as far as the minima do. Noise keeps the sizes. Every curve was bent to ``COEFFICIENTS`` of its runs (by
absolute deviations through them), so the residuals nearest to it are left out, as many as that. Budgets scatter
unequally, and a curve alone says little about by how much: its spread is the mean size of its own residuals and, as
if of ``SHARED`` more, of all, none counted beyond ``CAP`` medians (Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3, 3,
moderates variances so). The shape of the noise is that of all residuals in units of their curve's spread, smoothed
(Silverman & Young 1987), with Student's factor for the degrees of freedom of all curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.resampling.bootstrap import student, uniforms

COEFFICIENTS = 3
SHARED = 2.0
CAP = 3.0
NORMAL = float(np.sqrt(np.pi / 2))
"""The standard deviation over the mean size, of normal noise."""


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """Residuals in units of their curve's spread, and the spread of each of b curves."""

    shape: Floats  # (g,)
    spread: Floats  # (b,)

    def draw(self, seed: int, start: int, stop: int, curve: NDArray[np.int64]) -> Floats:
        """Noise (stop - start, n) of resamples ``start`` to ``stop`` for runs of the curves ``curve`` (n,)."""
        g, n = len(self.shape), len(curve)
        width = 1.06 * g**-0.2
        u = uniforms(seed, start, stop, 2 * n + 1)
        unit = (self.shape[np.int64(u[:, :n] * g)] + width * ndtri(u[:, n : 2 * n])) / np.hypot(1.0, width)
        return np.asarray(unit * self.spread[curve] * student(g, u[:, 2 * n])[:, None])


def curve_noise(residuals: Sequence[Floats]) -> CurveNoise:
    """The noise that the ``residuals`` of each curve show; NaN where every curve goes through all of its runs."""
    far = [r[np.argsort(np.abs(r), kind="stable")[COEFFICIENTS:]] for r in residuals]
    size = [np.abs(r) for r in far]
    every = np.concatenate(size)
    if not every.size:
        return CurveNoise(np.zeros(1), np.full(len(residuals), np.nan))
    most = CAP * np.median(every)
    total, count = np.array([np.minimum(x, most).sum() for x in size]), np.array([len(x) for x in size])
    spread = NORMAL * (total + SHARED * total.sum() / count.sum()) / (count + SHARED)
    with np.errstate(invalid="ignore"):
        shape = np.concatenate([r / s for r, s in zip(far, spread, strict=True)])
    return CurveNoise(np.nan_to_num(shape), spread)
