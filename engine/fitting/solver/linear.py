"""Solution of many small linear systems at once: positive definite systems and non-negative least squares.

``numpy.linalg.solve`` calls LAPACK once for each system, and raises for the whole batch if one system is singular. For
two to seven unknowns, a few elementwise operations over the batch are faster. They also determine for each system
whether its matrix is positive definite.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from isoplan.engine.arrays import Bools, Floats

SMALL = 8
"""Up to this number of unknowns, each operation processes one matrix element of all systems of a batch.

For larger systems, each operation processes one column of all systems.
"""
SINGULAR = 1e-13
"""Threshold for pivots, relative to the diagonal element. Matrices with smaller pivots are not positive definite."""


def solve_definite(matrix: Floats, right: Floats) -> tuple[Floats, Bools]:
    """Return the solution x (b, p) of matrix x = right, and a mask (b,) of the systems that are positive definite.

    ``matrix`` is (b, p, p) and ``right`` is (b, p). The method is the Cholesky decomposition without square roots,
    after scaling the diagonal to one. The solution of a system that is not positive definite has no meaning.
    """
    p = right.shape[-1]
    if p > SMALL:
        return _by_columns(matrix, right)
    m = np.ascontiguousarray(np.moveaxis(matrix, 0, -1))
    diagonal = m[np.arange(p), np.arange(p)]
    definite = np.all(np.isfinite(diagonal) & (diagonal > 0), axis=0)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    x = np.ascontiguousarray(right.T) * scale
    lower, pivot = np.zeros_like(m), np.ones_like(x)
    with np.errstate(all="ignore"):
        for i in range(p):
            for j in range(i):
                dot = m[i, j] * scale[i] * scale[j]
                for k in range(j):
                    dot = dot - lower[i, k] * lower[j, k] * pivot[k]
                lower[i, j] = dot / pivot[j]
            pivot[i] = np.where(definite, 1.0, 0.0)
            for k in range(i):
                pivot[i] -= lower[i, k] ** 2 * pivot[k]
                x[i] -= lower[i, k] * x[k]
            definite &= pivot[i] > SINGULAR
            pivot[i] = np.where(definite, pivot[i], 1.0)
        x /= pivot
        for i in reversed(range(p)):
            for k in range(i + 1, p):
                x[i] -= lower[k, i] * x[k]
        return (x * scale).T, definite


def _by_columns(matrix: Floats, right: Floats) -> tuple[Floats, Bools]:
    """Return the results of ``solve_definite``, computed column by column for all systems at once."""
    p = right.shape[-1]
    diagonal = np.diagonal(matrix, axis1=1, axis2=2)
    definite = np.all(np.isfinite(diagonal) & (diagonal > 0), axis=1)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    with np.errstate(all="ignore"):
        m, x = matrix * scale[:, :, None] * scale[:, None, :], right * scale
        for i in range(p):
            definite &= m[:, i, i] > SINGULAR
            pivot = np.where(definite, m[:, i, i], 1.0)[:, None]
            column = m[:, i + 1 :, i] / pivot
            m[:, i + 1 :, i + 1 :] -= column[:, :, None] * m[:, None, i + 1 :, i]
            x[:, i + 1 :] -= column * x[:, i, None]
            m[:, i + 1 :, i], x[:, i] = column, x[:, i] / pivot[:, 0]
        for i in reversed(range(p)):
            x[:, :i] -= m[:, i, :i] * x[:, i, None]
        return x * scale, definite


def nonnegative_least_squares(gram: Floats, right: Floats, free: Bools) -> Floats:
    """Return the coefficients c (b, k) >= 0 that minimise c' gram c / 2 - right' c, for each of b systems.

    ``gram`` is (b, k, k) and ``right`` is (b, k). Coefficients in the mask ``free`` (k,) may be negative. If the
    unconstrained solution violates c >= 0, all sets of nonzero coefficients are tried. This method is exact, and fast
    for two or three coefficients.
    """
    best, ok = solve_definite(gram, right)
    open_ = np.flatnonzero(~(ok & np.all((best >= 0) | free, axis=-1)))
    if open_.size:
        best[open_] = _over_supports(gram[open_], right[open_], free)
    return best


def _over_supports(gram: Floats, right: Floats, free: Bools) -> Floats:
    k = right.shape[-1]
    best, least = np.zeros_like(right), np.zeros(len(right))
    signed = np.flatnonzero(~free)
    for dropped in range(1, len(signed) + 1):
        for out in combinations(signed, dropped):
            kept = np.setdiff1d(np.arange(k), out)
            if kept.size == 0:
                continue
            part, ok = solve_definite(gram[:, kept[:, None], kept], right[:, kept])
            value = -0.5 * np.sum(part * right[:, kept], axis=-1)
            better = ok & np.all((part >= 0) | free[kept], axis=-1) & (value < least)
            least = np.where(better, value, least)
            best[better] = 0.0
            best[np.ix_(better, kept)] = part[better]
    return best
