"""The solver for laws whose terms are linear in an amplitude and nonlinear in an exponent.

The steps are a cold grid over the exponents, the best cells, and damped Newton within bounds. Every resample starts
from the best fit and then from its own best cell. If the objective has kinks, it starts instead from points around the
optimum of that first start, along the axes in which the first resamples spread. If these starts end in different
optima, more cells are tried. Resamples with an unusually high objective contain outliers more than once and have
several optima more often, so they start from more points. In this way refits reach their global optimum: on the Epoch
table all but one in six thousand. Starts from the best fit alone miss one in 130.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver import exponent_grid, kernels
from isoplan.engine.fitting.solver.descent import Known
from isoplan.engine.fitting.solver.kernels import NUMPY, Engine
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import Problem, blocks
from isoplan.engine.fitting.solver.threads import Progress, over_blocks

CENTRAL_STARTS, CENTRAL_FEWER = 12, 4
PILOTS, PILOT_STARTS, MORE_STARTS = 16, 4, 4
"""Number of first resamples, of cells from which each of them starts, and of cells in each batch that is added later.
The optima of the first resamples show how far those of the others may lie.
"""
PILOT_BLOCK = 4
"""First resamples that are computed together: few, so that all threads have some."""
AXES, REACH = 3, 3.0
"""Number of principal axes of those optima along which refits start, and the distance in standard deviations."""
STEPS = {
    1: ((1, 0, 0), (-1, 0, 0)),
    2: ((1, 1, 0), (-1, -1, 0), (1, -1, 0), (-1, 1, 0)),
    3: ((1, 1, 0), (-1, -1, 0), (1, -1, 1), (-1, 1, -1)),
}
"""Steps along the axes, by number of axes, in pairs of opposites."""
FEWER = 2
"""Steps for the resamples, three in five, whose objective is not above that of the best fit. The others contain
outliers more than once. Two steps miss 91 optima of 40,000 resamples of the Epoch table, and all but 10 belong to the
others.
"""
ROUNDS, AGAIN = 16, 3
"""If the starts of a resample end in different optima, up to ROUNDS batches of starts are added until AGAIN of them
agree on the best one.
"""
MANY = 2_000
"""Number of runs above which fits start from fewer cells, because the optimum is then rarely uncertain."""
SKIPPED = 2
"""Softer losses that a start from a cell skips. Without them starts end in more optima, including the best one."""
SAME = 1e-8
"""Relative difference of two objectives below which they belong to one optimum: 100 times the tolerance of a start."""
MEMORY = 1_000_000
"""Elements (resamples x runs) of weights in a block."""
RANKED = 1_000
"""Number of runs by which cells are ranked. Of a longer table every second, third ... run is used."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best fit of a problem and every other local minimum found by the cold starts, best first."""

    theta: Floats  # (q,) internal
    value: float
    others: Floats  # (o, q) other local minima
    other_values: Floats  # (o,)
    ladder: tuple[Loss, ...]  # softer losses used before that of the objective


def best_fit(p: Problem) -> Optimum:
    """Find the global optimum from a cold start."""
    weight, engine = p.weight[None], _engine(p)
    theta = _cells(engine, p, weight, CENTRAL_STARTS if p.n < MANY else CENTRAL_FEWER)[0]
    ladder = p.objective.loss.softer(_spread(p, theta[0]))
    starts, values = _joined(
        _from(engine, p, theta[None, :2], weight, ladder), _from(engine, p, theta[None], weight, ladder[SKIPPED:])
    )
    theta, value = starts[0], values[0]
    order = np.argsort(value, kind="stable")
    theta, value = theta[order], value[order]
    return Optimum(theta[0], float(value[0]), theta[1:], value[1:], ladder)


def least_objective(p: Problem) -> float:
    """Return the objective of the best fit."""
    return best_fit(p).value


def refits(
    p: Problem, best: Optimum, draw: Callable[[int, int], Floats], total: int, progress: Progress | None = None
) -> Floats:
    """Find the global optimum of every resample: internal parameters (total, q), NaN if a resample failed.

    ``draw(start, stop)`` returns the counts (stop - start, n) of those resamples.
    """
    engine = _engine(p, total)
    out = np.full((total, len(p.low)), np.nan)

    def block(steps: Floats, cells: int, at: slice) -> None:
        weight = p.weight * draw(at.start, at.stop)
        out[at] = _refit(engine, p.of(at), best, steps, weight, cells)

    kinked = p.objective.loss.kinked and p.n < MANY
    pilots = min(PILOTS, total) if kinked else 0
    over_blocks(partial(block, np.empty((0, len(p.low))), PILOT_STARTS), blocks(pilots, PILOT_BLOCK), total, progress)
    rest = blocks(total, min(MEMORY // p.n, engine.at_once), pilots)
    over_blocks(partial(block, _steps(out[:pilots]), 1), rest, total, progress)
    return out


def descents(p: Problem, starts: Floats) -> tuple[Floats, Floats]:
    """Return the best minimum (r, q) and objective (r,) from starts (r, s, q) of r tables, each with its own
    targets.
    """
    weight = np.broadcast_to(p.weight, (len(starts), p.n))
    return _lowest(*_from(_engine(p, len(starts)), p, starts, weight, ()))


def _steps(theta: Floats) -> Floats:
    """Return steps (s, q) along the longest axes of a cloud of optima (b, q); none without a cloud."""
    sound = theta[np.isfinite(theta).all(axis=1)]
    if len(sound) < 2:
        return sound[:0]
    spread = np.std(sound, axis=0)
    cloud = (sound - np.mean(sound, axis=0)) / np.where(spread > 0, spread, np.inf)
    _, size, axis = np.linalg.svd(cloud, full_matrices=False)
    along = REACH / np.sqrt(len(sound)) * size[:AXES, None] * axis[:AXES] * spread
    return np.array(STEPS[len(along)])[:, : len(along)] @ along


def _engine(p: Problem, resamples: int = 0) -> Engine:
    """Return the compiled kernels if they are available, else the numpy engine."""
    return kernels.compiled(p.n * resamples) or NUMPY


def _cells(engine: Engine, p: Problem, weight: Floats, best: int) -> Floats:
    """Return the best cells (r, best, q) of every resample."""
    thin = np.arange(0, p.n, max(p.n // RANKED, 1))
    return engine.starts(exponent_grid.grid(p.rows(thin)), weight[:, thin], best)


def _refit(engine: Engine, p: Problem, best: Optimum, steps: Floats, weight: Floats, first: int) -> Floats:
    """Return the optimum (r, q) of each resample of a block.

    Starts are the best fit, then points ``steps`` (s, q) from its optimum, or the first ``first`` cells if there are no
    steps. If the optima differ, more cells are tried.
    """
    direct = best.ladder[SKIPPED:]
    theta, value = _from(engine, p, np.tile(best.theta, (len(weight), 1, 1)), weight, best.ladder)
    if len(steps):
        others = _stepped(engine, p, steps, weight, direct, Known(theta[:, 0], value[:, 0]), best.value)
    else:
        others = _from(engine, p, _cells(engine, p, weight, first), weight, direct)
    theta, value = _joined((theta, value), others)
    found, low = _lowest(theta, value)
    split = np.flatnonzero(value.max(axis=1) > low * (1 + SAME) + _nothing(p))
    if split.size:
        own, done = p.of(split), 0 if len(steps) else first
        cells = _cells(engine, own, weight[split], done + MORE_STARTS * ROUNDS)[:, done:]
        found[split], low[split] = _more(engine, own, cells, weight[split], direct, (theta[split], value[split]))
    return np.where(np.isfinite(low)[:, None], found, np.nan)


def _more(
    engine: Engine,
    p: Problem,
    cells: Floats,
    weight: Floats,
    ladder: tuple[Loss, ...],
    ends: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return the best of the minima ``ends`` (r, s, q), (r, s) and of starts from ``cells`` (r, c, q).

    Cells are tried in order, until ``AGAIN`` starts have ended in the best optimum.
    """
    found, low = _lowest(*ends)
    times = np.sum(ends[1] <= low[:, None] * (1 + SAME) + _nothing(p), axis=1)
    going = np.arange(len(low))
    for at in blocks(cells.shape[1], MORE_STARTS):
        theta, value = _from(engine, p.of(going), cells[going, at], weight[going], ladder)
        theta, value = _joined((found[going, None], low[going, None]), (theta, value))
        found[going], best = _lowest(theta, value)
        same = value <= best[:, None] * (1 + SAME) + _nothing(p)
        times[going] = np.sum(same[:, 1:], axis=1) + np.where(same[:, 0], times[going], 0)
        low[going] = best
        going = going[times[going] < AGAIN]
        if not going.size:
            break
    return found, low


def _nothing(p: Problem) -> float:
    """Return the difference of objectives that is attributed to rounding if both are about zero."""
    return float(p.objective.loss.value(np.array(1e-12))) * p.n


def _stepped(
    engine: Engine, p: Problem, steps: Floats, weight: Floats, ladder: tuple[Loss, ...], known: Known, usual: float
) -> tuple[Floats, Floats]:
    """Find local minima (r, s, q) and objectives (r, s) from ``steps`` (s, q) around the ``known`` optima.

    All steps are used if the objective is above ``usual``, else the first ``FEWER``. The entries of the other steps are
    the known optima.
    """
    tried = np.zeros((len(weight), len(steps)), bool)
    tried[:, :FEWER] = True
    tried[known.value > usual] = True
    owner, step = np.nonzero(tried)
    theta, value = np.repeat(known.theta[:, None], len(steps), axis=1), np.repeat(known.value[:, None], len(steps), 1)
    theta[tried], value[tried] = _ends(engine, p, known.theta[owner] + steps[step], weight, owner, ladder, known)
    return theta, value


def _lowest(theta: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return the best of several starts: (r, s, q) and (r, s) -> (r, q) and (r)."""
    every, first = np.arange(len(value)), np.argmin(value, axis=1)
    return theta[every, first], value[every, first]


def _joined(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.concatenate([one[0], other[0]], axis=1), np.concatenate([one[1], other[1]], axis=1)


def _from(engine: Engine, p: Problem, theta: Floats, weight: Floats, ladder: tuple[Loss, ...]) -> tuple[Floats, Floats]:
    """Find local minima (r, s, q) and objectives (r, s) from s starts of each of r resamples."""
    r, s, q = theta.shape
    ends, value = _ends(engine, p, theta.reshape(r * s, q), weight, np.repeat(np.arange(r), s), ladder)
    return ends.reshape(r, s, q), value.reshape(r, s)


def _ends(
    engine: Engine,
    p: Problem,
    theta: Floats,
    weight: Floats,
    owner: Ints,
    ladder: tuple[Loss, ...],
    known: Known | None = None,
) -> tuple[Floats, Floats]:
    """Find local minima (b, q) and objectives (b) from starts ``theta`` (b, q) of the resamples ``owner`` (b)."""
    for loss in ladder:
        theta, _ = engine.refine(p, theta, weight, owner, loss)
    theta, value = engine.refine(p, theta, weight, owner, p.objective.loss, known)
    return theta, np.where(np.isfinite(value), value, np.inf)


def _spread(p: Problem, theta: Floats) -> float:
    """Return the median absolute residual at a point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.abs(p.residual(predict(p, theta[None]), p.y[:1]))
    return float(np.median(size[np.isfinite(size)])) if np.isfinite(size).any() else 0.0


def predict(p: Problem, theta: Floats) -> Floats:
    """Return predictions (b, n) for internal parameters (b, q)."""
    out = theta[:, p.plain] @ p.shapes
    for i, j in enumerate(p.powers):
        out += theta[:, j, None] * np.exp(-theta[:, p.k + i, None] * p.z[i])
    return out
