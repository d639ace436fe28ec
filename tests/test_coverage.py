"""Tests of the coverage benchmark: the true parameters, and the rule that decides whether a coverage passes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from benchmarks.coverage.count import Cell
from benchmarks.coverage.designs import DESIGNS, NOISES
from benchmarks.coverage.drawn import HOFFMANN
from benchmarks.coverage.simulate import table


def cell(low: float, high: float, *, tables: int = 4000, design: str = "Jets 9 x 6", one_sided: bool = False) -> Cell:
    return Cell(DESIGNS[design], "log-normal", "auto", "E", tables, (low, high), (1.0, 1.0), one_sided)


def test_three_points_and_three_standard_errors() -> None:
    """For 4,000 tables, three standard errors are 2.2 percentage points at 68 % coverage, and 1.0 at 95 %.

    The standard error at 68 % is sqrt(0.68 * 0.32 / 4000).
    """
    assert cell(0.68, 0.95).passes()
    assert cell(0.63, 0.99).passes()
    assert not cell(0.625, 0.95).passes()
    assert not cell(0.735, 0.95).passes()
    assert not cell(0.68, 0.905).passes()
    assert cell(0.62, 0.95, tables=1000).passes()
    assert cell(0.99, 1.0, design="7 runs, floor").passes()
    assert not cell(0.60, 0.95, design="7 runs, floor").passes()
    assert cell(0.99, 0.99, one_sided=True).passes()


def test_truth_is_what_the_law_says() -> None:
    scan = DESIGNS["7 runs, floor"].quantities()
    assert scan["L at 10 x"][0] == pytest.approx(0.06)
    assert scan["D at a target"][0] == pytest.approx(1e7)
    sweep = DESIGNS["Iso-FLOP 5 x 9"].quantities()
    h, budget = HOFFMANN, 1e21

    def loss(log_n: float) -> float:
        n = np.exp(log_n)
        return float(h["E"] + h["A"] * n ** -h["alpha"] + h["B"] * (budget / 6 / n) ** -h["beta"])

    assert sweep["L at 10 x"][0] == pytest.approx(minimize_scalar(loss, bounds=(15, 30)).fun, rel=1e-9)
    assert sweep["C at a target"][0] == pytest.approx(budget, rel=1e-9)


def test_tables_have_the_noise_they_say() -> None:
    design = DESIGNS["Epoch-like"]
    spread = {n: np.log(np.stack([design.runs(n, i)["loss"] for i in range(200)]) / design.loss) for n in NOISES}
    assert np.std(spread["log-normal"]) == pytest.approx(0.01, rel=0.02)
    assert np.mean(np.abs(spread["outliers"]) > 0.04) == pytest.approx(0.02 * 0.689, rel=0.15)
    order = np.argsort(design.size)
    sd = np.std(spread["heteroscedastic"], axis=0)[order]
    assert sd[:5].mean() / sd[-5:].mean() == pytest.approx(3, rel=0.15)


def test_a_table_gives_every_number_with_its_ends() -> None:
    numbers, said = table(DESIGNS["7 runs, no floor"], "log-normal", "auto", 40, 3)
    assert len(numbers) == 1
    value, low68, high68, low95, high95, below = numbers[0].T
    assert ((low95 <= low68) & (low68 <= high68) & (high68 <= high95)).all()
    assert ((low95 <= value) & (value <= high95)).all()
    assert ((below > 0.02) & (below < 0.98)).all()
    assert "few-runs" in said
