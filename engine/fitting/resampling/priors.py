"""Gaussian priors on parameters, as terms of the objective.

An objective is s times the negative logarithm of a likelihood, where s is the scale of the noise. A Gaussian prior
(mean, sd) therefore adds (s / 2) ((parameter - mean) / sd)^2 to the objective. The minimum of this sum is the maximum a
posteriori estimate.

If relative errors are given, s is known: 2 for least squares, and 1 for other objectives. Otherwise s is the
maximum-likelihood estimate at the best fit without priors. This estimate uses the value of the objective at the best
fit, times n / (n - p), for n runs and p free parameters. For least squares, s is twice the usual estimate of the
variance.

Each resample draws its own mean from the prior. A parameter that the runs do not constrain then has the spread of the
prior.
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
"""Mean and standard deviation of the prior of each parameter, by name."""


def informed(s: Sample, p: Problem, least: Callable[[Problem], float]) -> Problem:
    """Return the problem ``p`` with the priors of the specification, or ``p`` itself if there are no priors.

    ``least`` returns the lowest objective of a problem.
    """
    if not s.spec.prior:
        return p
    return posed(p, s.spec.prior, noise(s.spec, p.objective.loss, lambda: least(p) / (p.n - len(s.free))))


def posed(p: Problem, prior: Priors, noise: float) -> Problem:
    """Return the problem ``p`` with Gaussian priors in its objective; ``noise`` is the scale of the noise."""
    return replace(p, penalty=penalty(p.forms(prior), prior, noise))


def redrawn(p: Problem, prior: Priors, normal: Floats) -> Problem:
    """Return the problem with new prior means in each resample, drawn with the normal numbers ``normal`` (r, k)."""
    return replace(p, penalty=p.penalty and moved(p.penalty, prior, normal))


def penalty(forms: Forms, prior: Priors, noise: float) -> Penalty:
    """Return the priors as a penalty; ``forms`` computes, from theta, the parameters that have a prior."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return Penalty(forms, mean[None], noise / (2 * sd**2))


def moved(one: Penalty, prior: Priors, normal: Floats) -> Penalty:
    """Return the penalty with new means in each resample, drawn with the standard normal numbers ``normal`` (r, k)."""
    mean, sd = np.array(list(prior.values()), float).reshape(-1, 2).T
    return replace(one, mean=mean + sd * normal)


def normals(seed: int, total: int, k: int) -> Floats:
    """Return standard normal numbers (total, k) for ``total`` resamples.

    For resample i, the numbers come from a Philox stream that depends on (seed, i). The draws of runs use another
    stream.
    """
    streams = (np.random.Philox(key=np.array([seed, i], np.uint64), counter=[0, 0, 0, 1]) for i in range(total))
    return np.array([np.random.Generator(stream).normal(size=k) for stream in streams]).reshape(total, k)


def noise(spec: FitSpec, loss: Loss, mean: Callable[[], float]) -> float:
    """Return the scale s of the noise. This scale is known if errors are given, and otherwise it is estimated.

    ``mean()`` returns the objective of the best fit divided by the degrees of freedom. ``mean`` is called only if no
    errors are given.
    """
    if spec.relative_error is not None:
        return 2.0 if np.isinf(loss.delta) else 1.0
    return scale(loss, mean())
