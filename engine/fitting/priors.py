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

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from engine.fitting.checks import Sample
from engine.fitting.objectives import Loss
from engine.fitting.penalty import Penalty
from engine.fitting.problem import Problem
from engine.fitting.solver import best_fit
from engine.fitting.spec import FitSpec
from engine.laws.law import Floats

Priors = Mapping[str, tuple[float, float]]
"""Mean and standard deviation by parameter."""


def informed(s: Sample, p: Problem) -> Problem:
    """``p`` with the priors of the sample's specification, which may be none."""
    if not s.spec.prior:
        return p
    return posed(p, s.spec.prior, noise(s.spec, p, lambda: best_fit(p).value / (p.n - len(s.free))))


def posed(p: Problem, prior: Priors, noise: float) -> Problem:
    """``p`` with Gaussian priors, in a noise of scale ``noise``."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    place = np.array([p.law.names.index(name) for name in prior], np.int64)
    return replace(p, penalty=Penalty(place, mean[None], noise / (2 * sd**2), p.external))


def redrawn(p: Problem, prior: Priors, normal: Floats) -> Problem:
    """``p`` with a prior mean of its own for every resample, from standard normal numbers (r, k)."""
    if p.penalty is None:
        return p
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return replace(p, penalty=replace(p.penalty, mean=mean + sd * normal))


def normals(seed: int, total: int, k: int) -> Floats:
    """Standard normal numbers (total, k) by resample: a Philox stream of (seed, i), apart from the one of the runs."""
    streams = (np.random.Philox(key=np.array([seed, i], np.uint64), counter=[0, 0, 0, 1]) for i in range(total))
    return np.array([np.random.Generator(stream).normal(size=k) for stream in streams]).reshape(total, k)


def noise(spec: FitSpec, p: Problem, mean: Callable[[], float]) -> float:
    """The scale s of the noise: stated, or from the mean of w rho per degree of freedom at the best fit."""
    if spec.relative_error is not None:
        return 2.0 if np.isinf(p.objective.loss.delta) else 1.0
    return scale(p.objective.loss, mean())


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
