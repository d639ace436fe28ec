"""One solver for every law whose terms are linear in an amplitude and nonlinear in an exponent.

Cold grid over the exponents, best cells, damped Newton within bounds; every resample starts cold from its own best
cells, so that each refit reaches its own global optimum (warm starts alone miss about one in 250).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.fitting import cold
from engine.fitting.newton import refine
from engine.fitting.objectives import Loss
from engine.fitting.problem import Problem, blocks
from engine.laws.law import Floats

CENTRAL_STARTS = 16
RESAMPLE_STARTS = 3
MEMORY = 1_000_000
"""Elements (resamples x runs) of weights held at once."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best fit of a problem and every distinct local minimum that the cold starts found, best first."""

    theta: Floats  # (q,) internal
    value: float
    others: Floats  # (o, q) other local minima
    other_values: Floats  # (o,)
    ladder: tuple[Loss, ...]  # softer losses that come before the objective's own


def best_fit(p: Problem) -> Optimum:
    """The global optimum from a cold start."""
    weight = p.weight[None]
    theta = cold.starts(cold.grid(p), weight, CENTRAL_STARTS)[0]
    ladder = p.objective.loss.softer(_spread(p, theta[0]))
    theta, value = _descend(p, theta, weight, np.zeros(len(theta), np.int64), ladder)
    order = np.argsort(value, kind="stable")
    theta, value = theta[order], value[order]
    return Optimum(theta[0], float(value[0]), theta[1:], value[1:], ladder)


def refits(
    p: Problem,
    ladder: tuple[Loss, ...],
    draw: Callable[[int, int], Floats],
    total: int,
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """The global optimum of every resample: internal parameters (total, q), NaN where a resample failed.

    ``draw(start, stop)`` gives the counts (stop - start, n) of those resamples.
    """
    g = cold.grid(p)
    out = np.full((total, len(p.low)), np.nan)
    for at in blocks(total, MEMORY // p.n):
        weight = p.weight * draw(at.start, at.stop)
        theta = cold.starts(g, weight, RESAMPLE_STARTS)
        r, s, q = theta.shape
        flat, value = _descend(p, theta.reshape(r * s, q), weight, np.repeat(np.arange(r), s), ladder)
        value = np.where(np.isfinite(value), value, np.inf).reshape(r, s)
        found = np.any(np.isfinite(value), axis=1, keepdims=True)
        best = np.take_along_axis(flat.reshape(r, s, q), np.argmin(value, axis=1)[:, None, None], axis=1)[:, 0]
        out[at] = np.where(found, best, np.nan)
        if progress:
            progress(at.stop / total)
    return out


def _descend(
    p: Problem,
    theta: Floats,
    weight: Floats,
    owner: np.ndarray[tuple[int], np.dtype[np.int64]],
    ladder: tuple[Loss, ...],
) -> tuple[Floats, Floats]:
    for loss in ladder:
        theta, _ = refine(p, theta, weight, owner, loss)
    return refine(p, theta, weight, owner, p.objective.loss)


def _spread(p: Problem, theta: Floats) -> float:
    """The median absolute residual at a point."""
    return float(np.median(np.abs(p.residual(predict(p, theta[None]), p.y[:1]))))


def predict(p: Problem, theta: Floats) -> Floats:
    """Predictions (b, n) of internal parameters (b, q)."""
    out = np.zeros((len(theta), p.n))
    for j in range(p.k):
        if j in p.powers:
            i = p.powers.index(j)
            out += theta[:, j, None] * np.exp(-theta[:, p.k + i, None] * p.z[i])
        else:
            out += theta[:, j, None]
    return out
