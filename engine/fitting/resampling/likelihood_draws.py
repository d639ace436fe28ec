"""Draws of parameters from the likelihood. Their percentiles are profile likelihood intervals.

The deviance of a point is D = 2 (S - S_best) E[psi'] / E[psi^2], where S is the objective and psi = rho'. For least
squares, D = (S - S_best) / sigma^2. For other objectives, D is the robust likelihood ratio (Schrader & Hettmansperger
1980, Biometrika 67, 93). Both expectations E are for normal noise. The value of the objective determines the standard
deviation sigma of this noise, with n - p degrees of freedom for n runs and p parameters. The profile interval of a
parameter then contains its values with D <= t^2 (the F test), where t is a quantile of Student's t distribution.

A draw is a vector of Student's t numbers, one for each parameter. The numbers for the exponents define a direction and
a length R. The exponents move in this direction until the profile deviance equals R^2. The profile deviance is D with
the best amplitudes for these exponents. The law is linear in the amplitudes. The remaining numbers scatter the
amplitudes around their best values. For a law with one exponent, the percentiles equal the profile interval to the last
digit. For every law, the draws follow the curved valley of the likelihood. For a linear law, the intervals are
Student's t intervals.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.resampling.bootstrap import student, uniforms
from isoplan.engine.fitting.solver.descent import descend
from isoplan.engine.fitting.solver.linear import nonnegative_least_squares
from isoplan.engine.fitting.solver.multistart import SKIPPED, Optimum, predict
from isoplan.engine.fitting.solver.newton import local
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import Problem

STEPS = 12
"""Number of search steps along a direction. For a parabolic deviance, one step gives the exact distance."""
FARTHEST = 30.0
"""Maximum distance of the search along a direction, as a multiple of the distance for a parabolic deviance."""


def likelihood_draws(p: Problem, best: Optimum, seed: int, start: int, stop: int) -> Floats:
    """Return internal parameters (stop - start, q) of the draws ``start`` to ``stop``.

    Draw i depends only on the seed and on i. Raises PlannerError if the objective has different weights above and below
    the law.
    """
    theta, k = best.theta, p.k
    free = p.low < p.high
    nu = max(p.n - int(free.sum()), 1)
    per, variance = deviance_scale(p.objective.loss, best.value / nu)
    if not np.isfinite(per):
        return np.tile(theta, (stop - start, 1))
    slope = _slopes(p, theta[None])[0]
    moves = free & (theta > p.low) & (theta < p.high) & np.any(slope != 0, axis=1)
    covariance = variance * np.linalg.pinv((slope * p.weight) @ slope.T * np.outer(moves, moves), hermitian=True)
    t = _student(len(theta), nu, seed, start, stop)
    along = np.flatnonzero(moves[k:])
    root = np.linalg.cholesky(covariance[np.ix_(k + along, k + along)])
    direction = np.zeros((stop - start, len(theta) - k))
    direction[:, along] = t[:, k + along] @ root.T
    exponents, c = _walk(p, best, direction, np.sum(t[:, k + along] ** 2, axis=1), per)
    return np.concatenate([_scatter(p, exponents, c, t[:, :k], variance), exponents], axis=1)


def deviance_scale(loss: Loss, mean: float) -> tuple[float, float]:
    """Return 2 E[psi'] / E[psi^2] and E[psi^2] / E[psi']^2 for normal noise with E[rho] = ``mean``.

    If all residuals are zero, the first number is infinite and the second number is zero. Raises PlannerError for an
    asymmetric loss.
    """
    from scipy.optimize import brentq

    if loss.skew != 1:
        raise PlannerError("The objective asymmetric has no likelihood to profile: choose the interval residual or bc.")
    if mean <= 0:
        return np.inf, 0.0
    if np.isinf(loss.delta):
        return 1.0 / mean, mean * 2 / loss.scale

    def moments(sigma: float) -> tuple[float, float, float]:
        """Return E[rho], E[psi^2] and E[psi'] for scale 1 and normal noise with standard deviation ``sigma``."""
        d = loss.delta / sigma
        inside, density = 2 * ndtr(d) - 1, np.exp(-d * d / 2) / np.sqrt(2 * np.pi)
        core, tail = sigma**2 * (inside - 2 * d * density), loss.delta**2 * (1 - inside)
        return core / 2 + 2 * loss.delta * sigma * density - tail / 2, core + tail, inside

    goal = mean / loss.scale
    widest = 2 * (goal / loss.delta + np.sqrt(goal))
    sigma = float(brentq(lambda x: moments(x)[0] - goal, 1e-9 * widest, widest, xtol=1e-300, rtol=1e-12))
    _, square, bend = moments(sigma)
    return 2 * bend / (square * loss.scale), square / bend**2


def _student(q: int, nu: int, seed: int, start: int, stop: int) -> Floats:
    """Return vectors (stop - start, q) of Student's t with ``nu`` degrees of freedom."""
    u = uniforms(seed, start, stop, q + 1)
    return ndtri(u[:, :q]) * student(nu, u[:, q])[:, None]


def _slopes(p: Problem, theta: Floats) -> Floats:
    """Return the derivatives (b, q, n) of the residuals with respect to ``theta`` (b, q)."""
    k = p.k
    out = np.empty((len(theta), theta.shape[1], p.n))
    out[:, p.plain] = p.shapes
    out[:, p.powers] = np.exp(-theta[:, k:, None] * p.z)
    out[:, k:] = -theta[:, p.powers, None] * p.z * out[:, p.powers]
    return out / predict(p, theta)[:, None] if p.objective.log else out


def _walk(p: Problem, best: Optimum, direction: Floats, goal: Floats, per: float) -> tuple[Floats, Floats]:
    """Return the exponents (r, m) along ``direction`` (r, m) at which the profile deviance equals ``goal`` (r,).

    The second result contains the best amplitudes (r, k) for these exponents.
    """
    centre, low, high = best.theta[p.k :], p.low[p.k :], p.high[p.k :]
    c = np.tile(best.theta[: p.k], (len(goal), 1))
    if not direction.any():
        return centre + direction, c
    near, far, step = np.zeros(len(goal)), np.full(len(goal), FARTHEST), np.ones(len(goal))
    for _ in range(STEPS):
        exponents = np.clip(centre + step[:, None] * direction, low, high)
        c, deviance = _amplitudes(p, best, exponents, c, per)
        near, far = np.where(deviance < goal, step, near), np.where(deviance < goal, far, step)
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = step * np.sqrt(goal / deviance)
        step = np.where((guess > near) & (guess < far), guess, (near + far) / 2)
    exponents = np.clip(centre + step[:, None] * direction, low, high)
    return exponents, _amplitudes(p, best, exponents, c, per)[0]


def _amplitudes(p: Problem, best: Optimum, exponents: Floats, start: Floats, per: float) -> tuple[Floats, Floats]:
    """Return the best amplitudes (b, k) for the exponents ``exponents`` (b, m), and the deviance (b,).

    The search starts at the amplitudes ``start`` (b, k).
    """
    low, high = (np.tile(bound, (len(exponents), 1)) for bound in (p.low, p.high))
    low[:, p.k :] = high[:, p.k :] = exponents
    theta = np.concatenate([start, exponents], axis=1)
    for loss in (*best.ladder[SKIPPED:], p.objective.loss):
        theta, value = _down(p, loss, theta, low, high)
    return theta[:, : p.k], np.maximum(value - best.value, 0.0) * per


def _down(p: Problem, loss: Loss, theta: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    owner, weight = np.zeros(len(theta), np.int64), p.weight[None]
    return descend(lambda at, index: local(p, at, weight, owner[index], loss), theta, low, high, loss, p.n)


def _scatter(p: Problem, exponents: Floats, c: Floats, t: Floats, variance: float) -> Floats:
    """Return amplitudes (r, k) that are drawn around ``c`` (r, k) within their bounds."""
    k, free = p.k, np.flatnonzero(p.low[: p.k] < p.high[: p.k])
    basis = _slopes(p, np.concatenate([c, exponents], axis=1))[:, free]
    gram = np.einsum("rin,n,rjn->rij", basis, p.weight / variance, basis)
    bounded = np.isfinite(p.low[:k][free])
    origin = np.where(bounded, p.low[:k][free], 0.0)
    scale = 1 / np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), np.finfo(float).tiny))
    unit = gram * scale[:, :, None] * scale[:, None, :] + 1e-12 * np.eye(len(free))
    lower = np.linalg.cholesky(unit)
    moved = np.linalg.solve(lower.transpose(0, 2, 1), t[:, free, None])[..., 0]
    wanted = (c[:, free] - origin) / scale + moved
    out = c.copy()
    out[:, free] = origin + scale * nonnegative_least_squares(unit, np.einsum("rij,rj->ri", unit, wanted), ~bounded)
    return out
