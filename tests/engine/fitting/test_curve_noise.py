"""Tests of the estimated noise around iso-FLOP curves: its size, its distribution, and the effect of outliers."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.fitting.resampling.bootstrap import curve_noise

Floats = np.ndarray


def residuals(sd: list[float], seed: int, n: int = 9) -> list[Floats]:
    """For each noise in ``sd``, simulate an iso-FLOP curve of ``n`` runs. Return the residuals of fitted parabolas."""
    x = np.vander(np.linspace(-1, 1, n), 3)
    hat = x @ np.linalg.pinv(x)
    random = np.random.default_rng(seed)
    return [(np.eye(n) - hat) @ (s * random.normal(size=n)) for s in sd]


def test_the_noise_has_the_spread_that_the_curves_were_given() -> None:
    """Averaged over 400 tables, the estimated noise is correct within 10 % and orders curves by their true noise."""
    equal = np.array([curve_noise(residuals([1.0] * 5, i)).spread for i in range(400)])
    assert equal.mean() == pytest.approx(1.0, abs=0.1)
    unequal = np.array([curve_noise(residuals([3.0, 1.0, 1.0, 1.0, 1 / 3], i)).spread for i in range(400)])
    first, middle, last = unequal.mean(axis=0)[[0, 2, 4]]
    assert first > 1.5 * middle > 1.5 * last


def test_draws_are_of_that_spread_and_do_not_depend_on_blocks() -> None:
    noise, curve = curve_noise(residuals([1.0, 2.0, 2.0, 2.0, 1.0], 3)), np.repeat(np.arange(5), 9)
    drawn = noise.draw(7, 0, 4000, curve)
    assert noise.draw(7, 100, 103, curve) == pytest.approx(drawn[100:103])
    rms = np.sqrt(np.mean(noise.shape**2))
    width = 1.06 * len(noise.shape) ** -0.2
    expected = noise.spread[curve] * np.hypot(rms, width) / np.hypot(1, width) * np.sqrt(30 / 28)
    assert drawn.std(axis=0) == pytest.approx(expected, rel=0.06)


def test_an_outlier_hardly_widens_the_noise_of_its_curve() -> None:
    clean = residuals([1.0] * 5, 5)
    spoilt = [clean[0] + 20.0 * (np.arange(9) == 4), *clean[1:]]
    assert curve_noise(spoilt).spread[0] < 1.5 * curve_noise(clean).spread[0]
    assert curve_noise(spoilt).spread[1:] == pytest.approx(curve_noise(clean).spread[1:], rel=0.1)


def test_without_residuals_there_is_no_noise_and_without_runs_to_spare_none_is_known() -> None:
    curve = np.zeros(4, np.int64)
    assert (curve_noise([np.zeros(9)]).draw(0, 0, 5, curve) == 0).all()
    assert np.isnan(curve_noise([np.zeros(3), np.zeros(3)]).draw(0, 0, 5, curve)).all()
