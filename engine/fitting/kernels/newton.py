"""Damped Newton within bounds, one start at a time: ``engine.fitting.newton`` compiled.

The runs that a resample did not draw are left out, the others are copied beside each other and padded with runs of
weight zero to a multiple of ``LANES``, so that every loop over runs fills vector registers and has no remainder.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.fitting.kernels.algebra import solve_definite
from engine.fitting.kernels.elementary import exp, log
from engine.fitting.kernels.jit import inner, kernel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LANES = 16


@inner
def gather(weight: Floats, shapes: Floats, z: Floats, y: Floats, plain: Ints, basis: Floats, at: Floats) -> int:
    """Copy the drawn runs: weights, y and z to ``at``, shapes to ``basis``. The padded length."""
    n, used = len(weight), 0
    for i in range(n):
        if weight[i] > 0.0:
            at[0, used] = weight[i]
            at[1, used] = y[i]
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
    """The objective at ``theta``; leaves the terms in ``basis``, predictions and residuals in ``rows``."""
    m = len(powers)
    k = len(theta) - m
    f, r, w, y = rows[0, :n], rows[1, :n], at[0, :n], at[1, :n]
    for j in range(m):
        phi, z, e = basis[powers[j], :n], at[2 + j, :n], -theta[k + j]
        for i in range(n):
            phi[i] = exp(e * z[i])
    for i in range(n):
        f[i] = 0.0
    for j in range(k):
        phi, c = basis[j, :n], theta[j]
        for i in range(n):
            f[i] += c * phi[i]
    total, bad = 0.0, 0.0
    if logs:
        for i in range(n):
            bad += 0.0 if f[i] > 1e-300 else 1.0
            r[i] = log(f[i] / y[i])
    else:
        for i in range(n):
            r[i] = f[i] - y[i]
    for i in range(n):
        size = abs(r[i])
        least = size if size < delta else delta
        side = skew if r[i] > 0.0 else 1.0
        total += w[i] * side * least * (size - 0.5 * least)
    return scale * total if bad == 0.0 else np.inf


@inner
def products(one: Floats, other: Floats, z: Floats, n: int) -> float:
    """The sum of a product of three."""
    total = 0.0
    for i in range(n):
        total += one[i] * other[i] * z[i]
    return total


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
) -> None:
    """Gradient (q), and below the diagonal the Hessian and the reweighted Gauss-Newton matrix (q, q).

    Reads what ``objective`` left at the same ``theta``.
    """
    m, q = len(powers), len(theta)
    k = q - m
    f, r, w = rows[0, :n], rows[1, :n], at[0, :n]
    slope, curve, irls, u, v = rows[2, :n], rows[3, :n], rows[4, :n], rows[5, :n], rows[6, :n]
    for i in range(n):
        size = abs(r[i])
        side = w[i] * scale * (skew if r[i] > 0.0 else 1.0)
        inside = size <= delta
        slope[i] = side * (r[i] if inside else (delta if r[i] > 0.0 else -delta))
        curve[i] = side if inside else 0.0
        irls[i] = side if inside else side * delta / size
    if logs:
        for i in range(n):
            per = 1.0 / f[i]
            curve[i] = (curve[i] - slope[i]) * per * per
            irls[i] *= per * per
            slope[i] *= per
    for j in range(m):
        phi, z, own = basis[powers[j], :n], at[2 + j, :n], basis[k + j, :n]
        for i in range(n):
            own[i] = phi[i] * z[i]
    for a in range(q):
        own = basis[a, :n]
        g = 0.0
        for i in range(n):
            g += slope[i] * own[i]
            u[i] = curve[i] * own[i]
            v[i] = irls[i] * own[i]
        gradient[a] = g
        b = 0
        while b + 1 <= a:  # two columns at once: the loads of u and v are shared
            one, other = basis[b, :n], basis[b + 1, :n]
            h0, h1, g0, g1 = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                h0 += u[i] * one[i]
                h1 += u[i] * other[i]
                g0 += v[i] * one[i]
                g1 += v[i] * other[i]
            hessian[a, b], hessian[a, b + 1] = h0, h1
            gauss[a, b], gauss[a, b + 1] = g0, g1
            b += 2
        if b == a:
            h0, g0 = 0.0, 0.0
            for i in range(n):
                h0 += u[i] * own[i]
                g0 += v[i] * own[i]
            hessian[a, b], gauss[a, b] = h0, g0
    # from the basis to theta: d/de = -c z exp(-e z), the mixed second derivative -z exp(-e z)
    for j in range(m):
        a, c = k + j, -theta[powers[j]]
        for b in range(a):
            hessian[a, b] *= c
            gauss[a, b] *= c
        for b in range(a, q):
            hessian[b, a] *= c
            gauss[b, a] *= c
        hessian[a, a] *= c
        gauss[a, a] *= c
        hessian[a, a] -= c * products(slope, basis[a, :n], at[2 + j, :n], n)
        hessian[a, powers[j]] -= gradient[a]
        gradient[a] *= c


@inner
def damped_step(
    hessian: Floats, gauss: Floats, damping: float, g: Floats, hold: Bools, step: Floats, work: Floats
) -> None:
    """Newton with damping; where that is not definite, the reweighted Gauss-Newton step, which always descends."""
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
    """The damped step within bounds, and how much it promises to first order (>= 0)."""
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
    logs: bool,
    delta: float,
    scale: float,
    skew: float,
    steps: int,
    tolerance: float,
) -> None:
    """Local minima from starts ``theta`` (b, q), in place; objectives to ``value`` (b). See ``newton.refine``."""
    q, n = theta.shape[1], weight.shape[1]
    room = n + LANES
    basis, at, rows = np.empty((q, room)), np.empty((len(z) + 2, room)), np.empty((7, room))
    hessian, gauss, work = np.empty((q, q)), np.empty((q, q)), np.empty((2 * q + 3, q))
    gradient, step, trial, hold = np.empty(q), np.empty(q), np.empty(q), np.empty(q, np.bool_)
    used, before = 0, -1
    for s in range(len(theta)):
        if owner[s] != before:
            before = owner[s]
            used = gather(weight[before], shapes, z, y[before if len(y) > 1 else 0], plain, basis, at)
        here = theta[s]
        for a in range(q):
            here[a] = min(max(here[a], low[a]), high[a])
        best = objective(here, powers, basis, at, rows, used, logs, delta, scale, skew)
        if not best < np.inf:
            value[s] = np.inf
            continue
        nothing = scale * 0.5e-30 * n
        damping, fresh = 1.0, True
        for _ in range(steps):
            if best <= nothing:
                break
            if fresh:
                derivatives(here, powers, basis, at, rows, used, logs, delta, scale, skew, gradient, hessian, gauss)
            promised = bounded_step(here, low, high, hessian, gauss, damping, gradient, hold, step, work)
            for a in range(q):
                trial[a] = min(max(here[a] + step[a], low[a]), high[a])
            there = objective(trial, powers, basis, at, rows, used, logs, delta, scale, skew)
            fresh = there < best
            done = promised * (1.0 + damping) <= tolerance * best or damping > 1e12
            if fresh:
                best = there
                for a in range(q):
                    here[a] = trial[a]
                damping *= 0.1
            else:
                damping = max(damping * 5.0, 1e-2)
            if damping < 1e-6:
                damping = 0.0
            if done:
                break
        value[s] = best
