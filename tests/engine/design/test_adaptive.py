"""If later rounds are adapted, the widths decrease nearly as much as with the best cells for each truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.adaptive import adapted
from isoplan.engine.design.linear_models import LinearModels

NOISE = 0.3


def models(truths: int, m: int, seed: int) -> LinearModels:
    """Return linear models of ``m`` cells for the given number of truths. Each truth has its own slopes."""
    random = np.random.default_rng(seed)
    slopes, slope = random.standard_normal((truths, m, 3)), random.standard_normal((truths, 1, 3))
    return LinearModels(slopes, slope, np.tile(np.eye(3), (truths, 1, 1)), NOISE**2, np.ones(1))


def best(before: LinearModels, cost: Floats, first: tuple[int, ...], cells: tuple[int, ...]) -> float:
    """Return the factor by which the width decreases if ``cells`` are replaced by the best set of each truth.

    All allowed sets are compared. They contain ``first``, have at most as many cells as ``cells``, and cost at most as
    much.
    """
    others = [cell for cell in range(len(cost)) if cell not in first]
    every = [set_ for k in range(len(cells) - len(first) + 1) for set_ in itertools.combinations(others, k)]
    spend = cost[list(cells)].sum() + 1e-9
    variances = [before.after((*first, *x)).variance for x in every if cost[[*first, *x]].sum() <= spend]
    return float(np.exp(np.mean(np.log(np.min(variances, axis=0) / before.after(cells).variance)) / 2))


def test_the_factor_is_nearly_that_of_the_best_cells_of_each_truth() -> None:
    excess = []
    for seed in range(15):
        before, cost = models(4, 8, seed), np.random.default_rng(seed).uniform(0.5, 2, 8)
        first, cells = (0, 1), (0, 1, 2, 3, 4)
        found = adapted(before, cost, first, cells)
        assert found.shape == (1,)
        assert found[0] <= 1
        excess.append(found[0] / best(before, cost, first, cells))
    assert min(excess) >= 1 - 1e-9
    assert np.median(excess) <= 1.03
    assert max(excess) <= 1.25


def test_a_single_round_cannot_adapt() -> None:
    before = models(4, 6, 1)
    assert adapted(before, np.ones(6), (2, 3, 5), (2, 3, 5)) == pytest.approx([1.0], abs=1e-12)
