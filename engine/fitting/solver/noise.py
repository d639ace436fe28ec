"""The noise that an objective stands for.

Minimising the sum of w rho(r) is maximum likelihood under a density proportional to exp(-w rho(r) / s): a Gaussian for
least squares, a Laplace density for absolute deviations, a Gaussian core with exponential tails for Huber's. One number
s, in the unit of the objective, says how much noise there is; an objective that is s/2 higher costs as much likelihood
as one standard error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.solver.objectives import Loss


def scale(loss: Loss, mean: float) -> float:
    """The most likely s for runs whose w rho has the given mean."""
    from scipy.optimize import minimize_scalar

    if mean <= 0:
        return 0.0
    # Z grows between s^(1/2) (squares) and s (absolute values), so s lies between the mean and twice the mean
    found = minimize_scalar(
        lambda t: float(log_norm(loss, mean * np.exp(t)) + np.exp(-t)), bounds=(-0.1, 0.8), options={"xatol": 1e-12}
    )
    return float(mean * np.exp(found.x))


def log_norm(loss: Loss, s: ArrayLike) -> Floats:
    """ln Z(s), Z the integral of exp(-rho(r) / s) over all r, for ``s`` of any shape."""
    at = np.asarray(s, float)
    return np.log(_half(loss.delta, at / loss.scale) + _half(loss.delta, at / (loss.scale * loss.skew)))


def _half(delta: float, s: Floats) -> Floats:
    """The same over r > 0 for huber_delta."""
    core = np.sqrt(np.pi / 2 * s) * erf(delta / np.sqrt(2 * s))
    return np.asarray(core if np.isinf(delta) else core + s / delta * np.exp(-(delta**2) / (2 * s)))
