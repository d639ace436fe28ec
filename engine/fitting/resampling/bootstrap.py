"""The pairs bootstrap and the residual bootstrap: how often each run is drawn, and the noise around a fit.

Resample i depends on (seed, i) alone, so that blocks, threads, page and terminal give the same digits.

For iso-FLOP sweeps, the noise around each curve is drawn, and all sizes are kept. Drawing the runs instead (about nine
per budget) repeats some sizes and omits others. Parabolas through such draws have minima that scatter two to three
times too widely.

A curve fitted by absolute deviations passes through ``COEFFICIENTS`` of its runs, so the ``COEFFICIENTS`` smallest
residuals of each curve are left out. The scatter differs between budgets, but the few runs of one curve determine it
poorly. The spread of a curve is therefore the mean absolute value of its own residuals and of ``SHARED`` further ones
with the mean of all curves. No residual counts more than ``CAP`` times the median (Smyth 2004, Stat. Appl. Genet. Mol.
Biol. 3, 3, moderates variances in the same way). The shape of the noise is the distribution of all residuals in units
of their curve's spread. It is smoothed (Silverman & Young 1987) and multiplied by Student's factor for the degrees of
freedom of all curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.fitting.solver.philox import words
from isoplan.engine.fitting.types.spec import FitSpec


def counts(n: int, seed: int, start: int, stop: int, strata: Ints | None = None) -> Floats:
    """Return how often each of ``n`` runs is drawn in resamples ``start`` to ``stop``: shape (stop - start, n).

    Pairs bootstrap: n draws with replacement (Efron 1979); with ``strata`` (n,) as many draws within each stratum as it
    has runs. Resample i depends on (seed, i) alone (stream i of ``philox``), so that blocks, threads, page and
    terminal, and numpy and the compiled kernels, give the same digits.
    """
    group = np.zeros(n, np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    sizes = np.bincount(group, minlength=1)
    size, first = np.repeat(sizes, sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    engine = kernels.compiled(0) or kernels.NUMPY
    return engine.draw(seed, start, stop, size, first, np.argsort(group, kind="stable"))


COEFFICIENTS = 3
SHARED = 2.0
CAP = 3.0
NORMAL = float(np.sqrt(np.pi / 2))
"""Ratio of the standard deviation to the mean absolute value of normal noise."""


def uniforms(seed: int, start: int, stop: int, count: int) -> Floats:
    """Return uniform numbers between 0 and 1 for resamples ``start`` to ``stop``: shape (stop - start, count)."""
    return np.asarray((words(seed, start, stop, count) + 0.5) / 2.0**32, float)


def student(freedom: int, uniform: Floats) -> Floats:
    """Return the factors that turn normal numbers into Student's t: sqrt(freedom / chi2), from ``uniform`` (r,)."""
    return np.asarray(np.sqrt(freedom / chdtri(freedom, uniform)), float)


def expected_scatter(spec: FitSpec, weight: Floats) -> Floats:
    """Return the scatter of runs of ``weight`` w (n,) relative to weight one: 1/sqrt(w), or 1/w for absolute
    deviations.
    """
    return np.asarray(weight ** (-1.0 if spec.objective in ("lad", "asymmetric") else -0.5), float)


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise around a fit, estimated from its residuals; the residual bootstrap draws from it.

    A draw gives each cluster the mean residual of some cluster and each run the remainder of some run. The means are
    smoothed by a normal kernel of Silverman's width and shrunk back to their original spread (Silverman & Young 1987),
    so that zero residuals of a fit by absolute deviations do not stay zero. They are then scaled by G / (G - p) for the
    p parameters fitted to G clusters. In logs this is twice the factor for runs of equal scatter, because few runs
    cannot show that their scatter is unequal (MacKinnon & White 1985, J. Econometrics 29, 305, HC3 with its mean
    leverage). Every draw is divided by sqrt(chi2 / (G - p)), which turns the normal distribution into Student's t.
    """

    mean: Floats  # (G,) of the clusters
    within: Floats  # (n,) residual minus the mean of its cluster
    member: Ints  # (n,) cluster of each run
    parameters: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the noise, at least one."""
        return max(len(self.mean) - self.parameters, 1)

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Draw the noise (stop - start, n) of resamples ``start`` to ``stop``."""
        g, n = len(self.mean), len(self.within)
        rms = float(np.sqrt(np.mean(self.mean**2)))
        width = 1.06 * g**-0.2 * rms
        size = g / self.freedom * (rms / np.hypot(rms, width) if rms > 0 else 0.0)
        u = uniforms(seed, start, stop, 2 * g + 1 + (n if n > g else 0))
        means = size * (self.mean[np.int64(u[:, :g] * g)] + width * ndtri(u[:, g : 2 * g]))
        out = means[:, self.member]
        if n > g:
            out += np.sqrt(n / (n - g)) * self.within[np.int64(u[:, 2 * g + 1 :] * n)]
        return out * student(self.freedom, u[:, 2 * g])[:, None]


def noise(residual: Floats, clusters: Ints, parameters: int) -> Noise:
    """Estimate the noise from ``residual`` (n,), with equal spread for every run."""
    mean = np.bincount(clusters, residual) / np.bincount(clusters)
    return Noise(mean, residual - mean[clusters], clusters, parameters)


def targets(spec: FitSpec, y: Floats, weight: Floats, fitted: Floats, member: Ints, free: int, which: slice) -> Floats:
    """Return losses (r, n) of the residual bootstrap: ``fitted`` (n,) plus noise drawn from the residuals.

    ``free`` is the number of fitted parameters, ``member`` (n,) are the clusters of the runs.
    """
    scale = expected_scatter(spec, weight)
    residual = (np.log(y / fitted) if spec.log_residuals else y - fitted) / scale
    drawn = scale * noise(residual, member, free).draw(spec.seed, which.start, which.stop)
    return fitted * np.exp(np.minimum(drawn, 300.0)) if spec.log_residuals else fitted + drawn


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """Residuals in units of their curve's spread, and the spread of each of b curves."""

    shape: Floats  # (g,)
    spread: Floats  # (b,)

    def draw(self, seed: int, start: int, stop: int, curve: Ints) -> Floats:
        """Draw the noise (stop - start, n) of resamples ``start`` to ``stop`` for runs of the curves ``curve`` (n,)."""
        g, n = len(self.shape), len(curve)
        width = 1.06 * g**-0.2
        u = uniforms(seed, start, stop, 2 * n + 1)
        unit = (self.shape[np.int64(u[:, :n] * g)] + width * ndtri(u[:, n : 2 * n])) / np.hypot(1.0, width)
        return np.asarray(unit * self.spread[curve] * student(g, u[:, 2 * n])[:, None])


def curve_noise(residuals: Sequence[Floats]) -> CurveNoise:
    """Estimate the noise from the ``residuals`` of each curve; NaN if every curve passes through all of its runs."""
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
