"""One solver for every law whose terms are linear in an amplitude and nonlinear in an exponent.

Cold grid over the exponents, best cells, damped Newton within bounds. Every resample starts from its own two best cells
and from the best fit; where the three do not end in the same optimum it starts from more cells. So each refit reaches
its own global optimum (starts from the best fit alone miss it in one of a hundred to a thousand refits).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.fitting import cold
from engine.fitting.estimate import Progress
from engine.fitting.newton import refine
from engine.fitting.objectives import Loss
from engine.fitting.problem import Problem, blocks
from engine.laws.law import Floats

CENTRAL_STARTS = 16
FIRST_STARTS, MORE_STARTS = 2, 12
SAME = 1e-6
"""Two objectives closer than this (relative) are the same optimum."""
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
    starts, values = _from(p, theta[None], weight, ladder)
    theta, value = starts[0], values[0]
    order = np.argsort(value, kind="stable")
    theta, value = theta[order], value[order]
    return Optimum(theta[0], float(value[0]), theta[1:], value[1:], ladder)


def refits(
    p: Problem, best: Optimum, draw: Callable[[int, int], Floats], total: int, progress: Progress | None = None
) -> Floats:
    """The global optimum of every resample: internal parameters (total, q), NaN where a resample failed.

    ``draw(start, stop)`` gives the counts (stop - start, n) of those resamples.
    """
    g = cold.grid(p)
    out = np.full((total, len(p.low)), np.nan)
    for at in blocks(total, MEMORY // p.n):
        weight = p.weight * draw(at.start, at.stop)
        part = p if len(p.y) == 1 else replace(p, y=p.y[at])
        out[at] = _refit(part, replace(g, problem=part), best, weight)
        if progress:
            progress(at.stop / total)
    return out


def _refit(p: Problem, g: cold.Grid, best: Optimum, weight: Floats) -> Floats:
    """The optimum of each resample of a block."""
    cells = cold.starts(g, weight, FIRST_STARTS + MORE_STARTS)
    warm = np.broadcast_to(best.theta, (len(cells), 1, cells.shape[2]))
    theta, value = _from(p, np.concatenate([warm, cells[:, :FIRST_STARTS]], axis=1), weight, best.ladder)
    low = value.min(axis=1)
    split = np.flatnonzero(~(value.max(axis=1) <= low * (1 + SAME)))
    if split.size:
        own = p if len(p.y) == 1 else replace(p, y=p.y[split])
        more, higher = _from(own, cells[split, FIRST_STARTS:], weight[split], best.ladder)
        theta = np.concatenate([theta, np.repeat(theta[:, :1], more.shape[1], axis=1)], axis=1)
        value = np.concatenate([value, np.full((len(value), more.shape[1]), np.inf)], axis=1)
        theta[split, -more.shape[1] :], value[split, -more.shape[1] :] = more, higher
    first = np.argmin(value, axis=1)
    every = np.arange(len(value))
    return np.where(np.isfinite(value[every, first])[:, None], theta[every, first], np.nan)


def _from(p: Problem, theta: Floats, weight: Floats, ladder: tuple[Loss, ...]) -> tuple[Floats, Floats]:
    """Local minima (r, s, q) and objectives (r, s) from s starts of each of r resamples."""
    r, s, q = theta.shape
    owner = np.repeat(np.arange(r), s)
    flat = theta.reshape(r * s, q)
    for loss in ladder:
        flat, _ = refine(p, flat, weight, owner, loss)
    flat, value = refine(p, flat, weight, owner, p.objective.loss)
    return flat.reshape(r, s, q), np.where(np.isfinite(value), value, np.inf).reshape(r, s)


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
