"""Gaussian priors on parameters, in the scale of the objective's own noise.

An objective is the negative log of a likelihood in units of s, the scale of the noise (``noise``), so a Gaussian prior
(mean, sd) adds (s / 2) ((parameter - mean) / sd)^2 to it, and the minimum is the maximum a posteriori. With stated
relative errors s is what they say (2 for least squares, else 1). Without, s is its most likely value at the best fit
without priors, the objective there raised by n / (n - p) for its p free parameters; for least squares that is twice
the usual estimate of the variance.

In every resample the mean is redrawn from the prior itself, so that a parameter which the runs say nothing about
spreads as the prior does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.samples.sample import Sample
from isoplan.engine.fitting.solver.objectives import Loss, scale
from isoplan.engine.fitting.solver.penalty import Forms, Penalty
from isoplan.engine.fitting.solver.problem import Problem
from isoplan.engine.fitting.types.spec import FitSpec

Priors = Mapping[str, tuple[float, float]]
"""Mean and standard deviation by parameter."""


def informed(s: Sample, p: Problem, least: Callable[[Problem], float]) -> Problem:
    """``p`` with the priors of the sample's specification, which may be none; ``least`` gives its least objective."""
    if not s.spec.prior:
        return p
    return posed(p, s.spec.prior, noise(s.spec, p.objective.loss, lambda: least(p) / (p.n - len(s.free))))


def posed(p: Problem, prior: Priors, noise: float) -> Problem:
    """``p`` with Gaussian priors, in a noise of scale ``noise``."""
    return replace(p, penalty=penalty(p.forms(prior), prior, noise))


def redrawn(p: Problem, prior: Priors, normal: Floats) -> Problem:
    """``p`` with a prior mean of its own for every resample, from standard normal numbers (r, k)."""
    return replace(p, penalty=p.penalty and moved(p.penalty, prior, normal))


def penalty(forms: Forms, prior: Priors, noise: float) -> Penalty:
    """The priors as a penalty; ``forms`` gives their parameters from the solver's own."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return Penalty(forms, mean[None], noise / (2 * sd**2))


def moved(one: Penalty, prior: Priors, normal: Floats) -> Penalty:
    """The penalty with a mean of its own for every resample, from standard normal numbers (r, k)."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return replace(one, mean=mean + sd * normal)


def normals(seed: int, total: int, k: int) -> Floats:
    """Standard normal numbers (total, k) by resample: a Philox stream of (seed, i), apart from the one of the runs."""
    streams = (np.random.Philox(key=np.array([seed, i], np.uint64), counter=[0, 0, 0, 1]) for i in range(total))
    return np.array([np.random.Generator(stream).normal(size=k) for stream in streams]).reshape(total, k)


def noise(spec: FitSpec, loss: Loss, mean: Callable[[], float]) -> float:
    """The scale s of the noise: stated, or from the mean of w rho per degree of freedom at the best fit."""
    if spec.relative_error is not None:
        return 2.0 if np.isinf(loss.delta) else 1.0
    return scale(loss, mean())
