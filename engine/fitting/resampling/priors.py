"""Gaussian priors on parameters, in the scale of the objective's noise.

An objective is the negative log of a likelihood in units of s, the scale of the noise (``noise``), so a Gaussian prior
(mean, sd) adds (s / 2) ((parameter - mean) / sd)^2 to it, and the minimum is the maximum a posteriori. If relative
errors are given, they determine s (2 for least squares, else 1). Otherwise s is its most likely value at the best fit
without priors, with the objective scaled by n / (n - p) for its p free parameters; for least squares that is twice the
usual estimate of the variance.

In every resample the mean is drawn again from the prior, so that a parameter that the runs do not constrain has the
spread of the prior.
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
    """Return ``p`` with the priors of the sample's specification, if it has any.

    ``least`` computes the least objective of a problem.
    """
    if not s.spec.prior:
        return p
    return posed(p, s.spec.prior, noise(s.spec, p.objective.loss, lambda: least(p) / (p.n - len(s.free))))


def posed(p: Problem, prior: Priors, noise: float) -> Problem:
    """Return ``p`` with Gaussian priors, for noise of scale ``noise``."""
    return replace(p, penalty=penalty(p.forms(prior), prior, noise))


def redrawn(p: Problem, prior: Priors, normal: Floats) -> Problem:
    """Return ``p`` with a separate prior mean for every resample, from standard normal numbers (r, k)."""
    return replace(p, penalty=p.penalty and moved(p.penalty, prior, normal))


def penalty(forms: Forms, prior: Priors, noise: float) -> Penalty:
    """Return the priors as a penalty; ``forms`` computes their parameters from those of the solver."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return Penalty(forms, mean[None], noise / (2 * sd**2))


def moved(one: Penalty, prior: Priors, normal: Floats) -> Penalty:
    """Return the penalty with a separate mean for every resample, from standard normal numbers (r, k)."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return replace(one, mean=mean + sd * normal)


def normals(seed: int, total: int, k: int) -> Floats:
    """Return standard normal numbers (total, k) by resample, from Philox streams (seed, i) separate from those of the
    runs.
    """
    streams = (np.random.Philox(key=np.array([seed, i], np.uint64), counter=[0, 0, 0, 1]) for i in range(total))
    return np.array([np.random.Generator(stream).normal(size=k) for stream in streams]).reshape(total, k)


def noise(spec: FitSpec, loss: Loss, mean: Callable[[], float]) -> float:
    """Return the scale s of the noise: from given errors, or from the mean of w rho per degree of freedom at the best
    fit.
    """
    if spec.relative_error is not None:
        return 2.0 if np.isinf(loss.delta) else 1.0
    return scale(loss, mean())
