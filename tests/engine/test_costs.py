"""Compute rules: C from N and D, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs import ComputeRule, compute_rule, increasing_root
from engine.errors import PlannerError

FORMULAS = ["6*N*D", "6*N*D + 2e9*D + 1e4*N", "6*N*D*log(D)", "(6*N + 1e6*sqrt(N))*D", "2*N^0.9*D^1.2"]


def test_six_n_d() -> None:
    rule = ComputeRule()
    assert rule.flops(70e9, 1.4e12) == pytest.approx(5.88e23)
    assert rule.samples(5.88e23, 70e9) == pytest.approx(1.4e12)
    assert rule.text == "C = 6 N D"


def test_tokens_per_sample_multiply_the_cost() -> None:
    rule = compute_rule("6npND", 40)
    assert rule.per_pair == 240
    assert rule.flops([1e6, 2e6], 1e8).tolist() == [2.4e16, 4.8e16]
    assert rule.text == "C = 6 n_p N D with n_p = 40"


@pytest.mark.parametrize("formula", FORMULAS)
@given(log_n=st.floats(5, 11), log_d=st.floats(6, 13))
def test_a_formula_is_solved_for_the_samples(formula: str, log_n: float, log_d: float) -> None:
    rule = compute_rule("formula", formula=formula)
    C = rule.flops(10.0**log_n, 10.0**log_d)
    assert rule.samples(C, 10.0**log_n) == pytest.approx(10.0**log_d, rel=1e-9)


def test_a_formula_is_solved_for_whole_columns() -> None:
    rule = compute_rule("formula", 40, "6*n_p*N*D + 1e12")
    C = np.logspace(14, 22, 50)
    D = rule.samples(C[:, None], np.array([1e5, 1e6]))
    np.testing.assert_allclose(rule.flops(np.array([1e5, 1e6]), D), np.broadcast_to(C[:, None], (50, 2)), rtol=1e-12)
    assert rule.text == "C = 6*n_p*N*D + 1e12 with n_p = 40"


def test_samples_that_nothing_buys_are_missing() -> None:
    rule = compute_rule("formula", formula="6*N*D + 1e12*N")
    assert np.isnan(rule.samples(1e15, 1e6))
    assert np.isnan(compute_rule("formula", formula="6*N*1e9").samples(1e15, 1e3))


def test_a_formula_reads_other_columns_of_the_runs() -> None:
    rule = compute_rule("formula", formula="6*N*U*epochs + batch")
    columns = {"U": np.array([1e6, 2e6]), "epochs": np.array([3.0, 4.0]), "batch": np.array([64.0, 128.0])}
    np.testing.assert_allclose(rule.flops(np.full(2, 1e3), np.array([3e6, 8e6]), columns), [1.8e10 + 64, 4.8e10 + 128])
    steps = compute_rule("formula", formula="6*N*D*batch")
    np.testing.assert_allclose(steps.samples([6e12, 6e12], 1e3, {"batch": np.array([10.0, 100.0])}), [1e8, 1e7])


def test_a_plan_of_a_formula_is_one_pass() -> None:
    assert compute_rule("formula", formula="6*N*U*epochs").flops(1e3, 1e6) == 6e9


@pytest.mark.parametrize(
    ("name", "n_p", "formula", "why"),
    [
        ("7ND", 1.0, "", "'7ND' is unknown: use 6ND, 6npND or formula"),
        ("6npND", 0.0, "", "n_p = 0 is not a number of tokens"),
        ("6npND", float("nan"), "", "n_p = nan"),
        ("formula", 1.0, "", "is empty"),
        ("formula", 1.0, "6*n_p", "uses no column"),
        ("formula", 1.0, "6*N*", "something is missing"),
        ("6ND", 1.0, "6*N*D", "takes no formula"),
    ],
)
def test_a_bad_rule_is_refused(name: str, n_p: float, formula: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        compute_rule(name, n_p, formula)


def test_a_formula_without_its_column_is_refused() -> None:
    with pytest.raises(PlannerError, match="uses 'batch', which is no column here"):
        compute_rule("formula", formula="6*N*D*batch").samples(1e18, 1e6)


def test_a_formula_has_no_cost_per_pair() -> None:
    with pytest.raises(PlannerError, match="no fixed number of FLOPs"):
        _ = compute_rule("formula", formula="6*N*D").per_pair


@pytest.mark.parametrize("rule", [ComputeRule(), compute_rule("6npND", 40), compute_rule("formula", 3, "6*n_p*N*D")])
def test_rules_survive_json(rule: ComputeRule) -> None:
    assert ComputeRule.model_validate_json(rule.model_dump_json()) == rule
    assert ("formula" in rule.to_json()) is (rule.rule == "formula")


def test_roots() -> None:
    square = increasing_root(lambda x, c: x**3 - c, 0.0, 10.0, np.array([8.0, 27.0, 1e9, -1.0]))
    np.testing.assert_allclose(square, [2.0, 3.0, np.nan, np.nan])
