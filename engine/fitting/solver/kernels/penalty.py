"""Compiled version of ``isoplan.engine.fitting.solver.penalty``: Gaussian priors, for one start at a time."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.kernels.jit import inner
from isoplan.engine.fitting.solver.penalty import AMPLITUDE, DIRECT, INVERSE

KIND, FIRST, SECOND = range(3)  # columns of ``form`` (k, 3)
A, B, WEIGHT = range(3)  # columns of ``constant`` (k, 3)


@inner
def parameter(kind: int, c: float, e: float, a: float, b: float) -> float:
    """Return the value of a parameter of the law, from c and e of theta. See ``penalty.Forms``."""
    if kind == DIRECT:
        return a * e
    if kind == INVERSE:
        return a / e
    if kind == AMPLITUDE:
        return c * np.exp(b * e)
    return np.exp(min(np.log(c) / (a * e) + b, 700.0))


@inner
def slopes(kind: int, c: float, e: float, a: float, b: float) -> tuple[float, float]:
    """Return the derivatives of a parameter with respect to c and e. Non-finite values become zero."""
    x = parameter(kind, c, e, a, b)
    if kind == DIRECT:
        by_c, by_e = 0.0, a
    elif kind == INVERSE:
        by_c, by_e = 0.0, -a / (e * e)
    elif kind == AMPLITUDE:
        by_c, by_e = np.exp(b * e), b * x
    else:
        by_c, by_e = x / (c * a * e), -x * np.log(c) / (a * e * e)
    return by_c if np.isfinite(by_c) else 0.0, by_e if np.isfinite(by_e) else 0.0


@inner
def penalty(theta: Floats, form: Ints, constant: Floats, mean: Floats) -> float:
    """Return the contribution of the priors, with means ``mean`` (k), to the objective at ``theta``."""
    total = 0.0
    for i in range(len(form)):
        c, e = theta[form[i, FIRST]], theta[form[i, SECOND]]
        gap = parameter(form[i, KIND], c, e, constant[i, A], constant[i, B]) - mean[i]
        total += constant[i, WEIGHT] * gap * gap
    return total


@inner
def add(
    theta: Floats, form: Ints, constant: Floats, mean: Floats, gradient: Floats, hessian: Floats, gauss: Floats
) -> None:
    """Add the derivatives of the priors to ``gradient`` and to the lower triangles of ``hessian`` and ``gauss``."""
    for i in range(len(form)):
        first, second, twice = form[i, FIRST], form[i, SECOND], 2.0 * constant[i, WEIGHT]
        c, e, a, b = theta[first], theta[second], constant[i, A], constant[i, B]
        gap = parameter(form[i, KIND], c, e, a, b) - mean[i]
        by_c, by_e = slopes(form[i, KIND], c, e, a, b)
        gradient[first] += twice * gap * by_c
        gradient[second] += twice * gap * by_e
        for matrix in (hessian, gauss):
            matrix[first, first] += twice * by_c * by_c
            matrix[second, second] += twice * by_e * by_e
            if second != first:  # below the diagonal, because amplitudes precede exponents in theta
                matrix[second, first] += twice * by_c * by_e
