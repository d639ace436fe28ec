"""The solver for laws whose terms are linear in an amplitude and nonlinear in an exponent.

The first fit evaluates a grid over the exponents. It starts the damped Newton method within bounds from the grid cells
with the lowest objective.

The refit of a resample starts from the best fit to all runs, and then from the best grid cell of the resample. If the
objective has kinks, points around the minimum of the first start replace the grid cell. The optima of the first
resamples (pilots) determine the directions and distances of these points. If the starts of a resample end in different
minima, further grid cells are tried.

A resample with a high objective contains outliers more than once and often has several minima, so it has more starts.
On the Epoch table, one refit in 6000 misses its global minimum. If every refit started only from the best fit, one in
130 would miss its global minimum.
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
"""PILOTS: number of pilot resamples. PILOT_STARTS: number of grid cells from which the refit of each pilot starts.
MORE_STARTS: number of grid cells in each further batch of starts.

The optima of the pilots show how far the optima of the other resamples may be from the best fit.
"""
PILOT_BLOCK = 4
"""Number of pilot resamples in a block. This number is small, so that every thread receives a block."""
AXES, REACH = 3, 3.0
"""AXES: number of principal axes of the pilots' optima that are used for the starts of other refits.
REACH: distance of these starts from an optimum along an axis, in standard deviations.
"""
STEPS = {
    1: ((1, 0, 0), (-1, 0, 0)),
    2: ((1, 1, 0), (-1, -1, 0), (1, -1, 0), (-1, 1, 0)),
    3: ((1, 1, 0), (-1, -1, 0), (1, -1, 1), (-1, 1, -1)),
}
"""Steps from an optimum to further starts, in units of ``REACH`` along each axis. The key is the number of axes.

Each step is followed by the opposite step.
"""
FEWER = 2
"""Number of ``STEPS`` for a resample whose objective does not exceed that of the best fit.

Three in five resamples are of this kind. Resamples with a higher objective use all steps, because they contain outliers
more than once. If all resamples used two steps, 91 of 40,000 resamples of the Epoch table would miss their optimum. 81
of these 91 have a higher objective.
"""
ROUNDS, AGAIN = 16, 3
"""ROUNDS: maximum number of further batches of starts for a resample. AGAIN: the batches stop when this number of
starts have ended in the best minimum of the resample.
"""
MANY = 2_000
"""A fit of at least this number of runs uses fewer starts. With many runs, the optimum is rarely uncertain."""
SKIPPED = 2
"""Number of losses at the beginning of ``Optimum.ladder`` that a start from a grid cell skips.

The starts then end in more different minima, among them the best minimum.
"""
SAME = 1e-8
"""Relative difference below which two objectives belong to the same minimum: 100 times the tolerance of a descent."""
MEMORY = 1_000_000
"""Maximum number of weights (resamples x runs) in a block."""
RANKED = 1_000
"""Approximate number of runs used to compare grid cells. If a table has more runs, every k-th run is used."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best fit of a problem, and the minima in which the other starts ended, sorted by objective."""

    theta: Floats  # (q,) internal parameters
    value: float
    others: Floats  # (o, q) minima of the other starts
    other_values: Floats  # (o,)
    ladder: tuple[Loss, ...]  # softer losses that are minimised before the loss of the objective


def best_fit(p: Problem) -> Optimum:
    """Return the global minimum and the other minima of a problem. No previous fit is needed as a start."""
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
    """Return the objective at the best fit."""
    return best_fit(p).value


def refits(
    p: Problem, best: Optimum, draw: Callable[[int, int], Floats], total: int, progress: Progress | None = None
) -> Floats:
    """Return the global minimum of each resample: internal parameters (total, q), NaN if a refit failed.

    ``draw(start, stop)`` returns how often each run is drawn in the resamples ``start`` to ``stop``: (stop - start, n).
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


def descents(p: Problem, starts: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the best minimum (r, q) and its objective (r,) of each of r tables, from s starts (r, s, q) per table.

    Each table has its own targets y. ``counts`` (r, n) is the number of times that each run counts in each table, by
    default once.
    """
    weight = np.broadcast_to(p.weight, (len(starts), p.n)) if counts is None else p.weight * counts
    return _lowest(*_from(_engine(p, len(starts)), p, starts, weight, ()))


def _steps(theta: Floats) -> Floats:
    """Return the steps (s, q) along the longest principal axes of the optima ``theta`` (b, q).

    The result is empty if fewer than two optima are finite.
    """
    sound = theta[np.isfinite(theta).all(axis=1)]
    if len(sound) < 2:
        return sound[:0]
    spread = np.std(sound, axis=0)
    cloud = (sound - np.mean(sound, axis=0)) / np.where(spread > 0, spread, np.inf)
    _, size, axis = np.linalg.svd(cloud, full_matrices=False)
    along = REACH / np.sqrt(len(sound)) * size[:AXES, None] * axis[:AXES] * spread
    return np.array(STEPS[len(along)])[:, : len(along)] @ along


def _engine(p: Problem, resamples: int = 0) -> Engine:
    """Return the compiled kernels if they are available, and otherwise the numpy engine."""
    return kernels.compiled(p.n * resamples) or NUMPY


def _cells(engine: Engine, p: Problem, weight: Floats, best: int) -> Floats:
    """Return the grid cells with the lowest objectives for each of r resamples: starts (r, best, q)."""
    thin = np.arange(0, p.n, max(p.n // RANKED, 1))
    return engine.starts(exponent_grid.grid(p.rows(thin)), weight[:, thin], best)


def _refit(engine: Engine, p: Problem, best: Optimum, steps: Floats, weight: Floats, first: int) -> Floats:
    """Return the optimum (r, q) of each resample in a block.

    The first start is the best fit. The further starts are at the distances ``steps`` (s, q) from the minimum of the
    first start. If ``steps`` is empty, they are the grid cells with the lowest objectives (``first`` cells per
    resample). If the starts of a resample end in different minima, more grid cells are tried.
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
    """Return the best minimum (r, q) and its objective (r,) of each resample, after further starts from ``cells``.

    ``cells`` (r, c, q) are grid cells, and ``ends`` are the minima (r, s, q) and objectives (r, s) of the earlier
    starts. For each resample, the cells are tried in order until its best minimum is found ``AGAIN`` times.
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
    """Return the largest difference of two objectives near zero that counts as a rounding error."""
    return float(p.objective.loss.value(np.array(1e-12))) * p.n


def _stepped(
    engine: Engine, p: Problem, steps: Floats, weight: Floats, ladder: tuple[Loss, ...], known: Known, usual: float
) -> tuple[Floats, Floats]:
    """Return the minima (r, s, q) and objectives (r, s) of the starts at (known optimum) + ``steps`` (s, q).

    A resample with a known objective above ``usual`` uses all steps. The other resamples use the first ``FEWER`` steps.
    For a step that is not used, the result is the known optimum.
    """
    tried = np.zeros((len(weight), len(steps)), bool)
    tried[:, :FEWER] = True
    tried[known.value > usual] = True
    owner, step = np.nonzero(tried)
    theta, value = np.repeat(known.theta[:, None], len(steps), axis=1), np.repeat(known.value[:, None], len(steps), 1)
    theta[tried], value[tried] = _ends(engine, p, known.theta[owner] + steps[step], weight, owner, ladder, known)
    return theta, value


def _lowest(theta: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return for each resample the best of its minima: (r, s, q) and (r, s) -> (r, q) and (r,)."""
    every, first = np.arange(len(value)), np.argmin(value, axis=1)
    return theta[every, first], value[every, first]


def _joined(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.concatenate([one[0], other[0]], axis=1), np.concatenate([one[1], other[1]], axis=1)


def _from(engine: Engine, p: Problem, theta: Floats, weight: Floats, ladder: tuple[Loss, ...]) -> tuple[Floats, Floats]:
    """Return the minima (r, s, q) and objectives (r, s) of the starts ``theta``: s starts for each of r resamples."""
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
    """Return the minima (b, q) and objectives (b,) of the starts ``theta`` (b, q). ``owner`` (b,) are their resamples.

    The losses in ``ladder`` are minimised first, one after the other.
    """
    for loss in ladder:
        theta, _ = engine.refine(p, theta, weight, owner, loss)
    theta, value = engine.refine(p, theta, weight, owner, p.objective.loss, known)
    return theta, np.where(np.isfinite(value), value, np.inf)


def _spread(p: Problem, theta: Floats) -> float:
    """Return the median absolute residual of the runs with the parameters ``theta`` (q,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.abs(p.residual(predict(p, theta[None]), p.y[:1]))
    return float(np.median(size[np.isfinite(size)])) if np.isfinite(size).any() else 0.0


def predict(p: Problem, theta: Floats) -> Floats:
    """Return the predictions (b, n) for the internal parameters ``theta`` (b, q)."""
    out = theta[:, p.plain] @ p.shapes
    for i, j in enumerate(p.powers):
        out += theta[:, j, None] * np.exp(-theta[:, p.k + i, None] * p.z[i])
    return out
