"""The files of simulated tables are reproducible and agree with data/README.md. Fits have separate tests."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks.bundled import demo
from isoplan.data.catalogue import DEMOS, SIGNALS, path, records
from isoplan.engine.arrays import Floats
from tests.data.test_tables import column

TRUTH: dict[str, Any] = json.loads(path("demo/truth.json").read_text(encoding="utf-8"))
GRID = records("demo/jets_grid.csv")
SWEEP = records("demo/recommender_isoflop.csv")
REPEATED = records("demo/jets_repetition.csv")


def assert_noise(values: Floats, truth: Floats, sigma: float, alpha: float = 4.0) -> None:
    """Check that ln(values / truth) has mean 0 and standard deviation ``sigma`` within ``alpha`` standard errors."""
    z = np.log(values / truth)
    n = len(z)
    assert abs(z.mean()) < alpha * sigma / np.sqrt(n)
    assert abs(z.std() - sigma) < alpha * sigma / np.sqrt(2 * n)


def test_the_script_writes_the_committed_bytes() -> None:
    for name, text in demo.contents().items():
        assert path(f"demo/{name}").read_bytes() == text.encode()


def test_every_demo_file_is_in_the_catalogue() -> None:
    assert {d.file for d in DEMOS} == {f"demo/{name}.csv" for name in demo.TABLES}


@pytest.mark.parametrize(("width", "expected"), [(4, 1_126), (64, 202_186), (512, 12_627_466)])
def test_parameter_count_against_a_layer_by_layer_sum(width: int, expected: int) -> None:
    d = width
    attention = 3 * d * d + 3 * d + d * d + d
    feed_forward = d * 4 * d + 4 * d + 4 * d * d + d
    total = 21 * d + d + d + 4 * (attention + feed_forward + 2 * 2 * d) + 2 * d + 10 * d + 10
    assert demo.parameters(width) == expected == total == 48 * d * d + 87 * d + 10


def test_jets_grid_is_complete_and_costs_what_the_rule_says() -> None:
    widths, samples = column(GRID, "width"), column(GRID, "D")
    assert len(GRID) == 54
    assert len(set(zip(widths, samples, strict=True))) == 54
    assert len(set(widths)) == 9
    assert len(set(samples)) == 6
    np.testing.assert_allclose(column(GRID, "C"), 6 * 40 * column(GRID, "N") * samples, rtol=1e-11)
    assert len({r["run"] for r in GRID}) == 54


def test_jets_grid_has_the_noise_it_states() -> None:
    # The law of the jet paper, Table 1, typed here again.
    law = 0.32 + 11.27 * column(GRID, "N") ** -0.44 + 7.22 * column(GRID, "D") ** -0.22
    assert_noise(column(GRID, "loss"), law, 0.01)
    assert TRUTH["jets_grid"]["parameters"] == {"E": 0.32, "A": 11.27, "B": 7.22, "alpha": 0.44, "beta": 0.22}


@pytest.mark.parametrize("signal", SIGNALS)
def test_rejections_follow_from_the_loss(signal: str) -> None:
    at = TRUTH["jets_grid"]["rejection"][signal]
    assert at["A"] > 0 > at["B"]
    truth = at["A"] * np.exp(at["B"] * column(GRID, "loss")) + at["C"]
    values = column(GRID, f"R_{signal}")
    assert_noise(values, truth, 0.02)
    assert (values > 1).all()


def test_top_tagging_rejects_5000_near_a_loss_of_one_half() -> None:
    at = TRUTH["jets_grid"]["rejection"]["top"]
    assert at["A"] * np.exp(at["B"] * 0.5) + at["C"] == pytest.approx(5000, rel=2e-3)
    assert column(GRID, "R_top").max() > 5000


@pytest.mark.parametrize("point", TRUTH["recommender_isoflop"]["minima"], ids=lambda p: f"{p['budget']:.0e}")
def test_recommender_minima_are_the_optima_of_table_4(point: dict[str, float]) -> None:
    optima = {1e15: 695e3, 1e16: 2.51e6, 1e17: 8.67e6, 1e18: 38.9e6, 1e19: 216e6}
    floors = {1e15: 3.914, 1e16: 3.376, 1e17: 3.108, 1e18: 2.832, 1e19: 2.641}
    budget = point["budget"]
    assert (point["N"], point["loss"]) == (optima[budget], floors[budget])
    rows = [r for r in SWEEP if float(r["budget"]) == budget]
    N, loss = column(rows, "N"), column(rows, "val_loss")
    assert len(rows) == 9
    np.testing.assert_allclose(6 * N * column(rows, "D"), budget, rtol=1e-5)
    np.testing.assert_allclose(column(rows, "C"), 6 * N * column(rows, "D"), rtol=1e-11)
    assert_noise(loss, point["loss"] + 0.35 * np.log10(N / point["N"]) ** 2, 0.002)
    curvature, slope, _ = np.polyfit(np.log10(N / point["N"]), loss, 2)
    assert curvature == pytest.approx(0.35, rel=0.15)
    assert -slope / (2 * curvature) == pytest.approx(0, abs=0.04)


@pytest.mark.parametrize("metric", ["recall@10", "NDCG@10"])
def test_ranking_metrics_have_their_own_optimum(metric: str) -> None:
    at = TRUTH["recommender_isoflop"]["ranking"][metric]
    minima = {p["budget"]: p for p in TRUTH["recommender_isoflop"]["minima"]}
    C, N = column(SWEEP, "budget"), column(SWEEP, "N")
    best = np.array([minima[c]["N"] for c in C]) * (C / 1e15) ** at["shift"]
    loss = np.array([minima[c]["loss"] for c in C]) + 0.35 * np.log10(N / best) ** 2
    assert_noise(column(SWEEP, metric), at["A"] * np.exp(at["B"] * loss) + at["C"], 0.002)


def test_recommender_frontier_is_the_regression_of_table_4() -> None:
    frontier = TRUTH["recommender_isoflop"]["frontier"]
    assert frontier["k"] == pytest.approx(3.33e-4, rel=2e-3)
    assert frontier["a"] == pytest.approx(0.6175, abs=1e-4)
    assert frontier["k_D"] == pytest.approx(499, rel=3e-3)
    assert frontier["b"] == pytest.approx(0.3825, abs=1e-4)


@pytest.mark.parametrize("inputs", TRUTH["jets_repetition"]["groups"])
def test_repetition_has_the_noise_it_states(inputs: str) -> None:
    laws = {
        r["parameter"]: float(r["value"]) for r in records("papers/jets/table2_repetition.csv") if r["inputs"] == inputs
    }
    rows = [r for r in REPEATED if r["inputs"] == inputs]
    U = column(rows, "unique_jets")
    assert len(rows) == 22
    assert len(set(U)) == 11
    truth = laws["L_inf"] + laws["B_rep"] / U ** laws["beta_rep"]
    assert_noise(column(rows, "loss"), truth, 0.01)
    at = TRUTH["jets_repetition"]["groups"][inputs]
    np.testing.assert_allclose(at["K"] + (at["X_c"] / U) ** at["alpha"], truth, rtol=1e-5)
