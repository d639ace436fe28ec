"""Tests of derivatives from the formula tree, compared with finite differences and known derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import rosen_der, rosen_hess

from isoplan.engine.formula import Jet, jet, parse_formula

COLUMNS = {"N": np.array([1.5, 40.0, 3e3]), "D": np.array([7.0, 0.3, 90.0])}


def at(text: str, **theta: float) -> Jet:
    return jet(parse_formula(text).tree, COLUMNS, {name: np.array(v) for name, v in theta.items()})


def test_the_surface_law_has_its_textbook_derivatives() -> None:
    N, D, A, alpha = COLUMNS["N"], COLUMNS["D"], 2.0, 0.3
    found = at("E + A/N^alpha + B/D^beta", E=1.0, A=A, alpha=alpha, B=3.0, beta=0.4)
    np.testing.assert_allclose(found.value, 1 + A * N**-alpha + 3 * D**-0.4, rtol=1e-14)
    np.testing.assert_allclose(found.first["alpha"], -A * np.log(N) * N**-alpha, rtol=1e-14)
    np.testing.assert_allclose(found.second["A", "alpha"], -np.log(N) * N**-alpha, rtol=1e-14)
    assert set(found.second) == {("A", "alpha"), ("alpha", "alpha"), ("B", "beta"), ("beta", "beta")}


def test_rosenbrock_has_scipys_gradient_and_hessian() -> None:
    x = np.array([-0.7, 1.9, 0.4])
    text = "100*(y - x^2)^2 + (1 - x)^2 + 100*(z - y^2)^2 + (1 - y)^2"
    found = at(text, x=x[0], y=x[1], z=x[2])
    np.testing.assert_allclose([found.first[n] for n in "xyz"], rosen_der(x), rtol=1e-12)
    hessian = rosen_hess(x)
    for (i, j), value in found.second.items():
        np.testing.assert_allclose(value, hessian["xyz".index(i), "xyz".index(j)], rtol=1e-12)


@pytest.mark.parametrize(
    "text", ["a*b^2/N^a + exp(-a*b)*D", "min(a*N, b) - max(log(D + a^2), abs(b))", "a^b/(1 + b^2)"]
)
def test_a_jet_of_first_order_has_the_same_value_and_slopes(text: str) -> None:
    theta = {"a": np.array(0.7), "b": np.array(1.3)}
    first, both = (jet(parse_formula(text).tree, COLUMNS, theta, order) for order in (1, 2))
    np.testing.assert_array_equal(first.value, both.value)
    assert {name: x.tolist() for name, x in first.first.items()} == {n: x.tolist() for n, x in both.first.items()}
    assert not first.second


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("abs(a)", -1.0, 0.0),
        ("min(a, 3, b)", 1.0, 0.0),
        ("max(a^2, b)", -4.0, 2.0),
        ("sqrt(a^4)", -4.0, 2.0),
        ("exp(3*a)", 3 * math.exp(-6), 9 * math.exp(-6)),
        ("log(-a)", -0.5, -0.25),
        ("1/a", -0.25, -0.25),
        ("2^a", math.log(2) / 4, math.log(2) ** 2 / 4),
    ],
)
def test_functions_at_minus_two(text: str, first: float, second: float) -> None:
    found = at(text, a=-2.0, b=1.0)
    assert float(found.first["a"]) == pytest.approx(first, rel=1e-13)
    assert float(found.second.get(("a", "a"), np.zeros(()))) == pytest.approx(second, rel=1e-13)


def test_starts_and_rows_broadcast() -> None:
    tree = parse_formula("A/N^alpha + E").tree
    A, alpha = np.array([[1.0], [2.0]]), np.array([[0.1], [0.9]])
    found = jet(tree, COLUMNS, {"A": A, "alpha": alpha, "E": np.array([[0.0], [1.0]])})
    assert found.value.shape == (2, 3)
    np.testing.assert_allclose(found.value[1], 2 / COLUMNS["N"] ** 0.9 + 1, rtol=1e-14)
    np.testing.assert_allclose(found.first["alpha"], -A * COLUMNS["N"] ** -alpha * np.log(COLUMNS["N"]), rtol=1e-14)


def test_a_power_of_zero_has_no_slope() -> None:
    found = jet(parse_formula("x^a").tree, {"x": np.array([0.0, 2.0])}, {"a": np.array(0.5)})
    np.testing.assert_allclose(found.first["a"], [0.0, math.sqrt(2) * math.log(2)])


LEAVES = st.sampled_from(["a", "b", "N", "D", "0.5", "2"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, st.sampled_from("+-*/^"), inner).map(lambda t: f"({t[0]}){t[1]}({t[2]})")
    one = st.tuples(st.sampled_from(["log", "exp", "sqrt", "abs", "-"]), inner).map(lambda t: f"{t[0]}({t[1]})")
    many = st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
    return two | one | many


@given(st.recursive(LEAVES, _grown, max_leaves=8), st.floats(0.3, 2.5), st.floats(0.3, 2.5))
def test_derivatives_equal_numerical_differences(text: str, a: float, b: float) -> None:
    """The first and second derivatives equal central differences.

    Points near a kink or a pole are skipped: there the differences with two step sizes disagree.
    """
    found = at(text, a=a, b=b)

    def slope(h: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        up, down = at(text, a=a + h, b=b), at(text, a=a - h, b=b)
        first = [j.first.get("a", np.zeros(())) + np.zeros(3) for j in (up, down)]
        return np.array([(up.value - down.value) / (2 * h) + np.zeros(3), (first[0] - first[1]) / (2 * h)])

    with np.errstate(all="ignore"):
        wide, near = slope(2e-5), slope(1e-5)
    exact = np.array(
        [found.first.get("a", np.zeros(())) + np.zeros(3), found.second.get(("a", "a"), 0.0) + np.zeros(3)]
    )
    size = np.maximum(np.abs(found.value) + np.abs(exact), 1e-3)
    assume(bool(np.all(np.isfinite(near)) and np.all(np.abs(wide - near) < 1e-5 * size) and np.max(size) < 1e6))
    np.testing.assert_allclose(near, exact, atol=1e-4 * float(np.max(size)))
