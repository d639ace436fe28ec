"""Compute-optimal frontier of a law without a closed form: a vectorised numerical search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule, increasing_root
from isoplan.engine.laws.law import Point
from isoplan.engine.laws.terms import Values

Loss = Callable[[Values, Floats, Floats], Floats]
"""Function (values of the parameters, N, D) -> loss; arrays broadcast."""
GRID = 64
GOLDEN = (np.sqrt(5.0) - 1) / 2
NARROWED = 45
"""Number of golden-section steps. All steps together shorten the bracket by a factor of 4e-10."""
CROSSINGS = 400
"""Number of grid points between ``LEAST`` and ``MOST``, in ln X, to find where a curve first reaches a value."""
Curve = Callable[[Floats], Floats]
"""Function of one variable that is evaluated for each element of an array."""
LEAST, MOST = 1.0, 1e40
"""Range in which N, D or C is searched for a given loss."""


def frontier(loss: Loss, v: Values, C: Floats, rule: ComputeRule) -> Point:
    """Return the point with the lowest loss at ``C`` FLOPs over all N, with D computed by ``rule``.

    The search evaluates a grid in ln N from N = 1 to N = C, then uses golden-section steps. The result is NaN if the
    loss is lowest at an end of the grid: then there is no optimum.
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
    """Return the x between ``low`` and ``high`` at which ``f`` is minimal; ``f`` decreases and then increases.

    ``low`` and ``high`` have the same shape. Golden-section search (Kiefer 1953): each step shortens the bracket by a
    factor of 0.618 and evaluates ``f`` once.
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
    """Return the point with the lowest C that reaches the loss ``target``; infinite if no C up to 1e40 FLOPs does."""

    def better(x: Floats, target: Floats, *some: Floats) -> Floats:
        return target - frontier(loss, dict(zip(v, some, strict=True)), np.exp(x), rule).loss

    C = np.exp(increasing_root(better, np.log(LEAST), np.log(MOST), target, *v.values()))
    at, never = frontier(loss, v, C, rule), np.isnan(C)
    N, D, C = (np.where(never, np.inf, x) for x in (at.N, at.D, C))
    return Point(N, D, C, np.zeros_like(C) + target)


def inverse(curve: Callable[[Values, Floats], Floats], v: Values, target: Floats) -> Floats:
    """Return the smallest X at which ``curve(v, X)`` decreases to ``target``; infinite if there is none up to 1e40.

    A grid in ln X brackets the first crossing, which is therefore found even if the curve increases again at larger X.
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
    """Return the fields ``frontier`` and ``least_compute`` of a law over ``axis`` whose loss is ``curve(v, X)``.

    ``frontier`` is None if ``axis`` is not C.
    """

    def along(v: Values, C: Floats, rule: ComputeRule) -> Point:
        loss = np.asarray(curve(v, np.asarray(C, float)))
        return Point(np.full_like(loss, np.nan), np.full_like(loss, np.nan), np.zeros_like(loss) + C, loss)

    def cheapest(v: Values, loss: Floats, rule: ComputeRule) -> Point:
        x = inverse(curve, v, np.asarray(loss, float))
        at = {name: x if name == axis else np.full_like(x, np.nan) for name in ("N", "D", "C")}
        return Point(at["N"], at["D"], at["C"], np.zeros_like(x) + loss)

    return {"frontier": along if axis == "C" else None, "least_compute": cheapest}
