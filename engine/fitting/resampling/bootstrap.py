"""The pairs bootstrap, which draws runs, and the residual bootstrap, which draws noise around a fit.

Resample i depends only on the seed and on i. The results therefore do not depend on the division of the work into
blocks and threads. They are the same on the pages and in the terminal.

For iso-FLOP sweeps, noise is drawn around the curve of each budget, and all runs are used. A budget has about nine
runs. A draw of these runs would repeat some model sizes and omit others. The minima of parabolas through such draws
would scatter two to three times too widely.

The noise of the curves is estimated as follows. A curve that is fitted by absolute deviations passes through
``COEFFICIENTS`` of its runs, so the ``COEFFICIENTS`` smallest residuals of each curve are omitted. The scatter differs
between budgets, but one curve has too few runs to determine its scatter. The spread of a curve is therefore a mean
absolute residual over its own residuals and ``SHARED`` additional residuals. Each additional residual equals the mean
absolute residual of all curves. Residuals above ``CAP`` * (median residual) are reduced to this limit (variances are
moderated in a similar way in Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3, 3). The shape of the noise is the
distribution of all residuals, each divided by the spread of its curve. This distribution is smoothed (Silverman & Young
1987), and the draws are multiplied by Student's factor for the degrees of freedom of all curves.
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
    """Return how often each of ``n`` runs is drawn in the resamples ``start`` to ``stop``: shape (stop - start, n).

    Pairs bootstrap: a resample draws n runs with replacement (Efron 1979). If ``strata`` (n,) is given, a resample
    draws from each stratum as many runs as the stratum contains. Resample i uses stream i of ``philox`` and depends
    only on the seed and on i. numpy and the compiled kernels therefore give equal numbers for any division into blocks
    and threads.
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
"""Standard deviation of normal noise divided by its mean absolute value."""


def uniforms(seed: int, start: int, stop: int, count: int) -> Floats:
    """Return uniform random numbers (0 to 1) of the resamples ``start`` to ``stop``: shape (stop - start, count)."""
    return np.asarray((words(seed, start, stop, count) + 0.5) / 2.0**32, float)


def student(freedom: int, uniform: Floats) -> Floats:
    """Return factors (r,). The product of a factor and a normal random number has Student's t distribution.

    A factor is sqrt(freedom / chi2). chi2 is drawn from the chi-squared distribution with ``freedom`` degrees of
    freedom, with the uniform random numbers ``uniform`` (r,).
    """
    return np.asarray(np.sqrt(freedom / chdtri(freedom, uniform)), float)


def expected_scatter(spec: FitSpec, weight: Floats) -> Floats:
    """Return the scatter (n,) of runs with the weights ``weight``, relative to a run of weight one.

    For a run of weight w, the scatter is 1/w for the objectives "lad" and "asymmetric", and 1/sqrt(w) for other
    objectives.
    """
    return np.asarray(weight ** (-1.0 if spec.objective in ("lad", "asymmetric") else -0.5), float)


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise around a fit, estimated from its residuals. The residual bootstrap draws from it.

    A draw assigns to each cluster the mean residual of a random cluster, and adds to each run the remaining residual of
    a random run. The means are smoothed by a normal kernel of Silverman's width and then scaled back to their original
    spread (Silverman & Young 1987). Without smoothing, the zero residuals of a fit by absolute deviations would stay
    zero.

    The means are also multiplied by G / (G - p), for p parameters fitted to G clusters. For runs of equal scatter, the
    usual factor is the square root of G / (G - p). The larger factor is used because few runs cannot show whether the
    scatter is equal (MacKinnon & White 1985, J. Econometrics 29, 305: HC3 with its mean leverage). Finally, each draw
    is divided by sqrt(chi2 / (G - p)), with a random chi2 of G - p degrees of freedom. This converts a normal
    distribution to Student's t distribution.
    """

    mean: Floats  # (G,) mean residual of each cluster
    within: Floats  # (n,) residual minus the mean of its cluster
    member: Ints  # (n,) cluster of each run
    parameters: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the noise (clusters minus parameters), at least one."""
        return max(len(self.mean) - self.parameters, 1)

    def draw(self, seed: int, start: int, stop: int) -> Floats:
        """Return the noise (stop - start, n) of the resamples ``start`` to ``stop``."""
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
    """Return the noise estimated from the residuals ``residual`` (n,), with equal scatter for all runs."""
    mean = np.bincount(clusters, residual) / np.bincount(clusters)
    return Noise(mean, residual - mean[clusters], clusters, parameters)


def targets(spec: FitSpec, y: Floats, weight: Floats, fitted: Floats, member: Ints, free: int, which: slice) -> Floats:
    """Return losses (r, n) of the residual bootstrap: ``fitted`` (n,) plus noise that is drawn from the residuals.

    ``free`` is the number of fitted parameters. ``member`` (n,) is the cluster of each run. ``which`` is the slice of
    the resamples.
    """
    scale = expected_scatter(spec, weight)
    residual = (np.log(y / fitted) if spec.log_residuals else y - fitted) / scale
    drawn = scale * noise(residual, member, free).draw(spec.seed, which.start, which.stop)
    return fitted * np.exp(np.minimum(drawn, 300.0)) if spec.log_residuals else fitted + drawn


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """The noise around b curves. ``shape`` contains g residuals, each divided by the ``spread`` of its curve."""

    shape: Floats  # (g,)
    spread: Floats  # (b,)

    def draw(self, seed: int, start: int, stop: int, curve: Ints) -> Floats:
        """Return the noise (stop - start, n) of resamples ``start`` to ``stop``; ``curve`` (n,) is each run's curve."""
        g, n = len(self.shape), len(curve)
        width = 1.06 * g**-0.2
        u = uniforms(seed, start, stop, 2 * n + 1)
        unit = (self.shape[np.int64(u[:, :n] * g)] + width * ndtri(u[:, n : 2 * n])) / np.hypot(1.0, width)
        return np.asarray(unit * self.spread[curve] * student(g, u[:, 2 * n])[:, None])


def curve_noise(residuals: Sequence[Floats]) -> CurveNoise:
    """Return the noise estimated from the ``residuals`` of each curve.

    The spread is NaN if each curve passes exactly through all of its runs.
    """
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
