"""Gaussian priors on parameters, in the scale of the objective's own noise.

Minimising an objective, the sum of w rho(r), is maximum likelihood under a noise whose density is proportional to
exp(-w rho(r) / s): a Gaussian for least squares, a Laplace density for absolute deviations. A Gaussian prior (mean, sd)
then adds (s / 2) ((parameter - mean) / sd)^2 to the objective, and the minimum is the maximum a posteriori. With stated
relative errors s is what they say (2 for least squares, else 1). Without, s is its own maximum-likelihood value at the
best fit without priors, the objective there raised by n / (n - p) for its p free parameters; for least squares that
is twice the usual estimate of the variance.

In every resample the mean is redrawn from the prior itself, so that a parameter which the runs say nothing about
spreads as the prior does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from engine.fitting.checks import Sample
from engine.fitting.objectives import Loss
from engine.fitting.penalty import Penalty
from engine.fitting.problem import Problem
from engine.fitting.solver import best_fit
from engine.laws.law import Floats


def informed(s: Sample, p: Problem) -> Problem:
    """``p`` with the priors of the sample's specification, which may be none."""
    if not s.spec.prior:
        return p
    names = list(s.spec.prior)
    mean, sd = np.array([s.spec.prior[name] for name in names], float).T
    place = np.array([s.law.names.index(name) for name in names])
    return replace(p, penalty=Penalty(place, mean[None], noise(s, p) / (2 * sd**2), p.external))


def redrawn(s: Sample, p: Problem) -> Problem:
    """``p`` with the prior means of its resamples: resample i depends on (seed, i) alone."""
    if p.penalty is None:
        return p
    mean, sd = np.array(list(s.spec.prior.values()), float).T
    return replace(p, penalty=replace(p.penalty, mean=mean + sd * normals(s.spec.seed, s.spec.bootstrap, len(sd))))


def normals(seed: int, total: int, k: int) -> Floats:
    """Standard normal numbers (total, k) by resample: a Philox stream of (seed, i), apart from the one of the runs."""
    streams = (np.random.Philox(key=np.array([seed, i], np.uint64), counter=[0, 0, 0, 1]) for i in range(total))
    return np.array([np.random.Generator(stream).normal(size=k) for stream in streams]).reshape(total, k)


def noise(s: Sample, p: Problem) -> float:
    """The scale s of the noise in the objective of ``p``, without priors."""
    loss = p.objective.loss
    if s.spec.relative_error is not None:
        return 2.0 if np.isinf(loss.delta) else 1.0
    return scale(loss, best_fit(p).value / (p.n - len(s.free)))


def scale(loss: Loss, mean: float) -> float:
    """The maximum-likelihood s of the density exp(-rho(r)/s) / Z(s) for runs whose rho has the given mean."""
    if mean <= 0:
        return 0.0
    # Z grows between s^(1/2) (squares) and s (absolute values), so s lies between the mean and twice the mean
    found = minimize_scalar(
        lambda t: np.log(_norm(loss, mean * np.exp(t))) + np.exp(-t), bounds=(-0.1, 0.8), options={"xatol": 1e-12}
    )
    return float(mean * np.exp(found.x))


def _norm(loss: Loss, s: float) -> float:
    """Z(s), the integral of exp(-rho(r) / s) over all r."""
    return sum(_half(loss.delta, s / side) for side in (loss.scale, loss.scale * loss.skew))


def _half(delta: float, s: float) -> float:
    """The same over r > 0 for huber_delta."""
    core = np.sqrt(2 * np.pi * s) * (ndtr(delta / np.sqrt(s)) - 0.5)
    return float(core if np.isinf(delta) else core + s / delta * np.exp(-(delta**2) / (2 * s)))
