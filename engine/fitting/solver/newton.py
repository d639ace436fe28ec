"""Objective of a law that is a sum of terms, and its derivatives. ``descent`` minimises the objective."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.descent import Known, Local, descend
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import BLOCK, Problem, blocks


def refine(
    p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss, known: Known | None = None
) -> tuple[Floats, Floats]:
    """Return local minima (b, q) and their objectives (b,) from the starts ``theta`` (b, q).

    ``weight`` (r, n) are the weights of the runs in each resample, ``owner`` (b,) is the resample of each start, and
    ``known`` contains an optimum of each resample.
    """
    return descend(
        lambda at, index: local(p, at, weight, owner[index], loss),
        theta,
        p.low,
        p.high,
        loss,
        p.n,
        known and known.of(owner),
    )


def plain_objective(p: Problem, theta: Floats) -> float:
    """Return the objective at ``theta`` (q,) without the contribution of priors."""
    alone = replace(p, penalty=None)
    return float(local(alone, theta[None], p.weight[None], np.zeros(1, np.int64), p.objective.loss).value[0])


def local(p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss) -> Local:
    """Return the objective and its derivatives at ``theta`` (b, q).

    The sums are computed in blocks of starts and runs that fit the processor's cache.
    """
    b, q = theta.shape
    out = Local(np.zeros(b), np.zeros((b, q)), np.zeros((b, q, q)), np.zeros((b, q, q)))
    for at in blocks(b, BLOCK // min(p.n, BLOCK)):
        for rows in blocks(p.n, BLOCK):
            _add(out, at, p, rows, theta[at], p.target(owner[at], rows), weight[owner[at], rows], loss)
    out = _chain(p, theta, out)
    return out if p.penalty is None else out.plus(*p.penalty.derivatives(theta, owner))


def _add(out: Local, at: slice, p: Problem, rows: slice, theta: Floats, y: Floats, weight: Floats, loss: Loss) -> None:
    """Add the objective of the runs ``rows`` and its derivatives to the entries ``at`` of ``out``.

    The derivatives are with respect to the coefficients of the basis functions exp(-e z) and z exp(-e z). ``_chain``
    converts them to derivatives with respect to theta. In ``hessian``, the diagonal elements of the exponents also
    contain the second derivative of the prediction.
    """
    k, m = p.k, len(p.powers)
    z = p.z[:, rows]
    basis = np.empty((len(theta), k + m, z.shape[1]))
    basis[:, p.plain] = p.shapes[:, rows]
    with np.errstate(all="ignore"):
        basis[:, p.powers, :] = np.exp(-theta[:, k:, None] * z)
        basis[:, k:] = z * basis[:, p.powers, :]
        f = np.matmul(theta[:, None, :k], basis[:, :k])[:, 0]
        r = p.residual(f, y)
        slope, curve, irls = p.objective.slopes(loss, r, f, weight)
        out.value[at] += np.sum(weight * loss.value(r), axis=-1)
        turned = basis.transpose(0, 2, 1)
        out.gradient[at] += np.matmul(basis, slope[..., None])[..., 0]
        out.hessian[at] += np.matmul(basis * curve[:, None], turned)
        out.gauss[at] += np.matmul(basis * irls[:, None], turned)
        second = np.matmul(basis[:, k:] * z, slope[..., None])[..., 0]
    # Add the second derivative of the prediction, c z^2 exp(-e z). Here it is divided by c^2, because ``_chain`` later
    # multiplies it by c^2.
    for i, j in enumerate(p.powers):
        with np.errstate(divide="ignore", invalid="ignore"):
            out.hessian[at, k + i, k + i] += np.where(theta[:, j] != 0, second[:, i] / theta[:, j], 0.0)


def _chain(p: Problem, theta: Floats, s: Local) -> Local:
    """Return the derivatives with respect to theta, by the chain rule from the derivatives that ``_add`` computes.

    d/de = -c z exp(-e z), and the mixed second derivative with respect to c and e is -z exp(-e z).
    """
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
