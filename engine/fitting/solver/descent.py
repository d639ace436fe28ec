"""Damped Newton method within bounds. It processes many starts at once and needs the derivatives of the objective.

The matrix of a step is H + lambda * G. H is the full Hessian of the objective, and G is the Gauss-Newton matrix of
iteratively reweighted least squares. The damping lambda decreases after a step that lowers the objective, and is
multiplied by five after any other step. A parameter at a bound stays there if the objective decreases beyond the bound
(Bertsekas 1982, SIAM J. Control Optim. 20, 221). If the optimal floor or amplitude is zero, the method therefore finds
exactly zero, in a few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.fitting.solver.linear import solve_definite
from isoplan.engine.fitting.solver.objectives import Loss

STEPS = 120
DAMPING = 0.3
"""Damping lambda of the first step."""
EASE, KINKED_EASE = 0.1, 0.5
"""Factors by which the damping lambda is multiplied after a step that lowers the objective.

EASE is for a smooth loss rho, and KINKED_EASE for a loss with kinks in its derivative.
"""
KINKED_MOST = 3.0
"""Maximum of lambda / sqrt(expected relative decrease of the objective), for a loss with kinks in its derivative.

Due to this limit, the damping lambda becomes zero before the last steps.
"""
UNDAMPED = 1e-3
"""Threshold below which the damping lambda is set to zero. The last steps are then undamped Newton steps."""
TOLERANCE = 1e-10
"""Convergence threshold: the descent ends if the expected relative decrease of the objective is below this value."""
CLOSE = 1e-4
"""Largest squared distance to a known optimum at which a start counts as converged to this optimum.

The squared distance is d' G d / f. d is the difference of the parameters, G the Gauss-Newton matrix and f the objective
at the current point of the start.
"""
ROUNDING = 1e-13
"""Largest relative increase of the objective that counts as a rounding error. It is accepted only in the last step."""


@dataclass(frozen=True, eq=False)
class Local:
    """Objective, gradient, Hessian and reweighted Gauss-Newton matrix at each of b points."""

    value: Floats  # (b,)
    gradient: Floats  # (b, q)
    hessian: Floats  # (b, q, q)
    gauss: Floats  # (b, q, q)

    def put(self, index: Ints, other: Local, take: Bools) -> None:
        """Set the values at the points ``index[take]`` to the values of ``other`` at the points ``take`` (a mask)."""
        at = index[take]
        self.value[at], self.gradient[at] = other.value[take], other.gradient[take]
        self.hessian[at], self.gauss[at] = other.hessian[take], other.gauss[take]

    def plus(self, value: Floats, gradient: Floats, square: Floats) -> Local:
        """Return the sum of this objective and a further term.

        The term has the given ``value`` (b,) and ``gradient`` (b, q). Its Hessian and its Gauss-Newton matrix are both
        ``square`` (b, q, q).
        """
        return Local(self.value + value, self.gradient + gradient, self.hessian + square, self.gauss + square)


@dataclass(frozen=True, eq=False)
class Known:
    """A known optimum for each of b starts or r resamples. A descent ends when it comes close to its known optimum."""

    theta: Floats  # (b or r, q)
    value: Floats  # (b or r,)

    def of(self, index: Ints) -> Known:
        """Return the known optima of the starts or resamples ``index``."""
        return Known(self.theta[index], self.value[index])

    def reached(self, theta: Floats, value: Floats, gauss: Floats) -> Bools:
        """Return a mask (b,) of the starts that are close to their known optimum and not better than it.

        ``theta`` (b, q), ``value`` (b,) and ``gauss`` (b, q, q) are computed at the current points of the starts.
        """
        away = theta - self.theta
        apart = np.einsum("bi,bij,bj->b", away, gauss, away)
        return np.asarray((value >= self.value) & (apart <= CLOSE * value))


def descend(
    local: Callable[[Floats, Ints], Local],
    theta: Floats,
    low: Floats,
    high: Floats,
    loss: Loss,
    runs: int,
    known: Known | None = None,
) -> tuple[Floats, Floats]:
    """Return local minima (b, q) and their objectives (b,) from the starts ``theta`` (b, q).

    ``local(theta, index)`` returns the objective and its derivatives at the points ``theta`` of the starts ``index``.
    The objective is a sum of ``loss`` over ``runs`` runs. ``low`` and ``high`` are bounds (q,) or (b, q).
    """
    low, high = np.broadcast_to(low, theta.shape), np.broadcast_to(high, theta.shape)
    theta = np.clip(theta, low, high)
    here = local(theta, np.arange(len(theta)))
    damping, (ease, most), nothing = np.full(len(theta), DAMPING), easing(loss), perfect(loss, runs)
    going = np.flatnonzero(here.value > nothing)
    for _ in range(STEPS):
        if known:
            there = known.of(going)
            ended = there.reached(theta[going], here.value[going], here.gauss[going])
            theta[going[ended]], here.value[going[ended]] = there.theta[ended], there.value[ended]
            going = going[~ended]
        if going.size == 0:
            break
        step, promised = _step(theta[going], low[going], high[going], here, going, damping[going])
        trial = np.clip(theta[going] + step, low[going], high[going])
        tried = local(trial, going)
        share = promised / here.value[going]
        done = (share * (1 + damping[going]) <= TOLERANCE) | (damping[going] > 1e12)
        good = tried.value < here.value[going] * np.where(done, 1 + ROUNDING, 1.0)
        theta[going[good]] = trial[good]
        here.put(going, tried, good)
        eased = np.minimum(damping[going] * ease, most * np.sqrt(share))
        damping[going] = np.where(good, eased, np.maximum(damping[going] * 5, 1e-2))
        damping[damping < UNDAMPED] = 0.0
        going = going[~done & (here.value[going] > nothing)]
    return theta, here.value


def easing(loss: Loss) -> tuple[float, float]:
    """Return two numbers that control the damping lambda: a factor and a limit.

    After a step that lowers the objective, lambda is multiplied by the factor. If the result exceeds the limit times
    sqrt(expected relative decrease of the objective), it is reduced to this value.
    """
    return (KINKED_EASE, KINKED_MOST) if loss.kinked else (EASE, 1e300)


def perfect(loss: Loss, runs: int) -> float:
    """Return the largest objective at which a fit of ``runs`` runs counts as exact."""
    return float(loss.value(np.array(1e-15))) * runs


def _step(theta: Floats, low: Floats, high: Floats, here: Local, going: Ints, damping: Floats) -> tuple[Floats, Floats]:
    """Return the damped step of each start, and a first-order estimate (>= 0) of the decrease of the objective."""
    g, gauss = here.gradient[going], here.gauss[going]
    diagonal = np.diagonal(gauss, axis1=1, axis2=2)
    hold = (low == high) | ~(diagonal > 0) | ~np.isfinite(diagonal)
    hold |= ((theta <= low) & (g > 0)) | ((theta >= high) & (g < 0))
    step = _solve(here.hessian[going], gauss, g, hold, damping)
    out = ((theta <= low) & (step < 0)) | ((theta >= high) & (step > 0))
    again = np.flatnonzero(out.any(axis=1))
    if again.size:
        step[again] = _solve(here.hessian[going[again]], gauss[again], g[again], (hold | out)[again], damping[again])
    return step, np.abs(np.sum(step * np.where(hold, 0.0, g), axis=1))


def _solve(hessian: Floats, gauss: Floats, g: Floats, hold: Bools, damping: Floats) -> Floats:
    """Return the damped Newton step. If its matrix is not positive definite, return the Gauss-Newton step instead.

    The reweighted Gauss-Newton step always decreases the objective if it is short enough. Parameters in the mask
    ``hold`` do not change.
    """
    q = g.shape[1]
    mask = hold[:, :, None] | hold[:, None, :]
    unit = np.eye(q)
    damped = damping[:, None, None] * gauss
    down = np.where(hold, 0.0, -g)
    step, ok = solve_definite(np.where(mask, unit, hessian + damped), down)
    bad = np.flatnonzero(~ok)
    if bad.size:
        ridge = 1e-9 * np.diagonal(gauss[bad], axis1=1, axis2=2)[:, :, None] * unit
        sure = np.where(mask[bad], unit, gauss[bad] + damped[bad] + ridge)
        step[bad], fine = solve_definite(sure, down[bad])
        step[bad[~fine]] = 0.0
    return np.where(np.isfinite(step), step, 0.0)
