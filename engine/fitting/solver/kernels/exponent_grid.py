"""Compiled version of ``isoplan.engine.fitting.solver.exponent_grid``, for one resample at a time."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.kernels.algebra import nonnegative
from isoplan.engine.fitting.solver.kernels.elementary import exp
from isoplan.engine.fitting.solver.kernels.jit import LANES, inner, kernel


@inner
def gather(
    weight: Floats, shapes: Floats, z: Floats, y: Floats, exponent: Floats, term: Ints, phi: Floats, at: Floats
) -> int:
    """Copy the runs of a resample to contiguous arrays, and return the number of runs after padding.

    Weights go to ``at[0]``, y to ``at[1]``, z to the following rows, and the basis functions to ``phi``. Runs that the
    resample did not draw are omitted.
    """
    n, used = len(weight), 0
    for i in range(n):
        if weight[i] > 0.0:
            at[0, used] = weight[i]
            at[1, used] = y[i]
            for j in range(len(shapes)):
                phi[j, used] = shapes[j, i]
            for j in range(len(z)):
                at[2 + j, used] = z[j, i]
            used += 1
    full = -(-used // LANES) * LANES
    for i in range(used, full):
        at[0, i] = 0.0
        for j in range(1, len(z) + 2):
            at[j, i] = at[j, used - 1]
        for j in range(len(shapes)):
            phi[j, i] = phi[j, used - 1]
    for j in range(len(exponent)):
        own, along, e = phi[len(shapes) + j, :full], at[2 + term[j], :full], -exponent[j]
        for i in range(full):
            own[i] = exp(e * along[i])
    return full


@inner
def moments(phi: Floats, at: Floats, n: int, logs: bool, first: Ints, second: Ints, out: Floats, right: Floats) -> None:
    """Compute weighted sums over the runs, for the normal equations of all grid cells.

    ``out`` (pairs) receives the sums of products of two basis functions, and ``right`` (P) the sums of products of a
    basis function and y.
    """
    w, y, u = at[0, :n], at[1, :n], at[-1, :n]
    for i in range(n):
        u[i] = w[i] / y[i] if logs else w[i] * y[i]
    for a in range(len(phi)):
        own, total = phi[a, :n], 0.0
        for i in range(n):
            total += u[i] * own[i]
        right[a] = total
    before = -1
    for j in range(len(first)):
        if first[j] != before:
            before = first[j]
            own = phi[before, :n]
            for i in range(n):
                u[i] = w[i] * own[i] / (y[i] * y[i]) if logs else w[i] * own[i]
        other, total = phi[second[j], :n], 0.0
        for i in range(n):
            total += u[i] * other[i]
        out[j] = total


@inner
def rank(c: Floats, phi: Floats, row: Ints, at: Floats, n: int, logs: bool, delta: float, skew: float) -> float:
    """Return the approximate objective of a grid cell with the amplitudes ``c`` (k), without the constant scale."""
    k, last = len(c), len(at) - 1
    a, c0 = row[0], c[0]
    for i in range(n):
        at[last, i] = c0 * phi[a, i]
    for j in range(1, k - 1, 2):
        a, b, c0, c1 = row[j], row[j + 1], c[j], c[j + 1]
        for i in range(n):
            at[last, i] += c0 * phi[a, i] + c1 * phi[b, i]
    if k % 2 == 0:
        a, c0 = row[k - 1], c[k - 1]
        for i in range(n):
            at[last, i] += c0 * phi[a, i]
    total, bad = 0.0, 0.0
    for i in range(n):
        f, y = at[last, i], at[1, i]
        r = 2.0 * (f - y) / (f + y) if logs else f - y
        bad += 1.0 if logs and not f > 0.0 else 0.0
        size = abs(r)
        least = size if size < delta else delta
        total += at[0, i] * (skew if r > 0.0 else 1.0) * least * (size - 0.5 * least)
    return total if bad == 0.0 else np.inf


@inner
def quadratic(c: Floats, row: Ints, gram: Floats, right: Floats) -> float:
    """Return the sum of squared residuals of a grid cell with the amplitudes ``c`` (k), minus the sum of y^2.

    The sum of y^2 is the same for all cells, so it does not change their order.
    """
    total = 0.0
    for a in range(len(c)):
        total -= 2.0 * c[a] * right[row[a]]
        for b in range(len(c)):
            total += c[a] * gram[a, b] * c[b]
    return total


@inner
def apart(value: Floats, place: Floats, lead: int) -> int:
    """Return the best cell that is more than a quarter of the grid away from the cell ``lead``; -1 if there is none."""
    best, least = -1, np.inf
    for cell in range(len(value)):
        away = 0.0
        for i in range(place.shape[1]):
            away = max(away, abs(place[cell, i] - place[lead, i]))
        if away > 0.25 and value[cell] < least:
            best, least = cell, value[cell]
    return best


@kernel
def starts(
    shapes: Floats,
    z: Floats,
    exponent: Floats,
    term: Ints,
    row: Ints,
    place: Floats,
    exponents: Floats,
    first: Ints,
    second: Ints,
    pair: Ints,
    y: Floats,
    low: Floats,
    high: Floats,
    weight: Floats,
    logs: bool,
    delta: float,
    skew: float,
    out: Floats,
) -> None:
    """Write the starting points of each resample to ``out`` (r, best, q). See ``exponent_grid.starts``."""
    cells, k = row.shape
    m, n, total = len(z), weight.shape[1], len(shapes) + len(exponent)
    phi, at = np.empty((total, n + LANES)), np.empty((m + 3, n + LANES))
    sums, right = np.empty(len(first)), np.empty(total)
    gram, toward, part, work = np.empty((k, k)), np.empty(k), np.empty(k), np.empty((k + 2, k))
    c, value, hold = np.empty((cells, k)), np.empty(cells), np.empty(k, np.bool_)
    fixed, free = low[:k] == high[:k], np.isinf(low[:k])
    squares = not logs and delta == np.inf and skew == 1.0  # if True, the objective follows from the moments
    for r in range(len(weight)):
        used = gather(weight[r], shapes, z, y[r if len(y) > 1 else 0], exponent, term, phi, at)
        moments(phi, at, used, logs, first, second, sums, right)
        for cell in range(cells):
            for a in range(k):
                toward[a] = right[row[cell, a]]
                c[cell, a] = low[a]
                for b in range(k):
                    gram[a, b] = sums[pair[cell, a, b]]
                    if fixed[b]:
                        toward[a] -= gram[a, b] * low[b]
            nonnegative(gram, toward, free, fixed, c[cell], part, hold, work)
            if squares:
                value[cell] = quadratic(c[cell], row[cell], gram, right)
            else:
                value[cell] = rank(c[cell], phi, row[cell], at, used, logs, delta, skew)
        lead = int(np.argmin(value))
        for s in range(out.shape[1]):
            best = apart(value, place, lead) if s == 1 else np.argmin(value)
            if best < 0:
                best = np.argmin(value)
            out[r, s, :k] = c[best]
            for i in range(m):
                out[r, s, k + i] = exponents[best, i]
            value[best] = np.inf
