"""Starting points without a previous fit: a grid over the exponents, with the best amplitudes in each cell.

If the exponents are given, a law is linear in its amplitudes. Each grid cell is therefore a small non-negative
least-squares problem (variable projection, Golub & Pereyra 1973). One matrix product computes its normal equations for
all resamples. The cells with the lowest objective are the starting points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.linear import nonnegative_least_squares
from isoplan.engine.fitting.solver.problem import BLOCK, Problem, blocks

GRID = {1: np.geomspace(0.01, 5.0, 40), 2: np.r_[0.04, 0.12, 0.25, 0.4, 0.6, 0.85, 1.3, 2.2]}
RATES = np.geomspace(1e-3, 20.0, 24)
"""Grid of absolute rates of an exponential term, in units of 1 / (half the range of its axis). Both signs are tried."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Grid over the exponents of a problem with k terms.

    ``exponents`` (cells, m) are the exponents in each cell. ``row`` (cells, k) contains, for each cell and term, the
    row number of the basis function in ``basis``.
    """

    problem: Problem
    exponents: Floats
    row: Ints
    place: Floats  # (cells, m): position of a cell along each exponent, 0 to 1
    basis_exponent: tuple[Floats, ...]  # exponents of the basis rows, for each term with an exponent

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Distinct pairs of basis functions as two arrays (first, second), and an index (cells, k, k).

        The index gives the pair of basis functions for each element of the Gram matrix of each cell.
        """
        k = self.row.shape[1]
        size = int(self.row.max()) + 1
        a, b = self.row[:, :, None].repeat(k, 2), self.row[:, None, :].repeat(k, 1)
        code = np.minimum(a, b) * size + np.maximum(a, b)
        unique, place = np.unique(code, return_inverse=True)
        return unique // size, unique % size, place.reshape(code.shape)

    def basis(self, rows: slice) -> Floats:
        """Return the basis functions (P, rows) of all cells at the runs ``rows``.

        The functions of the terms without exponent come first. For each other term and each exponent e on its grid, the
        function exp(-e z) follows.
        """
        z = self.problem.z[:, rows]
        parts = [self.problem.shapes[:, rows]]
        parts += [np.exp(-e[:, None] * z[i]) for i, e in enumerate(self.basis_exponent)]
        return np.concatenate(parts)


def grid(p: Problem) -> Grid:
    """Return the grid of a problem: a free exponent has values over its range, and a fixed exponent has one value."""
    values = []
    for i in range(len(p.powers)):
        low, high = p.low[p.k + i], p.high[p.k + i]
        base = np.r_[-RATES[::-1], RATES] if low < 0 else GRID.get(len(p.powers), GRID[2])
        if p.low[p.powers[i]] == p.high[p.powers[i]]:  # the amplitude is fixed and only the exponent varies
            base = np.geomspace(0.01, 5.0, 64)
        values.append(np.array([low]) if low == high else np.clip(base, low, high))
    index = np.array(list(np.ndindex(*[len(v) for v in values])), np.int64)  # one cell if there is no exponent
    row = np.zeros((len(index), p.k), np.int64)
    offset = len(p.plain)
    row[:, p.plain] = np.arange(offset)
    for i, j in enumerate(p.powers):
        row[:, j] = offset + index[:, i]
        offset += len(values[i])
    exponents = np.empty(index.shape)
    for i, v in enumerate(values):
        exponents[:, i] = v[index[:, i]]
    place = index / np.maximum([len(v) - 1 for v in values], 1)
    return Grid(p, exponents, row, place, tuple(values))


def starts(g: Grid, weight: Floats, best: int) -> Floats:
    """Return starting points (r, best, q) for each of r resamples with the weights ``weight`` (r, n).

    ``best`` is the number of points per resample. The first point is the cell with the lowest objective. The second is
    the best cell that is more than a quarter of the grid away from the first, because close cells lead to the same
    minimum. The others follow in the order of their objectives.
    """
    c = _amplitudes(g, weight)
    value = _rank(g, c, weight)
    lead = np.argmin(value, axis=1)
    apart = np.max(np.abs(g.place[lead][:, None] - g.place), axis=-1, initial=0.0) > 0.25
    second = np.argmin(np.where(apart, value, np.inf), axis=1)
    every = np.arange(len(lead))
    value[every, second], value[every, lead] = -np.inf, -np.inf
    rest = np.argsort(value, axis=1, kind="stable")[:, 2:] if len(g.row) > 1 else np.empty((len(lead), 0), np.int64)
    cell = np.concatenate([lead[:, None], second[:, None], rest], axis=1)[:, :best]
    return np.concatenate([np.take_along_axis(c, cell[..., None], axis=1), g.exponents[cell]], axis=-1)


def _amplitudes(g: Grid, weight: Floats) -> Floats:
    """Return the best amplitudes (r, cells, k) in each cell, by weighted least squares.

    The residuals are relative if the objective uses logarithms.
    """
    p = g.problem
    first, second, place = g.pairs
    top = int(g.row.max()) + 1
    moments = np.zeros((len(weight), len(first)))
    right = np.zeros((len(weight), top))
    for rows in blocks(p.n, BLOCK // 4):
        phi, y = g.basis(rows), p.target(slice(None), rows)
        w = weight[:, rows] / (y * y if p.objective.log else 1.0)
        moments += w @ (phi[first] * phi[second]).T
        right += (w * y) @ phi.T
    gram, target = moments[:, place], right[:, g.row]
    fixed = p.low[: p.k] == p.high[: p.k]
    c = np.zeros(target.shape)
    c[..., fixed] = p.low[: p.k][fixed]
    if not fixed.all():
        free = np.flatnonzero(~fixed)
        toward = target[..., free] - gram[:, :, free[:, None], np.flatnonzero(fixed)] @ p.low[: p.k][fixed]
        shape = toward.shape
        c[..., free] = nonnegative_least_squares(
            gram[:, :, free[:, None], free].reshape(-1, len(free), len(free)),
            toward.reshape(-1, len(free)),
            np.isneginf(p.low[: p.k][free]),
        ).reshape(shape)
    return c


def _rank(g: Grid, c: Floats, weight: Floats) -> Floats:
    """Return the approximate objective (r, cells) of each cell with its amplitudes ``c`` (r, cells, k)."""
    p = g.problem
    value = np.zeros(c.shape[:2])
    for rows in blocks(p.n, BLOCK):
        phi = g.basis(rows)
        for at in blocks(len(weight), BLOCK // phi.shape[1]):
            y, w = p.target(at, rows), weight[at, rows]
            with np.errstate(all="ignore"):
                for cell, row in enumerate(g.row):
                    rho = p.objective.loss.value(_nearly(p, c[at, cell] @ phi[row], y))
                    value[at, cell] += np.einsum("rn,rn->r", w, rho)
    return np.where(np.isnan(value), np.inf, value)


def _nearly(p: Problem, f: Floats, y: Floats) -> Floats:
    """Return approximate residuals: 2 (f - y) / (f + y) instead of log(f / y).

    The error is below 2 % if f / y is below 1.6, which is enough to order the cells. Without logarithms, the residual
    is exact.
    """
    return np.where(f > 0, 2 * (f - y) / (f + y), np.inf) if p.objective.log else f - y
