"""Tests of all laws: closed forms compared with numerical results, gradients, and catalogue entries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import LAWS, OF_CELLS, ONE_AXIS, Law, get_law
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA

RULE = ComputeRule(rule="6npND", n_p=40)
PARAMS = st.tuples(st.floats(0, 3), st.floats(0.5, 1e4), st.floats(0.5, 1e5), st.floats(0.1, 1.2), st.floats(0.1, 1.2))
DESCRIBED = (*LAWS, *OF_CELLS)
IDS = [f"{law.name}-{law.axis}" for law in DESCRIBED]


def values(theta: tuple[float, ...], law: Law = CHINCHILLA) -> dict[str, np.ndarray]:
    return law.values(np.array(theta))


@settings(deadline=None, max_examples=60)
@given(PARAMS, st.floats(15, 26))
def test_the_frontier_is_the_numerical_minimum(theta: tuple[float, ...], log_c: float) -> None:
    C = 10.0**log_c
    at = CHINCHILLA.frontier(values(theta), np.array(C), RULE)  # type: ignore[misc]
    assert RULE.flops(at.N, at.D) == pytest.approx(C, rel=1e-9)

    def reducible(log_n: float) -> float:
        N = np.exp(log_n)
        return float(CHINCHILLA.predict((0.0, *theta[1:]), {"N": N, "D": RULE.samples(C, N)}))

    middle = float(np.log(at.N))
    found = minimize_scalar(reducible, bracket=(middle - 2, middle + 2.5), tol=1e-12)
    assert float(at.loss) - theta[0] == pytest.approx(found.fun, rel=1e-6)
    # The loss is flat at its minimum, so log N is accurate only to the square root of the tolerance.
    assert middle == pytest.approx(found.x, abs=2e-5)


@settings(deadline=None, max_examples=60)
@given(PARAMS, st.floats(15, 26))
def test_least_compute_is_the_inverse_of_the_frontier(theta: tuple[float, ...], log_c: float) -> None:
    # E = 0, because the subtraction of a floor from the loss would lose digits.
    v = values((0.0, *theta[1:]))
    at = CHINCHILLA.frontier(v, np.array(10.0**log_c), RULE)  # type: ignore[misc]
    back = CHINCHILLA.least_compute(v, at.loss, RULE)  # type: ignore[misc]
    assert float(back.C) == pytest.approx(10.0**log_c, rel=1e-6)
    assert float(back.N) == pytest.approx(float(at.N), rel=1e-6)
    below = CHINCHILLA.least_compute(values(theta), np.array(theta[0]), RULE)  # type: ignore[misc]
    assert np.isinf([below.C, below.N, below.D]).all()


def test_jets_table_1_gives_its_published_exponents() -> None:
    derived = {d.name: float(d.value(values((0.32, 11.27, 7.22, 0.44, 0.22)))) for d in CHINCHILLA.derived}
    assert derived["a"] == pytest.approx(1 / 3, abs=5e-4)
    assert derived["gamma"] == pytest.approx(0.147, abs=5e-4)
    assert derived["a"] + derived["b"] == pytest.approx(1)
    at = CHINCHILLA.frontier(values((0.32, 11.27, 7.22, 0.44, 0.22)), np.array([1e18, 1e19]), RULE)  # type: ignore[misc]
    assert np.diff(np.log10(at.N))[0] == pytest.approx(1 / 3, abs=1e-9)
    assert np.diff(np.log10(at.loss - 0.32))[0] == pytest.approx(-0.44 * 0.22 / 0.66, abs=1e-9)


@pytest.mark.parametrize("law", DESCRIBED, ids=IDS)
def test_gradient_is_the_numerical_one_and_the_loss_falls(law: Law) -> None:
    sizes = {"E": 0.3, "K": 0.3, "A": 20, "B": 30, "X_c": 1e5, "C_L": 1e15}
    sizes |= {"N_c": 1e10, "D_c": 1e11, "R_D": 10, "R_N": 5, "b": 20, "d1": 1e7, "r2": 20} if law.terms == () else {}
    theta = np.array([sizes.get(n, 0.3) for n in law.names])
    x = {a: np.geomspace(1e6, 1e9, 7) for a in law.axes}
    gradient = law.gradient(theta, x)
    assert gradient.shape == (7, len(theta))
    for i, name in enumerate(law.names):
        step = np.zeros_like(theta)
        step[i] = 1e-5 * theta[i]
        numerical = (law.predict(theta + step, x) - law.predict(theta - step, x)) / (2 * step[i])
        assert gradient[:, i] == pytest.approx(numerical, rel=1e-6, abs=1e-10), name
    assert (np.diff(law.predict(theta, x)) * (-1 if law.symbol == "L" else 1) > 0).all()
    assert law.predict(np.array([theta, theta]), x).shape == (2, 7)


@pytest.mark.parametrize("law", DESCRIBED, ids=IDS)
def test_every_law_describes_itself(law: Law) -> None:
    assert law.latex.startswith(f"{law.symbol}(")
    assert law.summary
    assert law.reference
    assert law.needs
    assert {n for t in law.terms for n in t.params()} <= set(law.names)
    assert get_law(law.name, law.axis) is law
    for term in law.terms:  # Convert the parameters to the linear form and back.
        v = law.values(np.full(len(law.names), 0.7))
        exponent = v[term.exponent] if term.exponent else np.zeros(())
        back = term.from_linear(term.linear(v), exponent)
        assert {k: float(x) for k, x in back.items()} == pytest.approx(dict.fromkeys(back, 0.7))


@pytest.mark.parametrize("axis", ["N", "D", "C"])
def test_the_one_axis_law_inverts(axis: str) -> None:
    law = get_law("power", axis)
    v = values((0.5, 1e4, 0.4), law)
    x = np.geomspace(1e5, 1e9, 5)
    loss = law.predict((0.5, 1e4, 0.4), {axis: x})
    at = law.least_compute(v, loss, RULE)  # type: ignore[misc]
    assert getattr(at, axis) == pytest.approx(x, rel=1e-9)
    assert np.isinf(getattr(law.least_compute(v, np.array(0.4), RULE), axis))  # type: ignore[misc]


def test_isoflop_frontier_and_inverse() -> None:
    law = get_law("isoflop")
    v = values((3.33e-4, 0.6175, 499, 0.3825, 1.5, 1e16, 0.12), law)
    C = np.array([1e15, 1e19])
    at = law.frontier(v, C, RULE)  # type: ignore[misc]
    assert at.N == pytest.approx(3.33e-4 * C**0.6175)
    assert at.D == pytest.approx(499 * C**0.3825)
    assert law.least_compute(v, at.loss, RULE).C == pytest.approx(C, rel=1e-9)  # type: ignore[misc]
    assert np.isinf(law.least_compute(v, np.array(1.5), RULE).C)  # type: ignore[misc]


def test_unknown_law_axis_parameter_and_column_are_named() -> None:
    with pytest.raises(PlannerError, match=r"'kaplun' is unknown: use one of chinchilla, power, isoflop"):
        get_law("kaplun")
    with pytest.raises(PlannerError, match="power needs an axis: choose N, D, C, U, epochs or a hyperparameter"):
        get_law("power")
    with pytest.raises(PlannerError, match="no parameter 'delta': its parameters are E, A, B, alpha, beta"):
        CHINCHILLA.param("delta")
    with pytest.raises(PlannerError, match="needs a column D"):
        CHINCHILLA.predict(np.ones(5), {"N": [1.0]})


def test_a_vanished_term_predicts_the_floor_alone() -> None:
    law = get_law("power", "D")
    assert law.predict((0.5, 0.0, 0.4), {"D": [1e3, 1e9]}) == pytest.approx([0.5, 0.5])
    assert CHINCHILLA.predict((0.5, 0.0, 0.0, 1.0, 1.0), {"N": 1e6, "D": 1e6}) == pytest.approx(0.5)


def test_every_law_has_a_name_in_words() -> None:
    titles = [law.family_title for law in ONE_AXIS] + [law.title for law in (*LAWS, *OF_CELLS)]
    assert len(set(titles)) == len(titles)
    assert CHINCHILLA.title == "Loss over size and data (Chinchilla)"
    assert get_law("power", "D").title == "Loss over data (power law)"
    assert get_law("starvation", "lr").title == "Optimum over lr (two powers)"
    assert get_law("starvation", "lr").family_title == "Optimum over one column (two powers)"
