"""Errors and pulls against their definitions, on guesses that are wrong by a known amount."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from trainers.amplitudes.surrogate.evaluate import calibration, errors, pulls, write_pulls
from trainers.amplitudes.surrogate.standard import Standard

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(-3, 2, 20_000)


@pytest.mark.parametrize("kind", ["log", "raw"])
def test_errors_are_those_of_the_amplitude(kind: str) -> None:
    truth = TRUTH if kind == "log" else np.exp(TRUTH)
    guess = truth + 0.01 * RNG.standard_normal(len(truth)) * (1 if kind == "log" else truth)
    A, B = (np.exp(truth), np.exp(guess)) if kind == "log" else (truth, guess)
    found = errors(guess, truth, kind)
    z = Standard.of(truth[:, None])
    assert found["loss"] == pytest.approx(np.mean((z(guess[:, None]) - z(truth[:, None])) ** 2))
    assert found["loss"] * found["spread"] ** 2 == pytest.approx(np.mean((guess - truth) ** 2))
    assert found["relative_median"] == pytest.approx(np.median(np.abs(B / A - 1)))
    assert found["relative_mean"] == pytest.approx(np.mean(np.abs(B / A - 1)))
    assert found["relative_99"] == pytest.approx(np.quantile(np.abs(B / A - 1), 0.99))
    assert found["epsilon"] == pytest.approx(np.abs(B - A).sum() / A.sum())
    assert found["relative_median"] == pytest.approx(0.01 * norm.ppf(0.75), rel=0.05)


def test_whoever_guesses_the_mean_has_a_loss_of_one() -> None:
    assert errors(np.full_like(TRUTH, TRUTH.mean()), TRUTH, "log")["loss"] == pytest.approx(1)


def test_a_guess_that_is_far_off_is_finite() -> None:
    found = errors(np.array([0.0, 5000.0]), np.array([0.0, 1.0]), "log")
    assert np.isfinite(list(found.values())).all()


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


def test_standardisation_goes_there_and_back() -> None:
    x = np.stack([TRUTH, np.full(len(TRUTH), 7.0)], axis=1)
    z = Standard.of(x)
    np.testing.assert_allclose(z(x).mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(z(x).std(axis=0), [1, 0], atol=1e-10)
    np.testing.assert_allclose(z.back(z(x)), x)


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_what_changes_is_standardised_in_any_unit(unit: float) -> None:
    x = np.stack([np.exp(TRUTH[:500]), np.full(500, 0.1), np.zeros(500)], axis=1)
    z, scaled = Standard.of(x), Standard.of(x * unit)
    np.testing.assert_allclose(scaled(x * unit)[:, 0], z(x)[:, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.spread[0], z.spread[0] * unit, rtol=1e-12)
    np.testing.assert_array_equal(scaled.spread[1:], 1)
    np.testing.assert_allclose(scaled(x * unit)[:, 1:], 0, atol=1e-14 * max(unit, 1))


def test_epsilon_of_amplitudes_of_both_signs() -> None:
    found = errors(np.array([1.1, -2.2, 4.0]), np.array([1.0, -2.0, 4.0]), "raw")
    assert found["epsilon"] == pytest.approx(0.3 / 7)
    assert found["relative_mean"] == pytest.approx(0.2 / 3)
