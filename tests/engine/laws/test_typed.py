"""Tests of laws from typed formulas: their columns and parameters, and errors for invalid formulas."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import typed_law
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA

SURFACE = "E + A/N^alpha + B/D^beta"
COLUMNS = {"N": np.array([1e6, 1e8, 1e9]), "D": np.array([1e9, 1e8, 1e10])}


def test_the_typed_surface_is_the_surface_law() -> None:
    law = typed_law(SURFACE)
    assert law.names == ("E", "A", "alpha", "B", "beta")
    assert law.axes == ("N", "D")
    assert law.latex == r"L(N, D) = E + \frac{A}{N^{\alpha}} + \frac{B}{D^{\beta}}"
    theta, same = [1.8, 480.0, 0.35, 2100.0, 0.37], [1.8, 480.0, 2100.0, 0.35, 0.37]
    np.testing.assert_allclose(law.predict(theta, COLUMNS), CHINCHILLA.predict(same, COLUMNS), rtol=1e-14)
    own, known = law.gradient(theta, COLUMNS), CHINCHILLA.gradient(same, COLUMNS)
    np.testing.assert_allclose(own, known[:, [0, 1, 3, 2, 4]], rtol=1e-13)


def test_resamples_and_rows_broadcast() -> None:
    law = typed_law(SURFACE)
    theta = np.array([[1.8, 480.0, 0.35, 2100.0, 0.37], [2.0, 480.0, 0.35, 2100.0, 0.37]])
    assert law.predict(theta, COLUMNS).shape == (2, 3)
    assert law.gradient(theta, COLUMNS).shape == (2, 3, 5)
    np.testing.assert_allclose(np.diff(law.predict(theta, COLUMNS), axis=0), 0.2, rtol=1e-12)


def test_columns_of_the_table_are_variables_and_case_matters() -> None:
    assert typed_law("a*lr^b + c/N", columns=("lr", "N")).axes == ("N", "lr")
    assert typed_law("a*lr^b + c/N").names == ("a", "lr", "b", "c")
    assert typed_law("n*N^-d + u", columns=("N", "D")).names == ("n", "d", "u")
    assert typed_law('a + b*"batch size"', columns=("batch size",)).latex.startswith(r"L(\mathrm{batch\ size})")


def test_a_parameter_whose_power_is_taken_is_positive() -> None:
    law = typed_law("(N_c/N)^(alpha_N/alpha_D) + k*D^2 + x^2")
    low = {p.name: p.low for p in law.params}
    assert low == {"N_c": 0.0, "alpha_N": -np.inf, "alpha_D": -np.inf, "k": -np.inf, "x": -np.inf}


def test_bounds_are_those_given() -> None:
    law = typed_law(SURFACE, bounds=(("alpha", 0.0, 2.0), ("E", 0.0, None)))
    assert (law.param("alpha").low, law.param("alpha").high) == (0.0, 2.0)
    assert (law.param("E").low, law.param("E").high) == (0.0, np.inf)


def test_more_is_better_turns_the_law_around() -> None:
    law = typed_law("R - A/N^alpha", turned=True)
    assert law.predict([0.9, 2.0, 0.5], {"N": 4.0}) == pytest.approx(0.1)
    assert law.gradient([0.9, 2.0, 0.5], {"N": 4.0})[0] == -1
    assert law.latex.startswith("y(N) = R")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "needs a formula: type one such as"),
        ("A + B", "uses no column: a law reads N, D, C, U, epochs"),
        ("a/n^b", "uses no column"),
        ("6*N*D", "has no parameter, so there is nothing to fit"),
        ('A/N + "batch"', "uses 'batch', which is not a column of the runs"),
        ("N*(" + "+".join("abcdefghijklm") + ")", "has 13 parameters .*: use at most 12"),
        ("__import__('os')", "has no meaning here"),
        ("A/N.__class__", "'.' has no meaning here"),
        ("A/N[0]", "has no meaning here"),
        ("(lambda: A)/N", "has no meaning here"),
        ("A/N^1000", "an exponent that is a number must be between"),
        ("A+" * 1500 + "N", "3,001 characters: use at most 2,000"),
        ("(" * 31 + "A" + ")" * 31 + "/N", "nested more than 30 deep"),
    ],
)
def test_what_is_no_law_is_refused(text: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        typed_law(text)


@pytest.mark.parametrize(
    ("bound", "why"),
    [
        (("gamma", 0.0, 1.0), "'gamma' has a bound but is not a parameter: the parameters of the formula are E, A"),
        (("N", 0.0, 1.0), "'N' has a bound but is not a parameter"),
        (("alpha", 2.0, 1.0), "bounds of alpha are 2 to 1"),
        (("alpha", 1.0, 1.0), "bounds of alpha are 1 to 1"),
    ],
)
def test_bad_bounds_are_named(bound: tuple[str, float, float], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        typed_law(SURFACE, bounds=(bound,))


@given(st.text(max_size=80) | st.text(alphabet="NDabE+-*/^()., 0123456789\"_[]'", max_size=40))
def test_any_text_is_a_law_or_a_sentence(text: str) -> None:
    with suppress(PlannerError):
        law = typed_law(text)
        assert law.axes
        assert law.predict(np.ones(len(law.names)), dict.fromkeys(law.axes, 2.0)) is not None
