"""Tests of confidence intervals: comparison with normal theory, and special cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.report import pair
from isoplan.engine.fitting.types.intervals import band, interval
from isoplan.engine.fitting.types.parameters import parameter

RNG = np.random.default_rng(1)
NORMAL = RNG.normal(3.0, 2.0, 200_000)


@pytest.mark.parametrize("method", ["bc", "percentile"])
@pytest.mark.parametrize("level", [0.68, 0.95])
def test_normal_draws_give_the_normal_interval(method: str, level: float) -> None:
    found = interval(3.0, NORMAL, level, method)  # type: ignore[arg-type]
    assert found == pytest.approx(stats.norm.interval(level, 3.0, 2.0), abs=0.03)


def test_bias_correction_shifts_both_ends_by_twice_the_bias() -> None:
    found = interval(3.5, NORMAL, 0.95, "bc")  # The best fit is 0.25 sd above the mean draw: bias z0 = 0.25.
    assert found == pytest.approx((3 + 2 * (0.5 - 1.96), 3 + 2 * (0.5 + 1.96)), abs=0.05)


def test_percentile_is_numpys_unbiased_quantile() -> None:
    draws = RNG.normal(size=137)
    assert interval(0.0, draws, 0.9, "percentile") == pytest.approx(
        tuple(np.quantile(draws, [0.05, 0.95], method="weibull"))
    )


def test_an_unreachable_target_in_some_resamples_leaves_the_interval_unbounded() -> None:
    draws = np.r_[np.linspace(1, 2, 80), np.full(20, np.inf)]
    low, high = interval(1.5, draws, 0.95, "percentile") or (0, 0)
    assert low == pytest.approx(1.02, abs=0.01)
    assert high == math.inf
    low, high = interval(-1.5, -draws, 0.95, "percentile") or (0, 0)
    assert low == -math.inf
    assert interval(math.inf, draws, 0.68) is not None


def test_ties_constants_and_too_few() -> None:
    assert interval(2.0, np.full(100, 2.0), 0.95) == (2.0, 2.0)
    low, high = interval(0.0, np.r_[np.zeros(90), np.linspace(0.01, 0.1, 10)], 0.95) or (1, 1)
    assert low == 0.0
    assert 0 < high <= 0.1
    assert interval(1.0, np.ones(19), 0.95) is None
    assert interval(math.nan, NORMAL, 0.95) is None
    assert interval(1.0, np.full(50, np.nan), 0.95) is None
    assert interval(1.0, np.r_[np.full(30, np.nan), np.ones(20)], 0.95) == (1.0, 1.0)
    assert interval(1.0, np.array([]), 0.95) is None


def test_band_is_interval_for_every_column() -> None:
    draws = RNG.normal(size=(200, 3))
    draws[:40, 1] = np.nan
    draws[:190, 2] = np.nan
    low, high = band([0.1, 0.0, 0.0], draws, 0.68)
    assert (low[0], high[0]) == interval(0.1, draws[:, 0], 0.68)
    assert (low[1], high[1]) == interval(0.0, draws[:, 1], 0.68)
    assert np.isnan([low[2], high[2]]).all()


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=20, max_size=60),
    st.floats(-1e3, 1e3),
    st.sampled_from(["bc", "percentile"]),
)
def test_intervals_are_ordered_nested_and_inside_the_draws(draws: list[float], central: float, method: str) -> None:
    inner = interval(central, np.array(draws), 0.68, method)  # type: ignore[arg-type]
    outer = interval(central, np.array(draws), 0.95, method)  # type: ignore[arg-type]
    assert inner is not None
    assert outer is not None
    slack = 1e-9
    assert min(draws) - slack <= outer[0] <= inner[0] + slack <= inner[1] + 2 * slack
    assert inner[1] <= outer[1] + slack <= max(draws) + 2 * slack


def test_an_end_at_which_the_draws_pile_up_is_not_determined() -> None:
    """An interval end is infinite if too many draws equal the parameter bound.

    The limit is 16 % of the draws for a 68 % interval, and 2.5 % for a 95 % interval.
    """
    inner = np.random.default_rng(0).uniform(0.4, 0.9, 1000)
    for share, ends68, ends95 in ((0.25, math.inf, math.inf), (0.05, None, math.inf), (0.0, None, None)):
        draws = np.where(np.arange(1000) < 1000 * share, 1.0, inner)
        found = parameter("a", float(np.median(draws)), draws, interval, (0.0, 1.0))
        for ends, expected in ((found.ci68, ends68), (found.ci95, ends95)):
            assert ends is not None
            assert ends[0] > 0.39
            assert ends[1] == expected if expected else 0.8 < ends[1] < 1
    low = parameter("a", 0.5, np.where(np.arange(1000) < 300, 0.0, inner), interval, (0.0, 1.0))
    assert low.ci68 is not None
    assert low.ci68[0] == -math.inf
    assert parameter("a", 1.0, np.ones(100), interval, (0.0, 1.0)).ci68 == (1.0, 1.0)


def test_open_ends_read_above_and_below() -> None:
    assert pair(0.694, (0.417, math.inf)) == "0.694 (above 0.417)"
    assert pair(0.313, (-math.inf, 0.558)) == "0.313 (below 0.558)"
    assert pair(0.5, (-math.inf, math.inf)) == "0.5 (not determined)"
