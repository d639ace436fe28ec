"""Compiled version of ``isoplan.engine.fitting.solver.linear``: solves small linear systems, one at a time."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.solver.kernels.jit import inner
from isoplan.engine.fitting.solver.linear import SINGULAR


@inner
def solve_definite(m: Floats, b: Floats, hold: Bools, x: Floats, lower: Floats) -> bool:
    """Solve m x = b for the unknowns that are not in ``hold``; return False if m is not positive definite.

    Unknowns in the mask ``hold`` are zero. Only the lower triangle of ``m`` (q, q) is read. ``x`` receives the
    solution, and ``lower`` (q + 2, q) is working space. See ``linear.solve_definite``.
    """
    q = len(b)
    scale, pivot = lower[q], lower[q + 1]
    for i in range(q):
        x[i] = 0.0
        if hold[i]:
            continue
        if not (m[i, i] > 0.0 and m[i, i] < np.inf):
            return False
        scale[i] = 1.0 / np.sqrt(m[i, i])
    for i in range(q):
        if hold[i]:
            continue
        total, left = b[i] * scale[i], 1.0
        for j in range(i):
            if hold[j]:
                continue
            dot = m[i, j] * scale[i] * scale[j]
            for k in range(j):
                if not hold[k]:
                    dot -= lower[i, k] * lower[j, k] * pivot[k]
            part = dot / pivot[j]
            lower[i, j] = part
            left -= part * dot
            total -= part * x[j]
        if not left > SINGULAR:
            return False
        pivot[i] = left
        x[i] = total
    for i in range(q - 1, -1, -1):
        if hold[i]:
            continue
        total = x[i] / pivot[i]
        for k in range(i + 1, q):
            if not hold[k]:
                total -= lower[k, i] * x[k]
        x[i] = total
    for i in range(q):
        if not hold[i]:
            x[i] *= scale[i]
    return True


@inner
def nonnegative(
    gram: Floats, right: Floats, free: Bools, fixed: Bools, c: Floats, part: Floats, hold: Bools, lower: Floats
) -> None:
    """Write to ``c`` the coefficients that minimise c' gram c / 2 - right' c.

    Coefficients that are neither ``free`` nor ``fixed`` must be >= 0. The ``fixed`` coefficients keep their values in
    ``c``, and the caller has subtracted their contribution from ``right``. ``part``, ``hold`` and ``lower`` are working
    space. See ``linear.nonnegative_least_squares``.
    """
    k = len(right)
    least, first = 0.0, True
    for dropped in range(1 << k):
        allowed = True
        for i in range(k):
            out = (dropped >> i) & 1 == 1
            allowed = allowed and not (out and (free[i] or fixed[i]))
            hold[i] = out or fixed[i]
        if not allowed or not solve_definite(gram, right, hold, part, lower):
            continue
        value = 0.0
        for i in range(k):
            allowed = allowed and (hold[i] or free[i] or part[i] >= 0.0)
            value -= 0.5 * part[i] * right[i]
        if not allowed:
            continue
        if first or value < least:
            least, first = value, False
            for i in range(k):
                if not fixed[i]:
                    c[i] = part[i]
        if dropped == 0:
            return
    if first:
        for i in range(k):
            if not fixed[i]:
                c[i] = 0.0
