"""Pulls compared with their definition, and the histogram of pulls after a write and a read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from isoplan.trainers.amplitudes.surrogate.accuracy import calibration, pulls, read_pulls, write_pulls

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(-3, 2, 20_000)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.5, 0.0), (1.0, 1.0)])
def test_pulls_say_whether_sigma_is_right(scale: float, shift: float) -> None:
    sigma = RNG.uniform(0.01, 0.1, len(TRUTH))
    t = pulls(TRUTH + sigma * (RNG.standard_normal(len(TRUTH)) + shift), TRUTH, sigma * scale)
    found = calibration(t, sigma * scale, TRUTH)
    assert found["pull_width"] == pytest.approx(1 / scale, rel=0.02)
    assert found["pull_mean"] == pytest.approx(shift / scale, abs=0.03)
    assert found["bulk_width"] == pytest.approx(1 / scale, rel=0.03)
    assert found["bulk_mean"] == pytest.approx(shift / scale, abs=0.04)
    for k in (1, 2):
        expected = norm.cdf(k * scale - shift) - norm.cdf(-k * scale - shift)
        assert found[f"within_{k}"] == pytest.approx(expected, abs=0.012)
    assert found["sigma_mean"] == pytest.approx(0.055 * scale / TRUTH.std(), rel=0.02)


def test_tails_move_the_width_of_the_pulls_and_not_that_of_their_bulk() -> None:
    sigma = np.ones(len(TRUTH))
    t = np.where(RNG.random(len(TRUTH)) < 0.002, 60.0, RNG.standard_normal(len(TRUTH)))
    found = calibration(t, sigma, TRUTH)
    assert found["pull_width"] > 2
    assert found["bulk_width"] == pytest.approx(1, abs=0.03)
    assert found["bulk_mean"] == pytest.approx(0, abs=0.03)


def test_the_histogram_holds_all_pulls_beside_the_gaussian(tmp_path: Path) -> None:
    t = np.concatenate([RNG.standard_normal(10_000), [-50.0, 8.0, 6.0]])
    write_pulls(tmp_path / "pulls.csv", t)
    lines = (tmp_path / "pulls.csv").read_text().splitlines()
    assert lines[0] == "low,high,points,gaussian"
    table = np.array([line.split(",") for line in lines[1:]], float)
    assert table[:, 2].sum() == pytest.approx(10_003)
    assert table[:, 3].sum() == pytest.approx(10_003)
    assert (table[0, 0], table[0, 2], table[-1, 1], table[-1, 2]) == (-6, 1, 6, 2)
    inside = table[20:40]
    assert np.abs((inside[:, 2] - inside[:, 3]) / np.sqrt(inside[:, 3])).max() < 4


def test_the_histogram_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_pulls(tmp_path / "pulls.csv", np.array([-7.0, 0.05, 0.05, 2.25]))
    found = read_pulls(tmp_path / "pulls.csv")
    assert found is not None
    edges, points, gaussian = found
    np.testing.assert_allclose(edges, np.linspace(-6, 6, 61), atol=1e-12)
    assert (points[0], points[30], points[41], points.sum()) == (1, 2, 1, 4)
    assert gaussian.sum() == pytest.approx(4)


@pytest.mark.parametrize(
    "text", ["", "low,high,points,gaussian\n", "low,high\n-1,1\n", "low,high,points,gaussian\n-1,1,nan,2\n"]
)
def test_a_histogram_that_is_none_is_not_read(tmp_path: Path, text: str) -> None:
    assert read_pulls(tmp_path / "pulls.csv") is None
    (tmp_path / "pulls.csv").write_text(text)
    assert read_pulls(tmp_path / "pulls.csv") is None
