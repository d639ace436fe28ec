"""The compute-optimal frontier of a loss without a closed form, by search on whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule, increasing_root
from isoplan.engine.laws.law import Point
from isoplan.engine.laws.terms import Values

Loss = Callable[[Values, Floats, Floats], Floats]
"""Function that returns the loss for parameter values at (N, D); arrays broadcast."""
GRID = 64
GOLDEN = (np.sqrt(5.0) - 1) / 2
NARROWED = 45
"""Number of golden sections; they shrink the bracket by a factor of 4e-10."""
CROSSINGS = 400
"""Points between ``LEAST`` and ``MOST`` where a first crossing is searched, a quarter of a power of e apart."""
Curve = Callable[[Floats], Floats]
"""Function of one variable, elementwise."""
LEAST, MOST = 1.0, 1e40
"""Range of N, D or C that is searched for a loss."""


def frontier(loss: Loss, v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Find the least loss at ``C`` FLOPs over all N, with D by ``rule``: a grid in ln N, then golden sections.

    NaN if the loss decreases up to an end of the grid (one parameter, one FLOP per parameter): there is no optimum.
    """
    C = np.asarray(C, float)
    C = np.broadcast_to(C, np.broadcast_shapes(C.shape, *(np.shape(x) for x in v.values())))

    def at(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            N = np.exp(x)
            found = loss(v, N, rule.samples(C, N))
        return np.where(np.isfinite(found), found, np.inf)

    step = np.log(np.maximum(C, 2.0)) / (GRID - 1)
    values = at(np.arange(GRID).reshape(-1, *(1,) * C.ndim) * step)
    best = np.argmin(values, axis=0)
    inside = (best > 0) & (best < GRID - 1) & np.isfinite(np.min(values, axis=0))
    x = np.where(inside, least(at, (best - 1) * step, (best + 1) * step), np.nan)
    N = np.exp(x)
    return Point(N, rule.samples(C, N), C + 0.0, np.where(inside, at(x), np.nan))


def least(f: Curve, low: Floats, high: Floats, sections: int = NARROWED) -> Floats:
    """Find where ``f``, which decreases and then increases, is least between ``low`` and ``high`` (one shape).

    Golden sections (Kiefer 1953): each shrinks the bracket by 0.618 and evaluates ``f`` once.
    """
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(sections):
        down = at_left < at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        x = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_x = f(x)
        left, right = np.where(down, x, right), np.where(down, left, x)
        at_left, at_right = np.where(down, at_x, at_right), np.where(down, at_left, at_x)
    return (low + high) / 2


def least_compute(loss: Loss, v: Values, target: Floats, rule: ComputeRule) -> Point:
    """Find the least C whose best loss is ``target``; inf if no C up to 1e40 FLOPs reaches it."""

    def better(x: Floats, target: Floats, *some: Floats) -> Floats:
        return target - frontier(loss, dict(zip(v, some, strict=True)), np.exp(x), rule).loss

    C = np.exp(increasing_root(better, np.log(LEAST), np.log(MOST), target, *v.values()))
    at, never = frontier(loss, v, C, rule), np.isnan(C)
    N, D, C = (np.where(never, np.inf, x) for x in (at.N, at.D, C))
    return Point(N, D, C, np.zeros_like(C) + target)


def inverse(curve: Callable[[Values, Floats], Floats], v: Values, target: Floats) -> Floats:
    """Find the first X at which a decreasing ``curve(v, X)`` reaches ``target``; inf if no X up to 1e40 does.

    The first crossing is searched on a grid in ln X, so that it is found even if the curve increases again beyond it.
    """

    def better(x: Floats, target: Floats, *some: Floats) -> Floats:
        return target - curve(dict(zip(v, some, strict=True)), np.exp(x))

    target, *given = np.broadcast_arrays(np.asarray(target, float), *v.values())
    steps = np.linspace(np.log(LEAST), np.log(MOST), CROSSINGS)
    with np.errstate(all="ignore"):
        reached = better(steps.reshape(-1, *(1,) * target.ndim), target, *given) >= 0
    first = np.argmax(reached, axis=0)
    x = np.exp(increasing_root(better, steps[np.maximum(first - 1, 0)], steps[first], target, *given))
    return np.where(np.isnan(x) | ~reached.any(axis=0), np.inf, x)


def one_axis(axis: str, curve: Callable[[Values, Floats], Floats]) -> dict[str, Any]:
    """Return ``frontier`` (on C only) and ``least_compute`` of a law on one axis whose loss is ``curve(v, X)``."""

    def along(v: Values, C: Floats, rule: ComputeRule) -> Point:
        loss = np.asarray(curve(v, np.asarray(C, float)))
        return Point(np.full_like(loss, np.nan), np.full_like(loss, np.nan), np.zeros_like(loss) + C, loss)

    def cheapest(v: Values, loss: Floats, rule: ComputeRule) -> Point:
        x = inverse(curve, v, np.asarray(loss, float))
        at = {name: x if name == axis else np.full_like(x, np.nan) for name in ("N", "D", "C")}
        return Point(at["N"], at["D"], at["C"], np.zeros_like(x) + loss)

    return {"frontier": along if axis == "C" else None, "least_compute": cheapest}
