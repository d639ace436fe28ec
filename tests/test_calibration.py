"""Tests of the calibration benchmark: its true values, its reproducibility, and its page."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.calibration.cases import CASES, UNIQUE, WIDTH, metric
from benchmarks.calibration.page import ALL, write
from benchmarks.calibration.simulate import COLUMNS, table
from benchmarks.coverage.designs import RULE


def test_truths_are_those_of_the_law() -> None:
    case = CASES["Epoch-like, log-normal"]
    truth = case.truth(1.8)
    t = truth.truth
    assert np.allclose(
        truth.loss, 1.8 + t["A"] * truth.columns["N"] ** -t["alpha"] + t["B"] * truth.columns["D"] ** -t["beta"]
    )
    C = case.least(truth, case.far(truth))
    assert pytest.approx(10 * float(truth.size.max())) == C
    assert math.isinf(case.least(truth, 1.8))
    floors = [case.floor(np.random.default_rng(i)) for i in range(300)]
    assert max(abs(f - case.near()) for f in floors) <= WIDTH * case.error
    assert np.std(floors) == pytest.approx(WIDTH * case.error / math.sqrt(3), rel=0.1)


def test_a_limit_and_a_map_move_the_truth() -> None:
    case = next(c for c in CASES.values() if c.kind == "unique")
    truth = case.truth(case.design.truth["E"])
    assert math.isinf(case.least(truth, case.near() - 1e-6))
    least = case.least(truth, case.far(truth))
    assert least == pytest.approx(10 * float(RULE.flops(truth.columns["N"].max(), np.asarray(UNIQUE))))
    mapped = next(c for c in CASES.values() if c.kind == "metric")
    runs = mapped.runs(mapped.truth(0.35), 0)
    assert np.std(np.log(runs["R"] / metric(runs["loss"]))) == pytest.approx(0.02, rel=0.3)


def test_one_table_gives_the_same_numbers_again() -> None:
    case = CASES["Jets 9 x 6, log-normal"]
    first, again = (table(case, 40, 3) for _ in range(2))
    assert first == again
    assert len(first) == len(COLUMNS)
    assert 0 <= first[1] <= 1


def test_the_page_says_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = np.tile([1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], (200, 1))
    monkeypatch.setattr("benchmarks.calibration.page.load", lambda *_: tables)
    page = write(200)
    assert f"| {ALL} |  | 1,800 | **100.0 / 100.0** |" in page
