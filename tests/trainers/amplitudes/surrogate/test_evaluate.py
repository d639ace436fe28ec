"""Error metrics of predictions with a known error, compared with the definitions of the metrics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from isoplan.trainers.amplitudes.surrogate.accuracy import errors
from isoplan.trainers.amplitudes.surrogate.preprocessing import Standard

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
