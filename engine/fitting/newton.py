"""Damped Newton within bounds, for many starts at once.

Per start: the full Hessian of the objective plus lambda times the Gauss-Newton matrix of its iteratively reweighted
least squares; lambda falls tenfold on a good step and rises fivefold on a bad one. Parameters at a bound whose
gradient points outward are held (Bertsekas 1982, SIAM J. Control Optim. 20, 221), so a floor at zero or a vanished
term is found exactly, in a few steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.fitting.linear import solve_definite
from engine.fitting.objectives import Loss
from engine.fitting.problem import BLOCK, Ints, Problem, blocks
from engine.laws.law import Floats

Bools = NDArray[np.bool_]
STEPS = 120
TOLERANCE = 1e-10
"""Stop when a step promises less than this share of the objective; the step is still taken."""


@dataclass(frozen=True, eq=False)
class Local:
    """Objective, gradient, Hessian and reweighted Gauss-Newton matrix at b starts."""

    value: Floats  # (b,)
    gradient: Floats  # (b, q)
    hessian: Floats  # (b, q, q)
    gauss: Floats  # (b, q, q)

    def put(self, index: Ints, other: Local, take: Bools) -> None:
        """Overwrite the entries ``index[take]`` by ``other``'s."""
        at = index[take]
        self.value[at], self.gradient[at] = other.value[take], other.gradient[take]
        self.hessian[at], self.gauss[at] = other.hessian[take], other.gauss[take]


def refine(p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss) -> tuple[Floats, Floats]:
    """Local minima from starts ``theta`` (b, q): parameters (b, q) and objective (b).

    ``weight`` (r, n) are the weights of the resamples, ``owner`` (b) the resample that each start belongs to.
    """
    theta = np.clip(theta, p.low, p.high)
    here = local(p, theta, weight, owner, loss)
    damping = np.ones(len(theta))
    nothing = loss.value(np.array([1e-15]))[0] * p.n
    going = np.flatnonzero(here.value > nothing)
    for _ in range(STEPS):
        if going.size == 0:
            break
        step, promised = _step(p, theta[going], here, going, damping[going])
        trial = np.clip(theta[going] + step, p.low, p.high)
        there = local(p, trial, weight, owner[going], loss)
        good = there.value < here.value[going]
        done = (promised * (1 + damping[going]) <= TOLERANCE * here.value[going]) | (damping[going] > 1e12)
        theta[going[good]] = trial[good]
        here.put(going, there, good)
        damping[going] = np.where(good, damping[going] * 0.1, np.maximum(damping[going] * 5, 1e-2))
        damping[damping < 1e-6] = 0.0
        going = going[~done & (here.value[going] > nothing)]
    return theta, here.value


def local(p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss) -> Local:
    """Objective and derivatives at ``theta`` (b, q), in blocks that fit the cache, rows in blocks as well."""
    b, q = theta.shape
    out = Local(np.zeros(b), np.zeros((b, q)), np.zeros((b, q, q)), np.zeros((b, q, q)))
    for at in blocks(b, BLOCK // min(p.n, BLOCK)):
        for rows in blocks(p.n, BLOCK):
            _add(out, at, p, rows, theta[at], p.target(owner[at], rows), weight[owner[at], rows], loss)
    return _chain(p, theta, out)


def _add(out: Local, at: slice, p: Problem, rows: slice, theta: Floats, y: Floats, weight: Floats, loss: Loss) -> None:
    """Add the sums over some rows: derivatives in the basis (exp(-e z), z exp(-e z)), before the chain rule.

    ``hessian`` also collects what second derivatives of the prediction add on the diagonal of the exponents.
    """
    k, m = p.k, len(p.powers)
    z = p.z[:, rows]
    basis = np.empty((len(theta), k + m, z.shape[1]))
    basis[:, :k] = 1.0
    with np.errstate(all="ignore"):
        basis[:, p.powers, :] = np.exp(-theta[:, k:, None] * z)
        basis[:, k:] = z * basis[:, p.powers, :]
        f = np.matmul(theta[:, None, :k], basis[:, :k])[:, 0]
        r = p.residual(f, y)
        slope, curve, irls = loss.slopes(r)
        out.value[at] += np.sum(weight * loss.value(r), axis=-1)
        if p.objective.log:
            per = weight / f
            curve, irls, slope = (curve - slope) * (per / f), irls * (per / f), slope * per
        else:
            curve, irls, slope = curve * weight, irls * weight, slope * weight
        turned = basis.transpose(0, 2, 1)
        out.gradient[at] += np.matmul(basis, slope[..., None])[..., 0]
        out.hessian[at] += np.matmul(basis * curve[:, None], turned)
        out.gauss[at] += np.matmul(basis * irls[:, None], turned)
        second = np.matmul(basis[:, k:] * z, slope[..., None])[..., 0]
    # d2f/de2 = c z^2 exp(-e z), divided by the c^2 that the chain rule will multiply it by
    for i, j in enumerate(p.powers):
        with np.errstate(divide="ignore", invalid="ignore"):
            out.hessian[at, k + i, k + i] += np.where(theta[:, j] != 0, second[:, i] / theta[:, j], 0.0)


def _chain(p: Problem, theta: Floats, s: Local) -> Local:
    """From the basis to theta: d/de = -c z exp(-e z), and the mixed second derivative -z exp(-e z)."""
    k = p.k
    scale = np.ones_like(theta)
    scale[:, k:] = -theta[:, p.powers]
    outer = scale[:, :, None] * scale[:, None, :]
    with np.errstate(all="ignore"):
        hessian, gauss = s.hessian * outer, s.gauss * outer
        for i, j in enumerate(p.powers):
            hessian[:, j, k + i] -= s.gradient[:, k + i]
            hessian[:, k + i, j] -= s.gradient[:, k + i]
        return Local(s.value, s.gradient * scale, hessian, gauss)


def _step(p: Problem, theta: Floats, here: Local, going: Ints, damping: Floats) -> tuple[Floats, Floats]:
    """The damped step of every start, and how much it promises to first order (>= 0)."""
    g, gauss = here.gradient[going], here.gauss[going]
    diagonal = np.diagonal(gauss, axis1=1, axis2=2)
    hold = (p.low == p.high) | ~(diagonal > 0) | ~np.isfinite(diagonal)
    hold |= ((theta <= p.low) & (g > 0)) | ((theta >= p.high) & (g < 0))
    step = _solve(here.hessian[going], gauss, g, hold, damping)
    out = ((theta <= p.low) & (step < 0)) | ((theta >= p.high) & (step > 0))
    again = np.flatnonzero(out.any(axis=1))
    if again.size:
        step[again] = _solve(here.hessian[going[again]], gauss[again], g[again], (hold | out)[again], damping[again])
    return step, np.abs(np.sum(step * np.where(hold, 0.0, g), axis=1))


def _solve(hessian: Floats, gauss: Floats, g: Floats, hold: Bools, damping: Floats) -> Floats:
    """Newton with damping; where that is not definite, the reweighted Gauss-Newton step, which always descends."""
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
