"""Usual ways to choose the next cells, and the compute that they need for a given design standard deviation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.next_cells.linear import Linear
from benchmarks.next_cells.truths import LAW, MOST, RULE, Truth
from isoplan.engine.arrays import Floats
from isoplan.engine.planning.optimum.frontier import frontier

SPENDS = 0.05 * 1.1 ** np.arange(-12, 41)
"""Spends as fractions of the target budget, from 1.6 % to 226 %."""
DRAWS = 20
"""Number of sets of random cells per spend. Their median counts."""


def random_cells(
    linear: Linear, known: Sequence[int], cost: Floats, budget: float, sd: float, most: int, seed: int
) -> float:
    """Return the FLOPs with which ``most`` random affordable cells reach the standard deviation ``sd``, or infinity.

    The cells are added in random order. A cell that would exceed the spend is left out.
    """
    random = np.random.default_rng(seed)
    left = np.setdiff1d(np.arange(len(cost)), known)
    orders = [random.permutation(left).tolist() for _ in range(DRAWS)]
    for spend in SPENDS * budget:
        sets = [_affordable(order, cost, spend, most) for order in orders]
        if np.median([linear.sd([*known, *cells]) for cells in sets]) <= sd:
            return float(np.median([cost[cells].sum() for cells in sets]))
    return np.inf


def _affordable(order: Sequence[int], cost: Floats, spend: float, most: int) -> list[int]:
    """Return the first ``most`` cells of ``order`` that together cost at most ``spend``."""
    cells, total = list[int](), 0.0
    for cell in order:
        if len(cells) < most and total + cost[cell] <= spend:
            cells.append(int(cell))
            total += float(cost[cell])
    return cells


def cheapest_cells(linear: Linear, known: Sequence[int], cost: Floats, sd: float) -> float:
    """Return the FLOPs with which the cheapest cells, in any number, reach the standard deviation ``sd``."""
    left = np.setdiff1d(np.argsort(cost, kind="stable"), known)
    left = left[np.argsort(cost[left], kind="stable")]
    for i in range(1, len(left) + 1):
        if linear.sd([*known, *left[:i]]) <= sd:
            return float(cost[left[:i]].sum())
    return np.inf


def iso_flop_cells(truth: Truth, known_N: Floats, known_D: Floats, sd: float) -> float:
    """Return the FLOPs with which three iso-FLOP curves of three cells reach the standard deviation ``sd``.

    Each curve has cells at N*/2, N* and 2 N* of the true law, which favours this baseline. The budgets of the curves
    are a factor of the square root of 10 apart. Infinity is returned if a cell would cost more than a candidate can
    cost (``MOST``).
    """
    for spend in SPENDS * truth.budget:
        largest = spend / 3 / (1 + 0.1**0.5 + 0.1)
        if largest > MOST * truth.budget:
            break
        budgets = np.repeat(largest * 10 ** np.array([0, -0.5, -1]), 3)
        best = frontier(LAW, LAW.values(np.array(truth.theta)), budgets, RULE)
        N = best.N * np.tile([0.5, 1, 2], 3)
        linear = Linear(truth, np.r_[known_N, N], np.r_[known_D, np.asarray(RULE.samples(budgets, N), float)])
        if linear.sd(range(len(known_N) + 9)) <= sd:
            return float(spend)
    return np.inf
