"""Optimum of a law within limits, by a search over the model size N.

The search works for any loss surface and any compute rule, and for all resamples at once. For each N the best number D
of samples is computed directly. For a budget, D is the largest number that compute, money and the limits allow. For a
target, D is the smallest number that reaches the loss. The minimised function of N is the loss (for a budget) or the
cost (for a target). This function falls and then rises, so golden-section search finds its minimum. If no D is possible
at some N, the function has a value above ``FAR`` there. This value increases with the distance from the possible N, so
the search returns to possible N.

A second search is needed if each sample has a price and the law describes the value of repeated samples. A plan may
then cost less if it has fewer unique samples than allowed and repeats them more often. For each N, the second search
finds the best number U of unique samples. It covers all U from e^-25 times the largest allowed U up to the largest
allowed U. Fewer unique samples cost less to simulate but more to train on, so the objective falls and then rises along
ln U.
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
"""Half-width of the search for the best N, in ln N. The centre of the search is the N for which training N parameters
on D = N samples costs C.
"""
SECTIONS = 58
"""Number of golden-section steps. This number of steps reduces a bracket of width 80 to below 1e-10."""
NEAR = 1e-7
"""Distance in ln N below which a point counts as lying at an end of the search."""
ROUNDING = 1e-9
"""Relative difference below which C or D counts as equal to its limit."""
FAR = 1e250
"""Least value of the minimised function at points beyond the limits. The search moves away from such large values."""


@dataclass(frozen=True, eq=False)
class FeasibleRegion:
    """Region that limits allow: the largest allowed N, D, C (in FLOPs), money, and number U of unique samples.

    A field is infinite if there is no limit on it. All arrays have the same shape, which broadcasts with the parameter
    values of a law: () for one scenario, (k, 1) for k scenarios.
    """

    N: Floats
    D: Floats
    C: Floats
    money: Floats
    U: Floats


def with_unique(left: FeasibleRegion, U: Floats) -> FeasibleRegion:
    """Return the region ``left`` with its number of unique samples reduced to ``U``.

    The largest number of passes over the unique samples does not change, so the largest D changes in proportion to U.
    """
    with np.errstate(invalid="ignore"):
        passes = left.D / left.U
    return replace(left, U=U, D=np.where(np.isnan(passes), left.D, passes * U))


def money(N: Floats, D: Floats, C: Floats, U: Floats | float, rates: Rates) -> Floats:
    """Return the total money for N parameters, D training samples and C FLOPs of training.

    ``U`` is the number of unique samples. Only min(D, U) samples are simulated and paid for; the others are repeats.
    """
    return rates.flop * C + rates.sample * np.minimum(D, U) + rates.parameter * N + rates.fixed


def spending(rule: ComputeRule, C: Floats, N: Floats) -> Floats:
    """Return the D for which training N parameters costs exactly ``C`` FLOPs by ``rule``.

    D is 0 if even ``FEWEST_SAMPLES`` samples cost more than C, and ``MOST_SAMPLES`` if no D costs as much as C.
    """
    D = rule.samples(C, N)
    too_large = rule.flops_anywhere(N, np.full(np.shape(N), FEWEST_SAMPLES)) > C
    return np.where(np.isnan(D), np.where(too_large, 0.0, MOST_SAMPLES), D)


def allowed(
    x: Floats, low: Floats, high: Floats, most: Floats, price: Callable[[Floats], Floats]
) -> tuple[Floats, Bools]:
    """Return the point nearest to ``x`` at which ``price`` is at most ``most``, and whether such a point exists.

    The result is ``x`` itself if its price is at most ``most``. The search covers ``low`` to ``high``. In this range
    ``price`` falls and then rises.
    """
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
    """Return the point of lowest loss within ``room``; the limit on compute, ``room.C``, must be finite.

    ``v`` and ``room`` broadcast. ``rates`` are the prices for the limit ``room.money``; None means that money is not
    limited. The point is NaN if no model is affordable. It is also NaN if the loss still falls at an end of the search
    in N; this happens if a term of the law has vanished (its amplitude is 0).
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
    """Return the point within ``room`` that reaches ``loss`` at the least cost; infinite if no point reaches it.

    ``v`` and ``room`` broadcast. ``aim`` defines the cost. ``rates`` are the prices for the limit ``room.money``; None
    means that money is not limited. Among models of equal loss, each cost is convex in ln N. If the cheapest model
    exceeds the limit on compute or money, the best model is therefore the nearest one that uses exactly this limit.
    The point is NaN if the cost still falls at the upper end of the search.
    """
    v = {**v, "U": room.U} if law.repeats else v
    goal, top, *_ = np.broadcast_arrays(np.asarray(loss, float), np.log(room.N), *v.values())
    first = np.log(size_for(law, v, room.D, goal))
    possible = np.isfinite(first) & (first <= top + 1e-12)
    low = np.where(possible, first, 0.0)
    high = np.maximum(np.minimum(top, low + 2 * WIDTH), low)

    def cost(x: Floats, by: Rates, unique: Floats | float = np.inf) -> Floats:
        """Return the cost of the model with ln N = ``x`` at the rates ``by``; at most ``unique`` samples cost money."""
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
    """Return the largest D for ``N`` parameters that the limits of ``room`` on C, money and D allow.

    D is zero or negative if no sample is affordable.
    """
    D = np.minimum(spending(rule, room.C, N), room.D)
    if rates is None:
        return D
    left = room.money - rates.parameter * N - rates.fixed
    return np.where(left > 0, np.minimum(D, _paid(N, np.maximum(left, 1e-300), room.U, rule, rates)), 0.0)


def _paid(N: Floats, left: Floats, U: Floats, rule: ComputeRule, rates: Rates) -> Floats:
    """Return the D for which simulation and training of N parameters cost exactly the money ``left``.

    The first ``U`` samples are unique and must be simulated. Further samples are repeats and cost only training.
    """
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
    """Return a point with the numbers ``sizes`` (N, D, C, loss, U), and with NaN where ``there`` is false."""
    return Point(*(np.where(there, x, np.nan) for x in sizes))


DEEP = 25.0
"""Width in ln U of the search for U, the number of unique samples. The search ends at the largest allowed U."""
SHARES, SIZES = 34, 42
"""Numbers of golden-section steps in ln U and in ln N. These steps reduce the brackets to widths of 2e-6 and 1e-7. Over
such a width around its minimum, a cost changes by at most 1e-11 (relative).
"""


@dataclass(frozen=True, eq=False)
class Mix:
    """Best number U of unique samples for N parameters, with the D and the objective (loss or cost) at this U."""

    U: Floats
    D: Floats
    value: Floats


def cheapest_mix(law: Law, v: Values, loss: Floats, room: FeasibleRegion, rule: ComputeRule, rates: Rates) -> Point:
    """Return the point within ``room`` that reaches ``loss`` for the least money; infinite if no point reaches it.

    The search also chooses the number of unique samples, up to ``room.U``. ``v`` and ``room`` broadcast. ``rates`` are
    the prices. The point is NaN if the cost still falls at the upper end of the search in N.
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
        """Return the compute of the model with ln N = x and the largest allowed number of unique samples.

        With fewer unique samples the model needs more compute to reach the loss.
        """
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
    """Return the point of lowest loss within ``room``; NaN if no model is affordable.

    The search also chooses the number of unique samples, up to ``room.U``. ``v`` and ``room`` broadcast. ``rates`` are
    the prices for the limit ``room.money``.
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
    """Return the largest number of passes over the unique samples that ``room`` allows; infinite without a limit."""
    with np.errstate(invalid="ignore"):
        found = room.D / room.U
    return np.where(np.isnan(found), np.inf, found)


def _best(curve: Callable[[Floats], tuple[Floats, Floats]], most: Floats) -> Mix:
    """Return the U with the lowest objective, by a search over ln U up to and including ``most``.

    ``curve`` returns the objective and D for an array of ln U.
    """
    u = least(lambda u: curve(u)[0], most - DEEP, most, SHARES)
    (value, D), (at_most, all_new) = curve(u), curve(most)
    full = at_most <= value
    return Mix(np.exp(np.where(full, most, u)), np.where(full, all_new, D), np.where(full, at_most, value))
