"""Information criteria of a fit.

Every objective is the sum over runs of weight times rho(residual), so it is the negative log of the density
p(r) = exp(-w rho(r) / s) / Z(s / w), Z(s) = integral of exp(-rho(r) / s) dr, up to the scale s of the noise; s is set
by maximum likelihood and counts as a parameter. For ``ols`` that is the Gaussian, for ``huber-log`` a Gaussian core
with exponential tails that begin at delta (delta is not scaled with the noise, so the best fit of the objective is the
most likely one). Residuals of logs are densities of log y: criteria compare laws under one objective on the same runs.

AIC = 2 k - 2 ln p, BIC = k ln n - 2 ln p with k free parameters and s (Akaike 1974; Schwarz 1978).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver.objectives import Loss, log_norm
from isoplan.engine.fitting.solver.problem import objective
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.schema import Runs


@dataclass(frozen=True)
class Criteria:
    """Likelihood and information criteria; smaller AIC and BIC are better.

    ``parameters`` counts the free parameters and the scale of the noise.
    """

    log_likelihood: float
    parameters: int
    aic: float
    bic: float


def criteria(found: Fit, runs: Runs) -> Criteria:
    """Compute AIC and BIC of ``found`` on the ``runs`` that it was fitted to.

    Raises PlannerError if the law describes minima instead of runs, or if all residuals are zero.
    """
    if not found.law.is_pointwise:
        raise PlannerError(f"Law {found.law.name} describes minima, not single runs, so it has no likelihood of them.")
    s = sample(found.spec, runs)
    how = objective(found.spec, s.y)
    predicted = found.law.predict(found.theta, s.columns)
    residual = np.log(predicted / s.y) if how.log else predicted - s.y
    log_likelihood = most_likely(how.loss, residual, s.weight)
    k = sum(not p.fixed for p in found.parameters) + 1
    return Criteria(log_likelihood, k, 2 * k - 2 * log_likelihood, k * float(np.log(len(s))) - 2 * log_likelihood)


def most_likely(loss: Loss, residual: Floats, weight: Floats) -> float:
    """Return ln p of ``residual`` (n,) with ``weight`` (n,) at the most likely scale of the noise."""
    from scipy.optimize import minimize_scalar

    rho = loss.value(residual)
    total, n = float(weight @ rho), len(rho)
    if not total > 1e-24 * max(float(np.max(np.abs(residual), initial=0.0)), 1e-300) * n:
        raise PlannerError("The law goes through every run exactly, so the noise has no scale and laws no likelihood.")
    typical = np.log(total / n)
    best = minimize_scalar(
        lambda t: total / np.exp(t) + float(np.sum(log_norm(loss, np.exp(t) / weight))),
        bounds=(typical - 4, typical + 4),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(best.fun)
