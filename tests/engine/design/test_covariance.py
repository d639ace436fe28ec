"""The linear models are exact for a linear law and lead to nearly optimal sets of cells."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.candidates import grid_candidates
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import covariance
from isoplan.engine.design.estimand import Estimand
from isoplan.engine.design.linear_models import Deviation, LinearModels
from tests.engine.design.tables import BUDGET, RULE, fitted, loss_at

NOISE = 0.3


def linear(m: int, seed: int) -> tuple[LinearModels, Floats, Floats]:
    """Return the covariance of ``m`` cells of a linear model, their slopes (m, 4), and the estimand's slope (4,)."""
    random = np.random.default_rng(seed)
    slopes, slope = random.standard_normal((m, 4)), random.standard_normal(4)
    prior = np.diag([1.0, 0.5, 2.0, 1.0])
    return LinearModels(slopes[None], slope[None, None], prior[None], NOISE**2, np.ones(1)), slopes, slope


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
    """The narrowing of the first of two estimands equals the result of a loop that trains one cell at a time."""
    made, target = fitted(), loss_at()
    size = Estimand("N", "", lambda v: v["A"], target.at)
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 2)
    before = covariance(made, cells, [target, size], hedge=False)
    narrowing = before.narrowing()
    alone = [before.after([cell]).sd[0] / before.sd[0] for cell in range(len(cells))]
    assert narrowing == pytest.approx(1 - np.array(alone), rel=1e-6, abs=1e-9)
    assert 0 <= narrowing.min() < 0.01
    assert 0.1 < narrowing.max() < 1
    certain = LinearModels(np.ones((1, 1, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), 0.0, np.ones(1))
    assert certain.narrowing() == pytest.approx(1.0, abs=2e-6)


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
    before = LinearModels(np.ones((1, 5, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), 1.0, np.ones(1))
    assert best_sets(before, np.ones(5), 3.0, 4)[0] == (0, 1, 2)
    assert best_sets(before, np.ones(5), 0.5, 4) == []


def test_the_deviation_is_smooth_and_has_the_wanted_size() -> None:
    """The covariance of the deviation from the law is 9 * noise variance * exp(-distance^2 / (2 REACH^2))."""
    made, target = fitted(), loss_at()
    cells = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.2 * BUDGET, 3)
    hedged = covariance(made, cells, [target])
    assert hedged.deviation is not None
    added = hedged.deviation.cells
    at = np.log(np.column_stack([cells.columns[axis] for axis in ("N", "D")]))
    square = np.sum((at[:, None] - at[None]) ** 2, axis=2)
    expected = 9 * hedged.noise * np.exp(-square / (2 * np.log(30) ** 2))
    assert added @ added.T == pytest.approx(expected, abs=0.05 * 9 * hedged.noise)
    assert np.sum(hedged.deviation.answers[0] ** 2) == pytest.approx(9 * hedged.noise, rel=0.3)


def test_the_error_is_that_of_a_least_squares_fit_to_runs_that_deviate_from_the_law() -> None:
    """Noise and deviations are simulated. The estimate is made by linear regression, which ignores the deviations."""
    before, slopes, slope = linear(6, 4)
    random = np.random.default_rng(5)
    functions, effect = 2 * random.standard_normal((6, 3)), random.standard_normal(3)
    cells = [0, 2, 3, 5]
    hedged = replace(before, deviation=Deviation(functions, effect[None], np.zeros((1, 4, 3))))
    theta = random.standard_normal((400_000, 4)) * np.sqrt([1.0, 0.5, 2.0, 1.0])
    size = random.standard_normal((400_000, 3))
    y = (theta @ slopes.T + size @ functions.T)[:, cells] + NOISE * random.standard_normal((400_000, 4))
    information = np.diag([1.0, 2.0, 0.5, 1.0]) + slopes[cells].T @ slopes[cells] / NOISE**2
    estimate = y @ slopes[cells] / NOISE**2 @ np.linalg.inv(information) @ slope
    expected = np.mean((estimate - theta @ slope - size @ effect) ** 2)
    after = hedged.after(cells)
    assert after.error[0, 0] == pytest.approx(expected, rel=0.01)
    assert after.excess[0] == pytest.approx(expected - posterior(slopes, slope, tuple(cells)), rel=0.02)
    first = hedged.after([2])
    decrease = [first.remaining - hedged.after([2, cell]).remaining for cell in range(6)]
    assert first.gains() == pytest.approx(decrease, rel=1e-9)
    assert min(decrease) < 0  # a cell can increase the error
    assert first.narrowing().min() == 0


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
