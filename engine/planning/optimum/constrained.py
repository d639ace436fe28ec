"""Optimum of a law within limits, by search over N: any surface, any compute rule, all resamples at once.

For each N the best D is known: the most samples that budget, money and limits allow, or the fewest that reach the
target. Along N, the loss of the former and the cost of the latter fall and then rise. Golden-section search finds their
minimum.
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule, increasing_root
from isoplan.engine.laws import Law, Point
from isoplan.engine.laws.law import Values
from isoplan.engine.laws.numeric import least
from isoplan.engine.planning.optimum.search import FAR, NEAR, ROUNDING, SECTIONS, WIDTH, allowed, money, spending
from isoplan.engine.planning.optimum.surface import loss_at, reducible, samples_for, size_for
from isoplan.engine.planning.scenario.limits import FeasibleRegion
from isoplan.engine.planning.scenario.prices import COMPUTE, Rates


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
