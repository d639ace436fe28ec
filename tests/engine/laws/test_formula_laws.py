"""Tests of laws with a closed formula: published numbers, limits, and frontiers compared with a dense search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from isoplan.engine.costs import ComputeRule
from isoplan.engine.laws import Law, get_law, typed_law
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.laws.terms import Values

RULE = ComputeRule()
KAPLAN, CONSTRAINED = get_law("kaplan"), get_law("data-constrained")
SURFACE = typed_law("E + A/N^alpha + B/D^beta")
TABLE_2 = {"N_c": 6.4e13, "alpha_N": 0.076, "D_c": 1.8e13, "alpha_D": 0.103}
MUENNIGHOFF = {
    "E": math.exp(0.6254804),
    "A": math.exp(6.255414),
    "B": math.exp(7.3049974),
    "alpha": 0.3526596,
    "beta": 0.3526596,
    "R_D": 15.387756,
    "R_N": 5.309743,
}


def at(law: Law, values: dict[str, float], **columns: float) -> float:
    return float(law.predict([values[name] for name in law.names], columns))


def arrays(values: dict[str, float]) -> Values:
    return {name: np.array(value) for name, value in values.items()}


def test_kaplan_has_its_one_axis_limits() -> None:
    """Kaplan et al. 2020, eqs. 1.1 and 1.2 with the parameters of Table 2: L(N) at infinite D, L(D) at infinite N."""
    assert at(KAPLAN, TABLE_2, N=1e9, D=1e40) == pytest.approx((6.4e13 / 1e9) ** 0.076, rel=1e-9)
    assert at(KAPLAN, TABLE_2, N=1e40, D=1e10) == pytest.approx((1.8e13 / 1e10) ** 0.103, rel=1e-9)


def test_kaplan_overfits_by_two_per_cent_where_the_paper_says() -> None:
    """Kaplan et al. 2020, sec. 4.2: at D = 5e3 N^0.74 the loss is 2 % above the loss at infinite D."""
    for N in (1e6, 1e8, 1e10):
        excess = at(KAPLAN, TABLE_2, N=N, D=5e3 * N**0.74) / at(KAPLAN, TABLE_2, N=N, D=1e40) - 1
        assert excess == pytest.approx(0.02, abs=0.003)


def _best(law: Law, values: dict[str, float], C: float, **columns: float) -> tuple[float, float]:
    """Minimize the loss at compute ``C`` = 6 N D with scipy, and return the best N and its loss."""
    found = minimize_scalar(
        lambda x: at(law, values, N=math.exp(x), D=C / (6 * math.exp(x)), **columns),
        bounds=(math.log(1e4), math.log(1e14)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return math.exp(found.x), float(found.fun)


@given(st.floats(0.03, 0.5), st.floats(0.03, 0.5), st.floats(17, 24))
def test_kaplans_frontier_is_the_minimum_and_its_inverse_comes_back(alpha_n: float, alpha_d: float, c: float) -> None:
    values = {"N_c": 1e12, "alpha_N": alpha_n, "D_c": 3e12, "alpha_D": alpha_d}
    point = KAPLAN.frontier(arrays(values), np.array(10.0**c), RULE)  # type: ignore[misc]
    assert float(6 * point.N * point.D) == pytest.approx(10.0**c, rel=1e-9)
    assert float(point.loss) == pytest.approx(at(KAPLAN, values, N=float(point.N), D=float(point.D)), rel=1e-9)
    for factor in (0.99, 1.01):
        assert at(KAPLAN, values, N=float(point.N) * factor, D=float(point.D) / factor) > float(point.loss)
    back = KAPLAN.least_compute(arrays(values), point.loss, RULE)  # type: ignore[misc]
    assert float(back.C) == pytest.approx(10.0**c, rel=1e-6)
    assert float(back.N) == pytest.approx(float(point.N), rel=1e-6)


def test_kaplan_under_a_typed_rule_is_what_it_is_under_the_same_closed_one() -> None:
    rule = ComputeRule(rule="formula", formula="6*N*D")
    closed = KAPLAN.frontier(arrays(TABLE_2), np.array([1e19, 1e22]), RULE)  # type: ignore[misc]
    found = KAPLAN.frontier(arrays(TABLE_2), np.array([1e19, 1e22]), rule)  # type: ignore[misc]
    np.testing.assert_allclose(found.N, closed.N, rtol=1e-5)
    np.testing.assert_allclose(found.loss, closed.loss, rtol=1e-10)


def test_one_pass_over_the_data_is_the_surface_law() -> None:
    """The data-constrained law equals the Chinchilla law if D = U and if N is not larger than the compute-optimal N."""
    surface = {name: MUENNIGHOFF[name] for name in CHINCHILLA.names}
    best = CHINCHILLA.frontier(arrays(surface), np.array(1e21), RULE)  # type: ignore[misc]
    N, D = float(best.N), float(best.D)
    assert at(CONSTRAINED, MUENNIGHOFF, N=N * 0.9, D=D, U=D) == pytest.approx(at(CHINCHILLA, surface, N=N * 0.9, D=D))
    same = CONSTRAINED.frontier(arrays(MUENNIGHOFF), np.array(1e21), RULE)  # type: ignore[misc]
    assert float(same.N) == pytest.approx(N)


def test_repetition_is_worth_what_the_paper_says() -> None:
    """Repeated without limit, U unique samples are worth ``U * (1 + R_D)`` samples.

    The loss after 4 epochs is less than 1 % above the loss with ``4 * U`` unique samples.
    Source: Muennighoff et al. 2023, sec. 3.1 and 6.
    """
    U, N = 1e9, 1e7
    floor = MUENNIGHOFF["E"] + MUENNIGHOFF["A"] / N ** MUENNIGHOFF["alpha"]
    limit = floor + MUENNIGHOFF["B"] / (U * (1 + MUENNIGHOFF["R_D"])) ** MUENNIGHOFF["beta"]
    assert at(CONSTRAINED, MUENNIGHOFF, N=N, D=1e16, U=U) == pytest.approx(limit, rel=1e-9)
    fresh, four = (at(CONSTRAINED, MUENNIGHOFF, N=N, D=4 * U, U=u) for u in (4 * U, U))
    assert 0 < four / fresh - 1 < 0.01


def test_the_frontier_with_few_unique_samples_is_the_minimum() -> None:
    U, C = 1e9, 1e22
    N, loss = _best(CONSTRAINED, MUENNIGHOFF, C, U=U)
    point = CONSTRAINED.frontier(arrays({**MUENNIGHOFF, "U": U}), np.array(C), RULE)  # type: ignore[misc]
    assert float(point.N) == pytest.approx(N, rel=1e-4)
    assert float(point.loss) == pytest.approx(loss, rel=1e-10)
    free = CONSTRAINED.frontier(arrays(MUENNIGHOFF), np.array(C), RULE)  # type: ignore[misc]
    assert float(free.loss) < loss
    back = CONSTRAINED.least_compute(arrays({**MUENNIGHOFF, "U": U}), point.loss, RULE)  # type: ignore[misc]
    assert float(back.C) == pytest.approx(C, rel=1e-4)
    never = CONSTRAINED.least_compute(arrays({**MUENNIGHOFF, "U": U}), free.loss, RULE)  # type: ignore[misc]
    assert np.isinf(never.C)


@pytest.mark.parametrize("breaks", ["broken", "broken-2"])
def test_a_broken_power_law_has_its_slopes_before_and_after(breaks: str) -> None:
    """The log-log slope is -c0 before the first break and -(c0 + c1 + ...) after the last.

    Source: Caballero et al. 2022, sec. 2.
    """
    law = get_law(breaks, "D")
    values = {"a": 0.0, "b": 5.0, "c0": 0.2, "c1": 0.3, "d1": 1e6, "f1": 0.4, "c2": -0.1, "r2": 1e4, "f2": 0.3}

    def slope(x: float) -> float:
        return math.log(at(law, values, D=x * 1.01) / at(law, values, D=x)) / math.log(1.01)

    assert slope(1e-3) == pytest.approx(-0.2, abs=1e-6)
    assert slope(1e8) == pytest.approx(-0.5, abs=1e-3)
    assert slope(1e17) == pytest.approx(-0.4 if breaks == "broken-2" else -0.5, abs=1e-6)
    assert at(law, values, D=1e6) == pytest.approx(5 * 1e6**-0.2 * 2 ** (-0.3 * 0.4), rel=1e-3)


def test_a_broken_power_law_inverts() -> None:
    law = get_law("broken", "C")
    values = arrays({"a": 1.0, "b": 50.0, "c0": 0.1, "c1": 0.1, "d1": 1e19, "f1": 1.0})
    point = law.frontier(values, np.geomspace(1e17, 1e22, 6), RULE)  # type: ignore[misc]
    back = law.least_compute(values, point.loss, RULE)  # type: ignore[misc]
    np.testing.assert_allclose(back.C, np.geomspace(1e17, 1e22, 6), rtol=1e-9)
    assert np.isinf(law.least_compute(values, np.array(0.9), RULE).C)  # type: ignore[misc]


def test_a_typed_surface_plans_as_the_surface_law_does() -> None:
    values = arrays({name: MUENNIGHOFF[name] for name in CHINCHILLA.names})
    C = np.geomspace(1e18, 1e24, 4)
    known, found = CHINCHILLA.frontier(values, C, RULE), SURFACE.frontier(values, C, RULE)  # type: ignore[misc]
    np.testing.assert_allclose(found.N, known.N, rtol=1e-6)
    np.testing.assert_allclose(found.loss, known.loss, rtol=1e-12)
    np.testing.assert_allclose(SURFACE.least_compute(values, known.loss, RULE).C, C, rtol=1e-7)  # type: ignore[misc]
    draws = {name: np.repeat(value, 3)[:, None] for name, value in values.items()}
    assert SURFACE.frontier(draws, C, RULE).N.shape == (3, 4)  # type: ignore[misc]


def test_a_curve_that_rises_again_beyond_the_runs_still_reaches_its_target() -> None:
    law = get_law("broken", "D")
    values = arrays({"a": 1.0, "b": 50.0, "c0": 0.2, "c1": -0.3, "d1": 1e12, "f1": 0.5})
    assert law.inverse is not None
    target = at(law, {name: float(x) for name, x in values.items()}, D=1e9)
    assert float(law.inverse(values, np.array(target))) == pytest.approx(1e9, rel=1e-9)
    assert np.isinf(law.inverse(values, np.array(0.9)))
