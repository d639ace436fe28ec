"""If the law is wrong, the hedge decreases the error of the answer."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.next_cells.simulation import simulate
from benchmarks.next_cells.truths import INTERACTIONS
from isoplan.engine.design.candidates import grid_candidates
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import covariance
from isoplan.engine.design.hedge import FACTORS, PREMIUM, affordable
from tests.engine.design.tables import BUDGET, RULE, fitted, loss_at

CELLS = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 3)


def test_with_the_hedge_the_error_by_a_wrong_law_is_smaller() -> None:
    """N and D interact in the truth, but not in the fitted law.

    For each of four tables, the advised cells are simulated in four rounds.
    """
    plain, hedged = (
        [abs(simulate(INTERACTIONS[1], 0.2, hedge, seed).error) for seed in range(4)] for hedge in (False, True)
    )
    assert np.mean(hedged) < 0.75 * np.mean(plain)


@pytest.mark.parametrize(("n", "noise"), [(8, 0.02), (16, 0.01), (40, 0.005)])
def test_the_hedge_costs_at_most_its_premium_and_no_larger_deviation_does(n: int, noise: float) -> None:
    models = covariance(fitted(n, noise), CELLS, [loss_at()])
    spend, right = 0.2 * BUDGET, models.deviating(0)

    def cost(factor: float) -> float:
        """Return the ratio of the standard deviations with and without a hedge of this size if the law is right."""
        sets = [best_sets(models.deviating(x), CELLS.cost, spend, 12)[0] for x in (factor, 0.0)]
        hedged, plain = (float(right.after(cells).sd[0]) for cells in sets)
        return hedged / plain

    found = affordable(models, lambda x: best_sets(x, CELLS.cost, spend, 12)[0])
    assert models.deviation is not None
    size = 0.0 if found.deviation is None else found.deviation.cells[0, 0] / models.deviation.cells[0, 0]
    allowed = [factor for factor in FACTORS if cost(factor) <= PREMIUM]
    assert size == pytest.approx(max(allowed, default=0.0))
