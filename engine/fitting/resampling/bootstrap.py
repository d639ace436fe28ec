"""What each resample draws: the runs themselves, or the noise around the fit.

Resample i depends on (seed, i) alone, so that blocks, threads, page and terminal give the same digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.fitting.solver.backend import NUMPY
from isoplan.engine.fitting.solver.philox import words
from isoplan.engine.fitting.types.spec import FitSpec


def uniforms(seed: int, start: int, stop: int, count: int) -> Floats:
    """Uniform numbers between 0 and 1 for resamples ``start`` to ``stop``: shape (stop - start, count)."""
    return np.asarray((words(seed, start, stop, count) + 0.5) / 2.0**32, float)


def student(freedom: int, uniform: Floats) -> Floats:
    """What turns normal numbers into Student's t: sqrt(freedom / chi2), from ``uniform`` (r,)."""
    return np.asarray(np.sqrt(freedom / chdtri(freedom, uniform)), float)


def counts(n: int, seed: int, start: int, stop: int, strata: Ints | None = None) -> Floats:
    """How often each of ``n`` runs is drawn in resamples ``start`` to ``stop``: shape (stop - start, n).

    Pairs bootstrap: n draws with replacement (Efron 1979); with ``strata`` (n,) as many draws within each stratum as
    it has runs. Resample i depends on (seed, i) alone (stream i of ``philox``), so that blocks, threads, page and
    terminal give the same digits, and so do numpy and the compiled kernels.
    """
    group = np.zeros(n, np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    sizes = np.bincount(group, minlength=1)
    size, first = np.repeat(sizes, sizes), np.repeat(np.cumsum(sizes) - sizes, sizes)
    engine = kernels.compiled(0) or NUMPY
    return engine.draw(seed, start, stop, size, first, np.argsort(group, kind="stable"))


def expected_scatter(spec: FitSpec, weight: Floats) -> Floats:
    """How far runs of ``weight`` (n,) scatter beside one of weight one: 1/sqrt(w), for absolute deviations 1/w."""
    return np.asarray(weight ** (-1.0 if spec.objective in ("lad", "asymmetric") else -0.5), float)


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise around a fit, as its residuals show it: what the residual bootstrap draws from.

    A draw gives each cluster the mean residual of some cluster and each run the remainder of some run. The means are
    smoothed by a normal kernel of Silverman's width and shrunk back to their own spread (Silverman & Young 1987), so
    that the zeros of a fit by absolute deviations do not come back as zeros, and raised by G / (G - p) for the p
    parameters that G clusters had to fit: by twice as much (in logs) as runs of equal scatter need, because few runs
    cannot show that theirs is unequal (MacKinnon & White 1985, J. Econometrics 29, 305, HC3 with its mean leverage).
    Every draw is then divided by sqrt(chi2 / (G - p)), which makes Student's t out of the normal.
    """

    mean: Floats  # (G,) of the clusters
    within: Floats  # (n,) residual less the mean of its cluster
    member: Ints  # (n,) cluster of each run
    parameters: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom left for the noise, at least one."""
        return max(len(self.mean) - self.parameters, 1)

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Noise (stop - start, n) of resamples ``start`` to ``stop``."""
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
    """The noise that ``residual`` (n,) shows, of equal spread for every run."""
    mean = np.bincount(clusters, residual) / np.bincount(clusters)
    return Noise(mean, residual - mean[clusters], clusters, parameters)
