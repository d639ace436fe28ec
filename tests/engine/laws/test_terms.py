"""Tests of the terms of a law: values, gradients, and the linear form that the solver uses."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.fitting.solver.multistart import best_fit, predict
from isoplan.engine.fitting.solver.problem import problem
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws.law import Law, Param
from isoplan.engine.laws.terms import (
    Const,
    Exponential,
    Log,
    LogSquared,
    Offset,
    Power,
    Ratio,
    Reciprocal,
    Rising,
    SignedPower,
    Smooth,
    Term,
)

X = np.array([0.5, 1.0, 2.0, 8.0])
TERMS: list[tuple[Term, dict[str, float], list[float]]] = [
    (Const("a"), {"a": 3.0}, [3, 3, 3, 3]),
    (Offset("a", "x"), {"a": -3.0}, [-3, -3, -3, -3]),
    (Log("a", "x"), {"a": 2.0}, [2 * np.log(0.5), 0, 2 * np.log(2), 6 * np.log(2)]),
    (LogSquared("a", "x"), {"a": 2.0}, [2 * np.log(2) ** 2, 0, 2 * np.log(2) ** 2, 18 * np.log(2) ** 2]),
    (Reciprocal("a", "x"), {"a": 4.0}, [8, 4, 2, 0.5]),
    (Power("a", "x", "e"), {"a": 3.0, "e": 2.0}, [12, 3, 0.75, 3 / 64]),
    (Rising("a", "x", "e"), {"a": 3.0, "e": 2.0}, [0.75, 3, 12, 192]),
    (
        Exponential("a", "x", "e"),
        {"a": 3.0, "e": -0.5},
        [3 * np.exp(-0.25), 3 * np.exp(-0.5), 3 * np.exp(-1), 3 * np.exp(-4)],
    ),
    (SignedPower("a", "x", "e"), {"a": 3.0, "e": -2.0}, [12, 3, 0.75, 3 / 64]),
    (Ratio("a", "x", "e"), {"a": 4.0, "e": 0.5}, [8**0.5, 2, 2**0.5, 0.5**0.5]),
    (Smooth("a", "x", "e"), {"a": 4.0, "e": 8.0}, [8**0.5, 2, 2**0.5, 0.5**0.5]),
]


@pytest.mark.parametrize(("term", "v", "expected"), TERMS, ids=[type(t).__name__ for t, _, _ in TERMS])
def test_value_gradient_and_linear_form(term: Term, v: dict[str, float], expected: list[float]) -> None:
    values = {name: np.asarray(value) for name, value in v.items()}
    assert term.value(values, X) == pytest.approx(np.array(expected))
    for name, slope in term.gradient(values, X).items():
        up, down = ({**values, name: values[name] + sign * 1e-6} for sign in (1, -1))
        assert slope == pytest.approx((term.value(up, X) - term.value(down, X)) / 2e-6, rel=1e-7), name
    a = term.linear(values)
    if term.exponent is None:
        assert a * term.shape(X) == pytest.approx(np.array(expected))
        e = np.zeros(())
    else:
        e = term.rate(values[term.exponent])
        assert a * np.exp(-e * term.coordinate(X)) == pytest.approx(np.array(expected))
    assert {k: float(x) for k, x in term.from_linear(a, e).items()} == pytest.approx(v)


def free(name: str) -> Param:
    return Param(name, -np.inf, np.inf, "", "", name)


def law(*terms: Term) -> Law:
    params = tuple(free(n) for t in terms for n in t.params())
    return Law("made up", "", "", terms, params, "", "")


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_a_law_without_exponents_is_linear_least_squares(unit: float) -> None:
    x, random = np.geomspace(3, 4000, 12), np.random.default_rng(0)
    y = 7 - 0.4 * np.log(x) + 0.3 * np.log(x) ** 2 + 0.1 * random.normal(size=12)
    made = law(Offset("c", "x"), Log("b", "x"), LogSquared("a", "x"))
    p = problem(made, FitSpec(objective="ols"), {"x": x * unit}, y, np.ones(12))
    found = best_fit(p)
    expected = np.polyfit(np.log(x * unit), y, 2)[::-1]
    assert p.external(found.theta) == pytest.approx(expected, rel=1e-6)
    assert predict(p, found.theta[None])[0] == pytest.approx(made.predict(p.external(found.theta), {"x": x * unit}))


@pytest.mark.parametrize("rate", [-3.0, -0.2, 0.4, 5.0])
@pytest.mark.parametrize("amplitude", [-2.0, 2.0])
def test_an_exponential_of_either_sign_is_found(rate: float, amplitude: float) -> None:
    x = np.linspace(0.4, 1.6, 15)
    y = amplitude * np.exp(rate * x) + 1.5
    made = law(Exponential("A", "x", "B"), Offset("C", "x"))
    p = problem(made, FitSpec(objective="ols"), {"x": x}, y, np.ones(15))
    assert p.external(best_fit(p).theta) == pytest.approx([amplitude, rate, 1.5], rel=1e-6)
