"""Compiled version of ``isoplan.engine.fitting.solver.newton``: damped Newton method, one start at a time.

Only the runs that a resample drew are copied, to contiguous arrays. Copies of the last of these runs, with weight zero,
are added until the number of runs is a multiple of ``LANES``. Every loop over runs then fills vector registers and has
no remainder.
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.fitting.solver.descent import CLOSE, DAMPING, ROUNDING, UNDAMPED
from isoplan.engine.fitting.solver.kernels.algebra import solve_definite
from isoplan.engine.fitting.solver.kernels.elementary import exp, log
from isoplan.engine.fitting.solver.kernels.jit import LANES, inner, kernel
from isoplan.engine.fitting.solver.kernels.penalty import add, penalty


@inner
def gather(
    weight: Floats, shapes: Floats, z: Floats, y: Floats, logs: bool, plain: Ints, basis: Floats, at: Floats
) -> int:
    """Copy the runs of a resample to contiguous arrays, and return the number of runs after padding.

    Weights, y (1/y if ``logs``) and z go to ``at``, and the terms without exponent to ``basis``.
    """
    n, used = len(weight), 0
    for i in range(n):
        if weight[i] > 0.0:
            at[0, used] = weight[i]
            at[1, used] = 1.0 / y[i] if logs else y[i]
            for j in range(len(z)):
                at[2 + j, used] = z[j, i]
            for j in range(len(shapes)):
                basis[plain[j], used] = shapes[j, i]
            used += 1
    full = -(-used // LANES) * LANES
    for i in range(used, full):
        at[0, i] = 0.0
        for j in range(1, len(z) + 2):
            at[j, i] = at[j, used - 1]
        for j in range(len(shapes)):
            basis[plain[j], i] = basis[plain[j], used - 1]
    return full


# Row numbers in the array ``rows``, which has one column for each drawn run: prediction, residual, first derivative,
# second derivative, weight in reweighted least squares, and derivative of the residual with respect to the prediction.
# Kernels use these numbers instead of views of rows, because creating a view costs as much time as a short sum.
F, R, SLOPE, CURVE, IRLS, PER = range(6)
WEIGHT, Y, Z = range(3)  # rows of ``at``: weight, y (1/y if ``logs``), and z in all further rows


@inner
def combine(f: Floats, c: Floats, basis: Floats, k: int, n: int) -> None:
    """Write the predictions to row ``F`` of ``f``: the sum over ``k`` terms of amplitude ``c`` times basis function.

    Each loop over the runs adds two terms.
    """
    if k % 2:
        for i in range(n):
            f[F, i] = c[0] * basis[0, i]
    else:
        for i in range(n):
            f[F, i] = c[0] * basis[0, i] + c[1] * basis[1, i]
    for j in range(2 - k % 2, k, 2):
        for i in range(n):
            f[F, i] += c[j] * basis[j, i] + c[j + 1] * basis[j + 1, i]


@inner
def objective(
    theta: Floats,
    powers: Ints,
    basis: Floats,
    at: Floats,
    rows: Floats,
    n: int,
    logs: bool,
    delta: float,
    scale: float,
    skew: float,
) -> float:
    """Return the objective at ``theta``.

    The basis functions are written to ``basis``, and the predictions and residuals to ``rows``.
    """
    m = len(powers)
    k = len(theta) - m
    for j in range(m):
        a, e = powers[j], -theta[k + j]
        for i in range(n):
            basis[a, i] = exp(e * at[Z + j, i])
    combine(rows, theta, basis, k, n)
    total, bad = 0.0, 0.0
    if logs:
        for i in range(n):
            bad += 0.0 if rows[F, i] > 1e-300 else 1.0
            rows[R, i] = log(rows[F, i] * at[Y, i])
    else:
        for i in range(n):
            rows[R, i] = rows[F, i] - at[Y, i]
    for i in range(n):
        r = rows[R, i]
        size = abs(r)
        least = size if size < delta else delta
        side = skew if r > 0.0 else 1.0
        total += at[WEIGHT, i] * side * least * (size - 0.5 * least)
    return scale * total if bad == 0.0 else np.inf


@inner
def slopes(basis: Floats, rows: Floats, n: int, k: int, gradient: Floats) -> None:
    """Write the derivatives of the objective with respect to the ``k`` amplitudes to ``gradient``.

    Each loop over the runs computes two derivatives.
    """
    for a in range(0, k - 1, 2):
        one, other = 0.0, 0.0
        for i in range(n):
            one += rows[SLOPE, i] * basis[a, i]
            other += rows[SLOPE, i] * basis[a + 1, i]
        gradient[a], gradient[a + 1] = one, other
    if k % 2:
        one = 0.0
        for i in range(n):
            one += rows[SLOPE, i] * basis[k - 1, i]
        gradient[k - 1] = one


@inner
def sums(basis: Floats, a: int, rows: Floats, n: int, h: Floats, g: Floats) -> None:
    """Write row ``a`` of the Hessian ``h`` and the Gauss-Newton matrix ``g``, up to the diagonal.

    Each loop over the runs computes three columns, so that row ``a`` of ``basis`` is loaded once for three columns.
    """
    b = 0
    while b + 2 <= a:
        h0, h1, h2, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            u, v = rows[CURVE, i] * basis[a, i], rows[IRLS, i] * basis[a, i]
            h0 += u * basis[b, i]
            h1 += u * basis[b + 1, i]
            h2 += u * basis[b + 2, i]
            g0 += v * basis[b, i]
            g1 += v * basis[b + 1, i]
            g2 += v * basis[b + 2, i]
        h[a, b], h[a, b + 1], h[a, b + 2] = h0, h1, h2
        g[a, b], g[a, b + 1], g[a, b + 2] = g0, g1, g2
        b += 3
    if b + 1 == a:
        h0, h1, g0, g1 = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            u, v = rows[CURVE, i] * basis[a, i], rows[IRLS, i] * basis[a, i]
            h0 += u * basis[b, i]
            h1 += u * basis[a, i]
            g0 += v * basis[b, i]
            g1 += v * basis[a, i]
        h[a, b], h[a, a], g[a, b], g[a, a] = h0, h1, g0, g1
    elif b == a:
        h0, g0 = 0.0, 0.0
        for i in range(n):
            h0 += rows[CURVE, i] * basis[a, i] * basis[a, i]
            g0 += rows[IRLS, i] * basis[a, i] * basis[a, i]
        h[a, a], g[a, a] = h0, g0


@inner
def derivatives(
    theta: Floats,
    powers: Ints,
    basis: Floats,
    at: Floats,
    rows: Floats,
    n: int,
    logs: bool,
    delta: float,
    scale: float,
    skew: float,
    gradient: Floats,
    hessian: Floats,
    gauss: Floats,
    bend: Floats,
) -> None:
    """Write the gradient (q), and the lower triangles of the Hessian and the reweighted Gauss-Newton matrix (q, q).

    ``objective`` must have been called at the same ``theta``; ``bend`` (m) is working space.
    """
    m, q = len(powers), len(theta)
    k = q - m
    for i in range(n):
        r, per = rows[R, i], 1.0 / rows[F, i] if logs else 1.0
        rows[PER, i] = per
        size = abs(r)
        side = at[WEIGHT, i] * scale * (skew if r > 0.0 else 1.0) * per
        pull = side * (size if size <= delta else delta)
        slope = pull if r > 0.0 else -pull
        rows[SLOPE, i] = slope
        rows[CURVE, i] = ((side if size <= delta else 0.0) - (slope if logs else 0.0)) * per
    for i in range(n):  # Two loops: with more arrays in one loop, the compiler uses no vector registers.
        size, per = abs(rows[R, i]), rows[PER, i]
        side = at[WEIGHT, i] * scale * (skew if rows[R, i] > 0.0 else 1.0)
        rows[IRLS, i] = per * per * side * (1.0 if size <= delta else delta / size)
    slopes(basis, rows, n, k, gradient)
    for j in range(m):
        a, one, other = powers[j], 0.0, 0.0
        for i in range(n):
            bent = basis[a, i] * at[Z + j, i]
            basis[k + j, i] = bent
            one += rows[SLOPE, i] * bent
            other += rows[SLOPE, i] * bent * at[Z + j, i]
        gradient[k + j], bend[j] = one, other
    for a in range(q):
        sums(basis, a, rows, n, hessian, gauss)
    # Chain rule from the basis functions to theta: d/de = -c z exp(-e z); the mixed second derivative is -z exp(-e z).
    for j in range(m):
        a, c = k + j, -theta[powers[j]]
        for b in range(a):
            hessian[a, b] *= c
            gauss[a, b] *= c
        for b in range(a, q):
            hessian[b, a] *= c
            gauss[b, a] *= c
        hessian[a, a] = hessian[a, a] * c - c * bend[j]
        gauss[a, a] *= c
        hessian[a, powers[j]] -= gradient[a]
        gradient[a] *= c


@inner
def damped_step(
    hessian: Floats, gauss: Floats, damping: float, g: Floats, hold: Bools, step: Floats, work: Floats
) -> None:
    """Write the damped Newton step to ``step``, or the Gauss-Newton step if the matrix is not positive definite.

    The reweighted Gauss-Newton step always decreases the objective if it is short enough.
    """
    q = len(g)
    down, matrix, lower = work[0], work[1 : q + 1], work[q + 1 :]
    for a in range(q):
        down[a] = -g[a]
        for b in range(a + 1):
            matrix[a, b] = hessian[a, b] + damping * gauss[a, b]
    if not solve_definite(matrix, down, hold, step, lower):
        for a in range(q):
            for b in range(a):
                matrix[a, b] = (1.0 + damping) * gauss[a, b]
            matrix[a, a] = (1.0 + damping + 1e-9) * gauss[a, a]
        if not solve_definite(matrix, down, hold, step, lower):
            for a in range(q):
                step[a] = 0.0
    for a in range(q):
        if not np.isfinite(step[a]):
            step[a] = 0.0


@inner
def bounded_step(
    theta: Floats,
    low: Floats,
    high: Floats,
    hessian: Floats,
    gauss: Floats,
    damping: float,
    g: Floats,
    hold: Bools,
    step: Floats,
    work: Floats,
) -> float:
    """Write the damped step within bounds to ``step``; return the decrease (>= 0) that is expected to first order."""
    q = len(g)
    for a in range(q):
        hold[a] = low[a] == high[a] or not (gauss[a, a] > 0.0 and gauss[a, a] < np.inf)
        hold[a] = hold[a] or (theta[a] <= low[a] and g[a] > 0.0) or (theta[a] >= high[a] and g[a] < 0.0)
    damped_step(hessian, gauss, damping, g, hold, step, work)
    again = False
    for a in range(q):
        if (theta[a] <= low[a] and step[a] < 0.0) or (theta[a] >= high[a] and step[a] > 0.0):
            hold[a] = again = True
    if again:
        damped_step(hessian, gauss, damping, g, hold, step, work)
    promised = 0.0
    for a in range(q):
        if not hold[a]:
            promised += step[a] * g[a]
    return abs(promised)


@inner
def close(here: Floats, known: Floats, gauss: Floats, best: float) -> bool:
    """Return whether the point ``here`` is close to the optimum ``known``. See ``descent.CLOSE``."""
    apart = 0.0
    for a in range(len(here)):
        away = here[a] - known[a]
        apart += gauss[a, a] * away * away
        for b in range(a):
            apart += 2.0 * gauss[a, b] * away * (here[b] - known[b])
    return apart <= CLOSE * best


@kernel
def refine(
    shapes: Floats,
    z: Floats,
    y: Floats,
    powers: Ints,
    plain: Ints,
    low: Floats,
    high: Floats,
    weight: Floats,
    owner: Ints,
    theta: Floats,
    value: Floats,
    known: Floats,
    lowest: Floats,
    form: Ints,
    constant: Floats,
    mean: Floats,
    logs: bool,
    delta: float,
    scale: float,
    skew: float,
    ease: float,
    most: float,
    perfect: float,
    steps: int,
    tolerance: float,
) -> None:
    """Replace the starts ``theta`` (b, q) by their local minima, and write the objectives to ``value`` (b).

    ``known`` (r, q) and ``lowest`` (r) are known optima and their objectives; r is zero if there are none. ``form`` (k,
    3), ``constant`` (k, 3) and ``mean`` (1 or r, k) are priors. See ``newton.refine``.
    """
    q, n = theta.shape[1], weight.shape[1]
    room = n + LANES
    basis, at, rows = np.empty((q, room)), np.empty((len(z) + 2, room)), np.empty((6, room))
    hessian, gauss, work = np.empty((q, q)), np.empty((q, q)), np.empty((2 * q + 3, q))
    gradient, step, trial, hold = np.empty(q), np.empty(q), np.empty(q), np.empty(q, np.bool_)
    bend = np.empty(len(powers))
    used, before = 0, -1
    for s in range(len(theta)):
        if owner[s] != before:
            before = owner[s]
            used = gather(weight[before], shapes, z, y[before if len(y) > 1 else 0], logs, plain, basis, at)
        here = theta[s]
        for a in range(q):
            here[a] = min(max(here[a], low[a]), high[a])
        prior = mean[before if len(mean) > 1 else 0]
        best = objective(here, powers, basis, at, rows, used, logs, delta, scale, skew)
        best += penalty(here, form, constant, prior)
        if not best < np.inf:
            value[s] = np.inf
            continue
        damping, fresh = DAMPING, True
        for _ in range(steps):
            if best <= perfect:
                break
            if fresh:
                derivatives(
                    here, powers, basis, at, rows, used, logs, delta, scale, skew, gradient, hessian, gauss, bend
                )
                add(here, form, constant, prior, gradient, hessian, gauss)
                if len(known) > 0 and best >= lowest[before] and close(here, known[before], gauss, best):
                    here[:] = known[before]
                    best = lowest[before]
                    break
            promised = bounded_step(here, low, high, hessian, gauss, damping, gradient, hold, step, work)
            for a in range(q):
                trial[a] = min(max(here[a] + step[a], low[a]), high[a])
            there = objective(trial, powers, basis, at, rows, used, logs, delta, scale, skew)
            there += penalty(trial, form, constant, prior)
            share = promised / best
            done = share * (1.0 + damping) <= tolerance or damping > 1e12
            fresh = there < (best * (1.0 + ROUNDING) if done else best)
            if fresh:
                best = there
                for a in range(q):
                    here[a] = trial[a]
                damping = min(damping * ease, most * np.sqrt(share))
            else:
                damping = max(damping * 5.0, 1e-2)
            if damping < UNDAMPED:
                damping = 0.0
            if done:
                break
        value[s] = best
