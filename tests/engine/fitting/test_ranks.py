"""Tests of the rank correlation, compared with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from isoplan.engine.fitting.types.optimum_location import rank_correlation


@given(st.permutations(range(8)))
def test_it_is_scipys(order: list[int]) -> None:
    x, y = np.arange(8.0), np.array(order, float) ** 3
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


def test_what_does_not_vary_has_none() -> None:
    assert rank_correlation(np.ones(5), np.arange(5.0)) == 0.0
    assert rank_correlation(np.ones(1), np.ones(1)) == 0.0
