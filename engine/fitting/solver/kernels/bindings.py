"""Functions that call the compiled kernels.

They have the signatures of ``philox.draw``, ``exponent_grid.starts`` and ``newton.refine``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import boolean, float64, int64, uint64, void
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.descent import STEPS, TOLERANCE, Known, easing, perfect
from isoplan.engine.fitting.solver.exponent_grid import Grid
from isoplan.engine.fitting.solver.kernels import draws, exponent_grid, newton, storage
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import Problem

_D, _F, _FF, _I, _II, _III = float64, float64[::1], float64[:, ::1], int64[::1], int64[:, ::1], int64[:, :, ::1]
_DRAW = void(uint64, int64, _I, _I, _I, _FF)
_STARTS = void(
    _FF, _FF, _F, _I, _II, _FF, _FF, _I, _I, _III, _FF, _F, _F, _FF, boolean, float64, float64, _FF.copy(ndim=3)
)
_REFINE = void(
    *(_FF, _FF, _FF, _I, _I, _F, _F, _FF, _I, _FF, _F),  # the problem, the starts and their objectives
    *(_FF, _F, _II, _FF, _FF, boolean, _D, _D, _D, _D, _D, _D, int64, _D),  # known optima, priors, loss, descent
)


@cache
def compile_kernels(where: Path | None) -> None:
    """Compile the kernels, or load them from the cache folder ``where``.

    Each kernel has one signature; a later call with other types raises TypeError.
    """
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        for dispatcher, signature in ((draws.draw, _DRAW), (exponent_grid.starts, _STARTS), (newton.refine, _REFINE)):
            if where:
                config.CACHE_DIR = str(where)
                dispatcher.enable_caching()
            dispatcher.compile(signature)
            dispatcher.disable_compile()
    finally:
        config.CACHE_DIR = before
    if where:
        storage.complete(where)


def draw(seed: int, start: int, stop: int, size: Ints, first: Ints, order: Ints) -> Floats:
    """Return the result of ``philox.draw``, computed by the compiled kernel."""
    out = np.zeros((stop - start, len(order)))
    draws.draw(np.uint64(seed), start, *_plain(size, first, order), out)
    return out


def starts(g: Grid, weight: Floats, best: int) -> Floats:
    """Return the result of ``exponent_grid.starts``, computed by the compiled kernel."""
    p = g.problem
    first, second, place = g.pairs
    term = np.repeat(np.arange(len(g.basis_exponent)), [len(e) for e in g.basis_exponent])
    exponent = np.concatenate([np.empty(0), *g.basis_exponent])
    loss = p.objective.loss
    out = np.empty((len(weight), min(best, len(g.row)), len(p.low)))
    exponent_grid.starts(
        *_plain(p.shapes, p.z, exponent, term, g.row, g.place, g.exponents, first, second, place),
        *_plain(p.y, p.low, p.high, weight),
        p.objective.log,
        loss.delta,
        loss.skew,
        out,
    )
    return out


def refine(
    p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss, known: Known | None = None
) -> tuple[Floats, Floats]:
    """Return the result of ``newton.refine``, computed by the compiled kernel."""
    theta, value = np.array(theta, order="C"), np.empty(len(theta))
    there = known or Known(np.empty((0, len(p.low))), np.empty(0))
    powers, plain = np.array(p.powers, np.int64), np.array(p.plain, np.int64)
    newton.refine(
        *_plain(p.shapes, p.z, p.y, powers, plain, p.low, p.high, weight, owner),
        theta,
        value,
        *_plain(there.theta, there.value, *_priors(p)),
        p.objective.log,
        loss.delta,
        loss.scale,
        loss.skew,
        *easing(loss),
        perfect(loss, p.n),
        STEPS,
        TOLERANCE,
    )
    return theta, value


def _priors(p: Problem) -> tuple[Ints, Floats, Floats]:
    """Return the priors as arrays for ``kernels.penalty``: forms (k, 3), constants (k, 3) and means (1 or r, k)."""
    if p.penalty is None:
        return np.empty((0, 3), np.int64), np.empty((0, 3)), np.empty((1, 0))
    f = p.penalty.forms
    return np.stack([f.kind, f.first, f.second], 1), np.stack([f.a, f.b, p.penalty.weight], 1), p.penalty.mean


def _plain(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the arrays in C order and writable, as the compiled signature requires."""
    return [np.require(a, requirements=["C", "W"]) for a in arrays]
