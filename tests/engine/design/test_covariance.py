"""The linear models are exact for a linear law and lead to nearly optimal sets of cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import grid_candidates
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import Covariance, covariance
from isoplan.engine.design.estimand import Estimand
from tests.engine.design.tables import BUDGET, RULE, fitted, loss_at

NOISE = 0.3


def linear(m: int, seed: int) -> tuple[Covariance, Floats, Floats]:
    """Return the covariance of ``m`` cells of a linear model, their slopes (m, 4), and the estimand's slope (4,)."""
    random = np.random.default_rng(seed)
    slopes, slope = random.standard_normal((m, 4)), random.standard_normal(4)
    prior = np.diag([1.0, 0.5, 2.0, 1.0])
    return Covariance(slopes[None], slope[None, None], prior[None], NOISE**2, np.ones(1)), slopes, slope


def posterior(slopes: Floats, slope: Floats, cells: tuple[int, ...]) -> float:
    """Return the posterior variance of the estimand by the normal equations of Bayesian linear regression."""
    measured = slopes[list(cells)]
    information = np.diag([1.0, 2.0, 0.5, 1.0]) + measured.T @ measured / NOISE**2
    return float(slope @ np.linalg.solve(information, slope))


@pytest.mark.parametrize("cells", [(0,), (1, 2), (3, 3, 5), (0, 1, 2, 3, 4, 5)])
def test_the_variance_after_cells_is_that_of_linear_regression(cells: tuple[int, ...]) -> None:
    before, slopes, slope = linear(6, 1)
    after = before.after(cells)
    assert after.variance[0, 0] == pytest.approx(posterior(slopes, slope, cells), rel=1e-10)
    assert after.remaining == pytest.approx(np.log(after.variance[0, 0]))
    assert after.sd[0] ** 2 == pytest.approx(after.variance[0, 0])


def test_the_gain_is_the_decrease_of_the_logarithm_of_the_variance() -> None:
    before, _, _ = linear(6, 2)
    first = before.after([2])
    decrease = [first.remaining - before.after([2, cell]).remaining for cell in range(6)]
    assert first.gains() == pytest.approx(decrease, rel=1e-10)


def test_the_narrowing_of_a_cell_is_that_of_its_training_alone() -> None:
    """The narrowing of the first of two estimands equals that of a loop that trains one cell at a time."""
    made, target = fitted(), loss_at()
    size = Estimand("N", "", lambda v: v["A"], target.at)
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 2)
    before = covariance(made, cells, [target, size])
    narrowing = before.after().narrowing()
    alone = [before.after([cell]).sd[0] / before.after().sd[0] for cell in range(len(cells))]
    assert narrowing == pytest.approx(1 - np.array(alone), rel=1e-6, abs=1e-9)
    assert 0 <= narrowing.min() < 0.01
    assert 0.1 < narrowing.max() < 1
    certain = Covariance(np.ones((1, 1, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), 0.0, np.ones(1))
    assert certain.after().narrowing() == pytest.approx(1.0, abs=2e-6)


def test_the_best_set_is_nearly_the_best_of_all_sets() -> None:
    excess = []
    for seed in range(20):
        before, slopes, slope = linear(9, seed)
        cost, spend = np.random.default_rng(seed).uniform(0.5, 4, 9), 6.0
        best = best_sets(before, cost, spend, 4)[0]
        assert cost[list(best)].sum() <= spend
        every = [cells for k in range(1, 5) for cells in itertools.combinations(range(9), k)]
        affordable = [cells for cells in every if cost[list(cells)].sum() <= spend]
        least = min(posterior(slopes, slope, cells) for cells in affordable)
        excess.append(np.sqrt(posterior(slopes, slope, best) / least))
    assert np.median(excess) <= 1.02
    assert max(excess) <= 1.2


def test_equal_cells_are_chosen_in_order_and_the_result_repeats() -> None:
    before = Covariance(np.ones((1, 5, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), 1.0, np.ones(1))
    assert best_sets(before, np.ones(5), 3.0, 4)[0] == (0, 1, 2)
    assert best_sets(before, np.ones(5), 0.5, 4) == []


def test_with_the_hedge_cells_near_the_answer_gain_more() -> None:
    made, target = fitted(), loss_at()
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 3)
    far = sum(np.log(cells.columns[axis] / target.at[axis]) ** 2 for axis in ("N", "D"))
    plain, hedged = (covariance(made, cells, [target], hedge) for hedge in (False, True))
    gains = [c.after().gains() for c in (plain, hedged)]
    nearest, farthest = int(np.argmin(far)), int(np.argmax(far))
    assert gains[1][nearest] - gains[1][farthest] > gains[0][nearest] - gains[0][farthest] + 0.1


def test_the_deviation_is_smooth_and_has_the_wanted_size() -> None:
    """The covariance of the deviation from the law is 4 * noise variance * exp(-distance^2 / (2 REACH^2))."""
    made, target = fitted(), loss_at()
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 3)
    plain, hedged = (covariance(made, cells, [target], hedge) for hedge in (False, True))
    added = hedged.cells[0, :, plain.cells.shape[2] :]
    at = np.log(np.column_stack([cells.columns[axis] for axis in ("N", "D")]))
    square = np.sum((at[:, None] - at[None]) ** 2, axis=2)
    expected = 4 * hedged.noise * np.exp(-square / (2 * np.log(10) ** 2))
    assert added @ added.T == pytest.approx(expected, abs=0.05 * 4 * hedged.noise)
    assert hedged.answers[0, 0, plain.cells.shape[2] :] @ hedged.answers[0, 0, plain.cells.shape[2] :] > 0


def test_the_slopes_are_the_derivatives_of_the_law() -> None:
    made = fitted(fixed={"alpha": 0.35})
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 1)
    found = covariance(made, cells, [loss_at()], hedge=False)
    order = np.argsort(loss_at().logs(made.draws), kind="stable")
    truth = made.resamples[order[len(order) // 32]]  # the middle of the first of 16 groups
    value, N = made.law.values(truth), cells.columns["N"]
    loss = made.law.predict(truth, cells.columns)
    assert found.cells.shape == (16, len(cells), 4)
    assert found.cells[0, :, 1] == pytest.approx(value["A"] * N**-0.35 / loss, rel=1e-3)
    assert made.runs is not None
    smallest = float(np.min(made.runs.y))
    assert found.cells[0, :, 0] == pytest.approx(max(float(value["E"]), smallest) / loss, rel=1e-2)


def test_the_noise_of_a_run_follows_from_the_resamples() -> None:
    cells = grid_candidates((1e4, 1e6), (1e6, 1e8), RULE, 1e15, 2)
    noise = [np.sqrt(covariance(fitted(60, size), cells, [loss_at()], False).noise) for size in (0.01, 0.04)]
    assert noise == pytest.approx([0.01, 0.04], rel=0.25)
