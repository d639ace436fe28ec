"""Advice on the next cells: sets, rounds, expected widths, the ladder, and refusals in one sentence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.advice import Spend, advise, find_law_test, in_rounds
from isoplan.engine.design.candidates import Candidates, grid_candidates
from isoplan.engine.design.covariance import covariance
from isoplan.engine.design.estimand import Estimand
from isoplan.engine.design.pretend import pretend_widths
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import fit
from isoplan.engine.fitting.diagnostics.single_runs import scatter
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.frontier import frontier
from tests.engine.design.tables import BUDGET, LAW, RULE, TRUTH, fitted, loss_at, runs, table

CELLS = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.05 * BUDGET, 4)


def test_the_advice_is_within_the_spend_and_repeats() -> None:
    made, spend = fitted(), Spend(0.05 * BUDGET, 8, 3)
    one, other = (advise(made, [loss_at()], CELLS, spend, whole=BUDGET) for _ in range(2))
    assert one.rounds == other.rounds
    assert one.after == other.after
    assert len(one.rounds) == 3
    assert len(one.cells) <= 8
    assert one.cost <= spend.amount
    costs = [float(CELLS.cost[cell]) for cell in one.cells]
    assert costs == sorted(costs)
    assert one.after[-1][0].expected < 0.8 * one.now[0]
    expected = [rung.errors[0] for rung in one.ladder]
    assert [rung.spend for rung in one.ladder] == pytest.approx(
        [share * BUDGET for share in (0.01, 0.02, 0.05, 0.1, 0.2)]
    )
    assert expected == sorted(expected, reverse=True)
    assert all(rung.cost <= rung.spend for rung in one.ladder)
    assert one.gains == pytest.approx(covariance(made, CELLS, [loss_at()], hedge=False).narrowing())


def test_the_expected_width_is_reached() -> None:
    """For each of six tables, the advised cells are simulated by the true law, and the law is refitted to all runs."""
    ratios = []
    for seed in range(6):
        made = fitted(seed=seed)
        advice = advise(made, [loss_at()], CELLS, Spend(0.05 * BUDGET, rounds=1), whole=BUDGET)
        at = CELLS.take(advice.cells).columns
        random = np.random.default_rng(100 + seed)
        loss = LAW.predict(np.array(TRUTH), at) * np.exp(0.01 * random.standard_normal(len(advice.cells)))
        before = runs(seed=seed)
        after = fit(made.spec, table(*(np.r_[before[name], x] for name, x in (*at.items(), ("loss", loss)))))
        one = loss_at()
        ends = after.resampling.interval(float(one.logs(after.values)), one.logs(after.draws), 0.68)
        assert ends is not None
        ratios.append((ends[1] - ends[0]) / 2 / advice.after[-1][0].expected)
    assert 0.6 < np.median(ratios) < 1.5, ratios


def test_widths_of_a_linear_law_are_those_of_linear_regression() -> None:
    """With fixed exponents, the law is linear in A and B.

    Half the width of an interval is then a quantile of Student's t times the standard error.
    """
    fixed = {"E": 0.5, "alpha": 0.35, "beta": 0.37}
    made = fitted(12, 0.005, fixed=fixed, objective="ols", interval="profile")
    at = {"N": 1e7, "D": 1e9}

    def value(v: dict[str, Floats]) -> Floats:
        return v["E"] + v["A"] * at["N"] ** -v["alpha"] + v["B"] * at["D"] ** -v["beta"]

    one = Estimand("loss", "loss", value, at)  # type: ignore[arg-type]
    cells = Candidates({"N": np.array([1e6, 1e6]), "D": np.array([1e8, 1e6])}, np.ones(2), np.ones(2))
    widths = pretend_widths(made, cells, (0, 1), [one], outcomes=40)[:, 0]
    assert made.runs is not None
    columns = {axis: np.r_[made.runs.columns[axis], cells.columns[axis]] for axis in ("N", "D")}
    slopes = np.column_stack([columns["N"] ** -0.35, columns["D"] ** -0.37])
    slope = np.array([at["N"] ** -0.35, at["D"] ** -0.37])
    sd = (scatter(made) or 0.0) * np.sqrt(slope @ np.linalg.solve(slopes.T @ slopes, slope))
    quantile = 1.037  # of Student's t with 12 degrees of freedom, for a central 68 %
    expected = quantile * sd / float(made.predict({axis: np.array([x]) for axis, x in at.items()})[0])
    assert np.median(widths) == pytest.approx(expected, rel=0.15)


def test_rounds_train_the_cheap_cells_first() -> None:
    cost = np.array([1.0, 5.0, 3.0, 3.0])
    assert in_rounds((3, 1, 2, 0), cost, 2) == ((0, 2), (3, 1))
    assert in_rounds((3, 1, 2, 0), cost, 3) == ((0, 2), (3,), (1,))
    assert in_rounds((3, 1, 2, 0), cost, 9) == ((0,), (2,), (3,), (1,))
    assert in_rounds((3,), cost, 4) == ((3,),)
    assert [len(cells) for cells in in_rounds(range(12), np.arange(12.0), 4)] == [6, 3, 2, 1]


def test_the_test_cell_is_the_advised_cell_nearest_to_the_answer() -> None:
    made = fitted()
    advice = advise(made, [loss_at()], CELLS, Spend(0.05 * BUDGET))
    test, cells = advice.test, list(advice.cells)
    assert test is not None
    far = np.sum([np.log(CELLS.columns[axis] / loss_at().at[axis]) ** 2 for axis in ("N", "D")], axis=0)
    assert test.cell == cells[int(np.argmin(far[cells]))]
    truth = LAW.predict(np.array(TRUTH), {axis: x[test.cell] for axis, x in CELLS.columns.items()})
    assert test.low < float(truth) < test.high
    failed = replace(made, resamples=np.vstack([made.resamples[1:], np.full((1, 5), np.nan)]))
    lost = find_law_test(failed, CELLS, loss_at(), cells)
    assert lost is not None
    assert lost.high == pytest.approx(test.high, rel=0.01)


def test_cells_do_not_pay_if_they_hardly_narrow_the_interval() -> None:
    corner = CELLS.take([0, 1])  # the smallest N and D
    assert not advise(fitted(60), [loss_at(1e13)], corner, Spend(0.05 * BUDGET)).pays
    assert advise(fitted(), [loss_at()], CELLS, Spend(0.05 * BUDGET)).pays


def test_several_quantities_are_narrowed_at_once() -> None:
    one, made = loss_at(), fitted()
    size = Estimand("N", "", lambda v: frontier(LAW, v, np.asarray(BUDGET), RULE).N, one.at)
    both = advise(made, [one, size], CELLS, Spend(0.05 * BUDGET))
    assert all(then.expected < now for then, now in zip(both.after[-1], both.now, strict=True))
    alone = advise(made, [size], CELLS, Spend(0.05 * BUDGET))
    assert alone.now[0] == both.now[1]


def test_an_unreachable_value_makes_the_interval_unbounded() -> None:
    """A fifth of the resamples gives an infinite value, so the 68 % interval has no upper end."""
    made = fitted()

    def value(v: Values) -> Floats:
        return np.where(v["E"] > np.quantile(made.draws["E"], 0.8), np.inf, v["E"])

    advice = advise(made, [Estimand("cost", "", value)], CELLS, Spend(0.05 * BUDGET))
    assert math.isinf(advice.now[0])
    assert not advice.pays or math.isfinite(advice.after[-1][0].expected)


WRONG = {
    "no cell": (CELLS.take([]), "there is no cell"),
    "no cost": (replace(CELLS.take([0, 1]), cost=np.array([1.0, np.nan])), "in row 1, the cost is not a positive"),
    "no D": (Candidates({"N": np.ones(1)}, np.ones(1), np.ones(1)), "the column D of the law is missing"),
    "negative N": (replace(CELLS.take([0]), columns={"N": -np.ones(1), "D": np.ones(1)}), "in row 0, N is not a posi"),
    "too dear": (replace(CELLS.take([0]), cost=np.array([1e20])), "cannot pay for the cheapest candidate"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_candidates_are_one_sentence(case: str) -> None:
    cells, why = WRONG[case]
    with pytest.raises(PlannerError, match=why):
        advise(fitted(), [loss_at()], cells, Spend(0.05 * BUDGET))


def test_a_quantity_that_the_fit_cannot_answer_is_one_sentence() -> None:
    never = Estimand("loss", "", lambda v: -v["E"])
    with pytest.raises(PlannerError, match="gives a positive number in only 0% of its resamples"):
        advise(fitted(), [never], CELLS, Spend(0.05 * BUDGET))


def test_a_quantity_without_variance_is_one_sentence() -> None:
    with pytest.raises(PlannerError, match="N: all resamples give the same value, so cells cannot narrow it"):
        advise(fitted(), [Estimand("N", "", lambda v: np.full(np.shape(v["E"]), 1e6))], CELLS, Spend(0.05 * BUDGET))


def test_a_fit_without_runs_is_one_sentence() -> None:
    with pytest.raises(PlannerError, match="the fit does not keep its runs"):
        advise(replace(fitted(), runs=None), [loss_at()], CELLS, Spend(0.05 * BUDGET))
