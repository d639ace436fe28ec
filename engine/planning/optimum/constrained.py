"""Optimum of a law within limits, by search over N: any surface, any compute rule, all resamples at once.

For each N the best D is known: the most samples that budget, money and limits allow, or the fewest that reach the
target. Along N, the loss of the former and the cost of the latter fall and then rise. Golden-section search finds their
minimum. It needs a function that falls and then rises, so impossible points count as increasingly bad, from ``FAR`` on.

If each sample has a price and the law describes the value of repeated ones, a limit on unique samples is the largest
number that may be simulated. Fewer samples, repeated more often, may cost less. For each N the best number U is
searched, down to e^-25 of what a single pass would take. Fewer samples cost less to simulate and more to train on, so
the objective falls along ln U and then rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule, increasing_root
from isoplan.engine.laws import Law, Point
from isoplan.engine.laws.law import Values
from isoplan.engine.laws.numeric import least
from isoplan.engine.planning.optimum.surface import loss_at, reducible, samples_for, size_for
from isoplan.engine.planning.scenario.prices import COMPUTE, Rates

WIDTH = 40.0
"""Half-width in ln N of the search for the best N around sqrt(C)."""
SECTIONS = 58
"""Number of golden sections, which reduce a bracket of 80 to below 1e-10."""
NEAR = 1e-7
"""Distance in ln N from an end of the search below which a point counts as at the end."""
ROUNDING = 1e-9
"""Relative difference from a limit on C or D that counts as rounding."""
FAR = 1e250
"""Value of an impossible point, so that a search leaves it."""


@dataclass(frozen=True, eq=False)
class FeasibleRegion:
    """Region within limits: the largest N, D, C in FLOPs and money, and the unique samples U; inf if unlimited.

    Arrays of one shape that broadcasts with the values of a law: () for one scenario, (k, 1) for k.
    """

    N: Floats
    D: Floats
    C: Floats
    money: Floats
    U: Floats


def with_unique(left: FeasibleRegion, U: Floats) -> FeasibleRegion:
    """Return ``left`` with ``U`` unique samples, at most as many as before, and with the same number of passes."""
    with np.errstate(invalid="ignore"):
        passes = left.D / left.U
    return replace(left, U=U, D=np.where(np.isnan(passes), left.D, passes * U))


def money(N: Floats, D: Floats, C: Floats, U: Floats | float, rates: Rates) -> Floats:
    """Return the total cost of N parameters on D samples; D beyond the ``U`` unique samples is simulated only once."""
    return rates.flop * C + rates.sample * np.minimum(D, U) + rates.parameter * N + rates.fixed


def spending(rule: ComputeRule, C: Floats, N: Floats) -> Floats:
    """Return the D that spends C: 0 if N alone costs more, ``MOST_SAMPLES`` if no D costs as much."""
    D = rule.samples(C, N)
    too_large = rule.flops_anywhere(N, np.full(np.shape(N), FEWEST_SAMPLES)) > C
    return np.where(np.isnan(D), np.where(too_large, 0.0, MOST_SAMPLES), D)


def allowed(
    x: Floats, low: Floats, high: Floats, most: Floats, price: Callable[[Floats], Floats]
) -> tuple[Floats, Bools]:
    """Return ``x``, or the nearest affordable place if its price exceeds ``most``, and whether there is one."""
    dear = price(x) > most
    if not dear.any():
        return x, ~dear
    paid = least(price, low, high, SECTIONS)
    possible = price(paid) <= most
    beyond = x
    for _ in range(SECTIONS):
        middle = (paid + beyond) / 2
        cheap = price(middle) <= most
        paid, beyond = np.where(cheap, middle, paid), np.where(cheap, beyond, middle)
    return np.where(dear, paid, x), ~dear | possible


def best_loss(law: Law, v: Values, room: FeasibleRegion, rule: ComputeRule, rates: Rates | None = None) -> Point:
    """Minimise the loss within ``room``, whose C is finite; the shapes of ``v`` and ``room`` broadcast.

    ``rates`` are the prices that the money of ``room`` pays. NaN if the loss still falls at an end of the search in N
    (a vanished term), and if no model is affordable.
    """
    v = {**v, "U": room.U} if law.repeats else v
    C, top, *_ = np.broadcast_arrays(room.C, np.log(room.N), *v.values())
    centre = 0.5 * np.log(np.maximum(C, 1e-300) / rule.flops_anywhere(1.0, 1.0))
    low, high = centre - WIDTH, np.minimum(top, centre + WIDTH)
    low = np.minimum(low, high - 1.0)

    above = reducible(law, v)

    def at(x: Floats) -> Floats:
        N = np.exp(x)
        D = most_samples(N, room, rule, rates)
        return np.where(D > 0, loss_at(law, above, N, np.maximum(D, FEWEST_SAMPLES)), FAR * (1 + x - low))

    x = least(at, low, high, SECTIONS)
    N = np.where(top - x < NEAR, room.N, np.exp(x))
    D = most_samples(N, room, rule, rates)
    D = np.where(np.abs(D - room.D) <= ROUNDING * D, room.D, D)
    lost = (x - low < NEAR) | ((high - x < NEAR) & (high < top)) | ~(D > 0)
    loss = loss_at(law, v, N, np.where(D > 0, D, 1.0))
    spent = rule.flops_anywhere(N, D)
    return _known(~lost, N, D, np.where(np.abs(spent - C) <= ROUNDING * C, C, spent), loss, room.U)


def least_cost_within(
    law: Law,
    v: Values,
    loss: Floats,
    room: FeasibleRegion,
    rule: ComputeRule,
    aim: Rates = COMPUTE,
    rates: Rates | None = None,
) -> Point:
    """Return the point that reaches ``loss`` within ``room`` at the least cost by ``aim``; inf if there is none.

    Shapes as for ``best_loss``. Along the models of equal loss the costs are convex in ln N. So if the cheapest model
    exceeds the compute, or by ``rates`` the money, the best one is the nearest that uses exactly the limit.
    """
    v = {**v, "U": room.U} if law.repeats else v
    goal, top, *_ = np.broadcast_arrays(np.asarray(loss, float), np.log(room.N), *v.values())
    first = np.log(size_for(law, v, room.D, goal))
    possible = np.isfinite(first) & (first <= top + 1e-12)
    low = np.where(possible, first, 0.0)
    high = np.maximum(np.minimum(top, low + 2 * WIDTH), low)

    def cost(x: Floats, by: Rates, unique: Floats | float = np.inf) -> Floats:
        """Return the cost by rates, with at most ``unique`` samples paid."""
        N = np.exp(x)
        D = np.minimum(samples_for(law, v, N, goal), room.D)
        with np.errstate(all="ignore"):
            found = money(N, D, rule.flops_anywhere(N, D), unique, by)
        return np.where(np.isfinite(found), found, FAR * (1 + high - x))

    x = least(lambda x: cost(x, aim), low, high, SECTIONS)
    if aim.weighs:
        x, _ = allowed(x, low, high, room.C, lambda x: cost(x, COMPUTE))
    lost = possible & (high - x < NEAR) & (high < top)
    if rates is not None:
        x, paid = allowed(x, low, high, room.money, lambda x: cost(x, rates, room.U))
        possible &= paid
    N = np.where(top - x < NEAR, room.N, np.exp(np.where(x - low < NEAR, low, x)))
    D = samples_for(law, v, N, goal)
    D = np.where(D >= room.D * (1 - ROUNDING), room.D, D)
    C = rule.flops_anywhere(N, D)
    possible &= (C <= room.C * (1 + ROUNDING)) & ~lost
    N, D, C = (np.where(possible, x, np.inf) for x in (N, D, C))
    return _known(~lost, N, D, C, goal, room.U)


def most_samples(N: Floats, room: FeasibleRegion, rule: ComputeRule, rates: Rates | None = None) -> Floats:
    """Return the largest D that C, money and samples in ``room`` allow for ``N`` parameters; at most 0 if none."""
    D = np.minimum(spending(rule, room.C, N), room.D)
    if rates is None:
        return D
    left = room.money - rates.parameter * N - rates.fixed
    return np.where(left > 0, np.minimum(D, _paid(N, np.maximum(left, 1e-300), room.U, rule, rates)), 0.0)


def _paid(N: Floats, left: Floats, U: Floats, rule: ComputeRule, rates: Rates) -> Floats:
    """Return the D whose training and simulation cost ``left``: first new samples, then repeated ones."""
    if not rates.sample:
        return spending(rule, left / rates.flop, N)
    if rule.rule in ("powers", "formula"):

        def excess(x: Floats, left: Floats, N: Floats) -> Floats:
            return rates.flop * rule.flops_anywhere(N, np.exp(x)) + rates.sample * np.exp(x) - left

        fresh = np.exp(increasing_root(excess, np.log(FEWEST_SAMPLES), np.log(MOST_SAMPLES), left, N))
    else:
        fresh = left / (rates.flop * rule.flops_anywhere(N, 1.0) + rates.sample)
    over = np.maximum(left - rates.sample * np.where(np.isinf(U), 0.0, U), 1e-300)
    return np.where(fresh <= U, fresh, spending(rule, over / rates.flop, N))


def _known(there: Bools, *sizes: Floats) -> Point:
    """Return the point of N, D, C, loss and U, NaN if it is not ``there``."""
    return Point(*(np.where(there, x, np.nan) for x in sizes))


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
