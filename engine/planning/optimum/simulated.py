"""Number of samples to simulate if each has a price and the law describes the value of repeated ones.

A limit on unique samples is then the largest number that may be simulated. Fewer samples, repeated more often, may cost
less. For each N the best number U is searched, down to e^-25 of what a single pass would take. Fewer samples cost less
to simulate and more to train on, so the objective falls along ln U and then rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import FEWEST_SAMPLES, ComputeRule
from isoplan.engine.laws import Law, Point
from isoplan.engine.laws.law import Values
from isoplan.engine.laws.numeric import least
from isoplan.engine.planning.optimum.search import FAR, NEAR, ROUNDING, WIDTH, allowed, money, spending
from isoplan.engine.planning.optimum.surface import loss_at, reducible, samples_for, size_for
from isoplan.engine.planning.scenario.limits import FeasibleRegion
from isoplan.engine.planning.scenario.prices import Rates

DEEP = 25.0
"""Depth of the search for U in ln U, below its largest value."""
SHARES, SIZES = 34, 42
"""Numbers of golden sections in ln U and ln N. They reduce brackets to 2e-6 and 1e-7, over which a minimum cost is flat
to 1e-11.
"""


@dataclass(frozen=True, eq=False)
class Mix:
    """Best number of unique samples U for N parameters, the D to train on, and the value of the objective."""

    U: Floats
    D: Floats
    value: Floats


def cheapest_mix(law: Law, v: Values, loss: Floats, room: FeasibleRegion, rule: ComputeRule, rates: Rates) -> Point:
    """Return the point that reaches ``loss`` within ``room`` for the least money; U is free up to that of ``room``.

    It is inf if there is none. The shapes of ``v`` and ``room`` broadcast.
    """
    goal, top, *_ = np.broadcast_arrays(np.asarray(loss, float), np.log(room.N), *v.values())
    first = np.log(size_for(law, {**v, "U": room.U}, room.D, goal))
    possible = np.isfinite(first) & (first <= top + NEAR)
    low = np.where(possible, first, 0.0)
    high = np.maximum(np.minimum(top, low + 2 * WIDTH), low)
    epochs = _epochs(room)

    def at(N: Floats) -> Mix:
        once = samples_for(law, {**v, "U": room.U}, N, goal)
        most = np.log(np.minimum(np.where(np.isfinite(once), once, np.inf), np.minimum(room.U, 1e300)))

        def cost(u: Floats) -> tuple[Floats, Floats]:
            U = np.exp(u)
            D = samples_for(law, {**v, "U": U}, N, goal)
            with np.errstate(all="ignore"):
                C = rule.flops_anywhere(N, D)
                paid = money(N, D, C, U, rates)
                kept = np.isfinite(paid) & (D <= U * epochs * (1 + ROUNDING)) & (C <= room.C * (1 + ROUNDING))
            return np.where(kept, paid, FAR * (1 + most - u)), D

        return _best(cost, most)

    def compute(x: Floats) -> Floats:
        """Return the least compute of the model, which it needs if all samples it can use are new."""
        N = np.exp(x)
        D = samples_for(law, {**v, "U": room.U}, N, goal)
        with np.errstate(all="ignore"):
            C = rule.flops_anywhere(N, D)
        return np.where(np.isfinite(C), C, FAR * (1 + high - x))

    low, some = allowed(low, low, high, room.C, compute)
    high, _ = allowed(high, low, high, room.C, compute)
    x = least(lambda x: at(np.exp(x)).value, low, high, SIZES)
    N = np.where(top - x < NEAR, room.N, np.exp(x))
    found = at(N)
    possible &= some & (found.value < FAR) & (found.value <= room.money * (1 + ROUNDING))
    lost = possible & (high - x < NEAR) & (high < top) & np.isinf(room.C)
    D = np.maximum(found.D, found.U)
    N, D, C = (np.where(possible, x, np.inf) for x in (N, D, rule.flops_anywhere(N, D)))
    return Point(*(np.where(lost, np.nan, x) for x in (N, D, C, goal, found.U)))


def best_mix(law: Law, v: Values, room: FeasibleRegion, rule: ComputeRule, rates: Rates) -> Point:
    """Minimise the loss within ``room``, with U free up to that of ``room``; NaN if no model is affordable.

    The shapes of ``v`` and ``room`` broadcast.
    """
    C, top, *_ = np.broadcast_arrays(room.C, np.log(room.N), *v.values())
    centre = 0.5 * np.log(np.maximum(C, 1e-300) / rule.flops_anywhere(1.0, 1.0))
    low, high = centre - WIDTH, np.minimum(top, centre + WIDTH)
    low = np.minimum(low, high - 1.0)
    above, epochs = reducible(law, v), _epochs(room)

    def at(N: Floats) -> Mix:
        left = room.money - rates.parameter * N - rates.fixed
        D_most = np.broadcast_to(spending(rule, room.C, N), np.shape(N))
        most = np.log(np.maximum(np.minimum(np.minimum(room.U, left / rates.sample), D_most), FEWEST_SAMPLES))

        def loss(u: Floats) -> tuple[Floats, Floats]:
            U = np.exp(u)
            paid = left - rates.sample * U
            D = np.minimum(np.minimum(D_most, U * epochs), spending(rule, np.maximum(paid, 1e-300) / rates.flop, N))
            able = (paid > 0) & (D > 0)
            found = loss_at(law, {**above, "U": U}, N, np.maximum(D, FEWEST_SAMPLES))
            return np.where(able & np.isfinite(found), found, FAR * (1 + u - most + DEEP)), D

        return _best(loss, most)

    def value(x: Floats) -> Floats:
        found = at(np.exp(x)).value
        return np.where(found < FAR, found, FAR * (1 + x - low))

    x = least(value, low, high, SIZES)
    N = np.where(top - x < NEAR, room.N, np.exp(x))
    found = at(N)
    lost = (x - low < NEAR) | ((high - x < NEAR) & (high < top)) | ~(found.value < FAR)
    loss = loss_at(law, {**v, "U": found.U}, N, np.maximum(found.D, FEWEST_SAMPLES))
    sizes = (N, found.D, rule.flops_anywhere(N, found.D), loss, found.U)
    return Point(*(np.where(lost, np.nan, x) for x in sizes))


def _epochs(room: FeasibleRegion) -> Floats:
    """Return the largest number of passes over unique samples in ``room``; infinite if it is not limited."""
    with np.errstate(invalid="ignore"):
        found = room.D / room.U
    return np.where(np.isnan(found), np.inf, found)


def _best(curve: Callable[[Floats], tuple[Floats, Floats]], most: Floats) -> Mix:
    """Minimise ``curve`` (value, D) over ln U up to ``most``, which may be the minimum itself."""
    u = least(lambda u: curve(u)[0], most - DEEP, most, SHARES)
    (value, D), (at_most, all_new) = curve(u), curve(most)
    full = at_most <= value
    return Mix(np.exp(np.where(full, most, u)), np.where(full, all_new, D), np.where(full, at_most, value))
