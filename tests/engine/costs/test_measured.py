"""Tests of compute rules fitted to the measured compute C of runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.costs.measured import fit_powers, fit_zeta
from isoplan.engine.errors import PlannerError


def grid(n: int = 5) -> tuple[Floats, Floats]:
    """Return N and D of the points of a grid. Each of ``n`` values of N is combined with each of ``n`` values of D."""
    N, D = np.meshgrid(np.logspace(4, 8, n), np.logspace(5, 9, n))
    return N.ravel(), D.ravel()


@given(st.floats(0.01, 1e6))
def test_an_exact_table_gives_its_zeta_back(zeta: float) -> None:
    N, D = grid()
    found = fit_zeta(N, D, zeta * N * D)
    assert found.rule.per_pair == pytest.approx(zeta, rel=1e-9)
    assert found.scatter == pytest.approx(0, abs=1e-9)


@given(st.floats(-6, 6), st.floats(0.3, 2), st.floats(0.3, 2))
def test_an_exact_table_gives_its_powers_back(log_zeta: float, a: float, b: float) -> None:
    N, D = grid()
    found = fit_powers(N, D, 10**log_zeta * N**a * D**b)
    assert (found.rule.a, found.rule.b) == pytest.approx((a, b), rel=1e-9)
    assert found.rule.zeta == pytest.approx(10**log_zeta, rel=1e-7)
    assert found.rule.samples(found.rule.flops(1e6, 1e7), 1e6) == pytest.approx(1e7, rel=1e-9)


def test_scatter_and_errors_are_those_of_the_noise() -> None:
    N, D = (np.tile(x, 40) for x in grid())
    random = np.random.default_rng(1)
    C = 240 * N**0.97 * D**1.02 * np.exp(random.normal(0, 0.02, N.size))
    found = fit_powers(N, D, C)
    assert found.scatter == pytest.approx(0.02, rel=0.05)
    for value, truth, se in zip(
        (np.log(found.rule.zeta), found.rule.a, found.rule.b), (np.log(240), 0.97, 1.02), found.se, strict=True
    ):
        assert abs(value - truth) < 4 * se
    assert found.text.endswith("fitted to 1000 runs that scatter by 2 %")


def test_the_mean_of_zeta_has_the_error_of_a_mean() -> None:
    N, D = grid(10)
    C = 6 * N * D * np.exp(np.random.default_rng(2).normal(0, 0.1, N.size))
    found = fit_zeta(N, D, C)
    assert found.se[0] == pytest.approx(0.01, rel=0.3)
    assert abs(np.log(found.rule.per_pair / 6)) < 4 * found.se[0]
    assert isinstance(found.rule, ComputeRule)
    assert found.rule.proportional


@pytest.mark.parametrize(
    ("N", "D", "C", "why"),
    [
        ([1e6, 1e7], [1e8], [6e14, 6e15], "same runs, but the numbers of values differ: 2 of N, 1 of D, 2 of C"),
        ([1e6], [1e8], [6e14], "at least 2 runs with a measured C, but got 1"),
        ([1e6, 0.0], [1e8, 1e8], [6e14, 6e15], "N = 0 of run 2 is not positive"),
        ([1e6, 1e7], [1e8, 1e8], [np.nan, 6e15], "C = nan of run 1 is not positive"),
        ([1e6, 1e7], [1e8, 1e8], [0.6, 6.0], "zeta = 6e-15 FLOPs .* give C in FLOPs"),
    ],
)
def test_a_table_that_gives_no_zeta_is_refused(N: list[float], D: list[float], C: list[float], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        fit_zeta(N, D, C)


def test_a_table_that_gives_no_powers_is_refused() -> None:
    x = np.logspace(5, 9, 9)
    with pytest.raises(PlannerError, match="do not vary independently"):
        fit_powers(x, 20 * x, 120 * x**2)
    with pytest.raises(PlannerError, match="do not vary independently"):
        fit_powers(x, np.full(9, 1e8), 6e8 * x)
    N, D = grid()
    with pytest.raises(PlannerError, match=r"falls with N \(as N\^-0.5\)"):
        fit_powers(N, D, D / N**0.5)
    with pytest.raises(PlannerError, match="at least 4 runs with a measured C, but got 3"):
        fit_powers(x[:3], x[:3] ** 2, x[:3] ** 3)
