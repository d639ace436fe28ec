"""Tests of the grammar of typed formulas."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import parse_formula


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6*N*D", 6 * 2 * 3),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 - 3 - 4", -5),
        ("24 / 4 / 2", 3),
        ("2^3^2", 512),
        ("2**-1", 0.5),
        ("-2^2", -4),
        ("--2", 2),
        ("+N", 2),
        ("log(exp(2))", 2),
        ("sqrt(16) + min(1, 2, 3) + max(4, 5)", 10),
        ("1e3 + .5 + 2.", 1002.5),
        ('"batch size" * n', 70),
        ("log", 11),
    ],
)
def test_formulas_mean_what_they_mean_on_paper(text: str, value: float) -> None:
    columns = {"N": 2.0, "D": 3.0, "n": 10.0, "batch size": 7.0, "log": 11.0}
    assert parse_formula(text)(columns) == pytest.approx(value, rel=1e-15)


def test_columns_broadcast_and_missing_cells_stay_missing() -> None:
    N = np.array([1.0, np.nan, 3.0])
    value = parse_formula("6*N*D")({"N": N, "D": 2.0})
    np.testing.assert_array_equal(value, [12.0, np.nan, 36.0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("6 N D", "character 3: expected an operator, found 'N'"),
        ("1 +", "something is missing at the end"),
        ("(1", "a parenthesis is not closed"),
        ("1)", "expected an operator, found '\\)'"),
        ("foo(2)", "no function 'foo'"),
        ("log(1, 2)", "takes one argument, not 2"),
        ("__import__('os')", "has no meaning here"),
        ("N.__class__", "'.' has no meaning here"),
        ("N[0]", "has no meaning here"),
        ("a if b else c", "expected an operator"),
        ("lambda: 0", "has no meaning here"),
        ("x := 1", "has no meaning here"),
        ("é", "has no meaning here"),
        ("(" * 40 + "1" + ")" * 40, "nested more than 30 deep"),
        ("-" * 40 + "1", "nested more than 30 deep"),
        ("N+" * 1500 + "1", "3,001 characters: use at most 2,000"),
    ],
)
def test_what_is_no_formula_is_refused_where_it_goes_wrong(text: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        parse_formula(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("6*N*B", "uses 'B', which is not a column: the columns are D, N"),
        ("__import__", "uses '__import__'"),
        ("D / (N - 2)", "divides by zero in row 8"),
        ("log(N - 3)", "no finite number in row 7"),
        ("exp(1000 * N)", "no finite number"),
        ("(0-1)^0.5 * N", "no finite number"),
    ],
)
def test_what_a_formula_cannot_compute_is_named(text: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        parse_formula(text)({"N": np.array([1.0, 2.0]), "D": 3.0}, np.array([7, 8]))


def test_numbers_that_are_no_rows_are_not_called_rows() -> None:
    with pytest.raises(PlannerError) as error:
        parse_formula("D / (N - 2)")({"N": np.array([1.0, 2.0]), "D": 3.0})
    assert "row" not in str(error.value)


def test_a_long_sum_needs_no_deep_stack() -> None:
    assert parse_formula("+".join(["N"] * 999))({"N": 1.0}) == 999


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")


@given(st.recursive(st.floats(0.1, 10).map(repr) | st.sampled_from(["N", "D"]), _joined, max_leaves=12))
def test_arithmetic_agrees_with_python(text: str) -> None:
    columns = {"N": 2.5, "D": 0.7}
    try:
        expected = eval(text, {"__builtins__": {}}, columns)
    except ZeroDivisionError:
        expected = math.nan
    if math.isfinite(expected):
        assert parse_formula(text)(columns) == expected


@given(st.text(max_size=60))
def test_any_text_is_a_formula_or_a_sentence(text: str) -> None:
    with suppress(PlannerError):
        assert parse_formula(text)({"N": 1.0, "D": 2.0}) is not None


def test_exponents_and_numbers_are_bounded() -> None:
    with pytest.raises(PlannerError, match=r"character 3: an exponent that is a number must be between -100 and 100"):
        parse_formula("N^9999999")
    with pytest.raises(PlannerError, match="an exponent that is a number must be between"):
        parse_formula("N^(1/0)")
    with pytest.raises(PlannerError, match="number 1e999 is too large"):
        parse_formula("N + 1e999")
    assert parse_formula("N^99")({"N": 1.0}) == 1.0


def test_equal_parts_are_one_object() -> None:
    tree = parse_formula("(N + D)^2 + log(N + D)").tree
    assert tree.children[0].children[0] is tree.children[1].children[0]


def test_parts_that_read_the_table_alone_are_checked_before_a_fit() -> None:
    columns, ids = {"N": np.array([1.0, 2.0]), "D": np.array([3.0, 0.0])}, np.array([7, 8])
    parse_formula("A/N + B*D").check(columns, ids)
    with pytest.raises(PlannerError, match="divides by zero in row 8"):
        parse_formula("A/N + B/D").check(columns, ids)
    with pytest.raises(PlannerError, match="no finite number in row 8"):
        parse_formula("A*log(D) + B").check(columns, ids)
