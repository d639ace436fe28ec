"""Decrease of the expected widths because the cells of later rounds are chosen after the results of the first round.

The first plan is good on average over the truths. After the first round the truth is known better, and the later rounds
can be chosen for it. The decrease is computed with the linear models of ``covariance``, as if the truth were known
exactly after the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.design.choice import EXPONENTS, TIE
from isoplan.engine.design.linear_models import LinearModels


def adapted(models: LinearModels, cost: Floats, first: Sequence[int], cells: Sequence[int]) -> Floats:
    """Return the factors (k,) by which adapted later rounds decrease the widths of the estimands after ``cells``.

    ``first`` are the cells of the first round, a part of ``cells``, and ``cost`` (m,) is the cost of each candidate.
    The adapted cells replace the ``cells`` of the later rounds: they are at most as many and cost at most as much. A
    deviation from the law does not affect the factors, because it does not affect the width of an interval.
    """
    right = models.deviating(0)
    planned = right.after(cells).variance
    begun, free = right.after(first), np.ones(len(cost), bool)
    free[list(first)] = False
    spend, least = float(np.sum(cost[list(cells)]) - np.sum(cost[list(first)])), planned
    for exponent in EXPONENTS:
        variance = _greedy(begun, free, cost, spend, len(cells) - len(first), exponent)
        better = (np.log(variance) - np.log(least)) @ models.weight < 0
        least = np.where(better[:, None], variance, least)
    return np.asarray(np.exp(np.mean(np.log(least / planned), axis=0) / 2))


def _greedy(begun: LinearModels, free: Bools, cost: Floats, spend: float, most: int, exponent: float) -> Floats:
    """Return the variances (t, k) of the estimands after the cells that a greedy search adds for each of the t truths.

    Its score is the gain / cost^exponent of a cell. It adds at most ``most`` of the ``free`` candidates (m,), which
    together cost at most ``spend``.
    """
    rows = np.arange(len(begun.cells))
    left, free = np.full(len(rows), spend), np.tile(free, (len(rows), 1))
    for _ in range(most):
        allowed = free & (cost <= left[:, None] * (1 + TIE))
        cell = np.argmax(np.where(allowed, begun.gains_by_truth() / cost**exponent, -1.0), axis=1)
        added = allowed[rows, cell]
        slope = begun.cells[rows, cell]
        reach = (begun.spread @ slope[:, :, None])[:, :, 0]
        size = added / (np.sum(reach * slope, axis=1) + begun.noise)
        begun = replace(begun, spread=begun.spread - size[:, None, None] * reach[:, :, None] * reach[:, None, :])
        left = left - added * cost[cell]
        free[rows, cell] &= ~added
    return begun.variance
