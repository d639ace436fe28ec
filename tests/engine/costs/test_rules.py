"""Tests of compute rules: compute C from N and D, and D from C and N."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.costs import ComputeRule, TwoPart, compute_rule, increasing_root, read_rule
from isoplan.engine.errors import PlannerError

PARTS = TwoPart(s=0.02, h=100, B=256)
CLOSED = [
    ComputeRule(),
    compute_rule("6npND", 40),
    ComputeRule(rule="zetaND", zeta=12),
    ComputeRule(rule="per-epoch", n_p=40, epochs=10),
    ComputeRule(rule="powers", zeta=3.0, a=1.1, b=0.9),
    ComputeRule(rule="step", parts=PARTS),
    ComputeRule(rule="stage2", parts=PARTS.model_copy(update={"K": 5e5})),
]
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
    with pytest.raises(PlannerError, match="uses 'batch', which is not a column"):
        compute_rule("formula", formula="6*N*D*batch").samples(1e18, 1e6)


@pytest.mark.parametrize("rule", [compute_rule("formula", formula="6*N*D"), *CLOSED[4:]], ids=lambda r: r.rule)
def test_a_rule_that_is_no_product_has_no_cost_per_pair(rule: ComputeRule) -> None:
    assert not rule.proportional
    with pytest.raises(PlannerError, match="does not give a fixed number of FLOPs"):
        _ = rule.per_pair


@pytest.mark.parametrize("rule", [*CLOSED, compute_rule("formula", 3, "6*n_p*N*D")], ids=lambda r: r.rule)
def test_rules_survive_json(rule: ComputeRule) -> None:
    assert ComputeRule.model_validate_json(rule.model_dump_json()) == rule
    assert read_rule(json.loads(json.dumps(rule.to_json()))) == rule
    assert ("formula" in rule.to_json()) is (rule.rule == "formula")


def test_what_mappings_keep_of_the_first_rules_has_not_changed() -> None:
    assert ComputeRule().model_dump_json() == '{"rule":"6ND","n_p":1.0,"formula":""}'
    assert str(compute_rule("6npND", 40)) == "rule='6npND' n_p=40.0 formula=''"
    assert compute_rule("6npND", 40).to_json() == {"rule": "6npND", "n_p": 40.0}


@pytest.mark.parametrize("rule", CLOSED, ids=lambda r: r.rule)
@given(log_n=st.floats(3, 12), log_d=st.floats(3, 14))
def test_samples_invert_flops(rule: ComputeRule, log_n: float, log_d: float) -> None:
    N, D = 10.0**log_n, 10.0**log_d
    assert rule.samples(rule.flops(N, D), N) == pytest.approx(D, rel=1e-9)
    assert rule.flops_anywhere(N, D) == rule.flops(N, D)


@pytest.mark.parametrize("rule", CLOSED, ids=lambda r: r.rule)
@given(up=st.floats(1.001, 100))
def test_more_of_anything_costs_more(rule: ComputeRule, up: float) -> None:
    assert rule.flops(1e6 * up, 1e8) > rule.flops(1e6, 1e8)
    assert rule.flops(1e6, 1e8 * up) > rule.flops(1e6, 1e8)
    assert rule.samples(1e18 * up, 1e6) > rule.samples(1e18, 1e6)


def test_rules_say_themselves() -> None:
    assert [rule.text for rule in CLOSED[2:]] == [
        "C = 12 N D",
        "C = 6 n_p N U x epochs with n_p = 40, epochs = 10 and D = U, the number of unique samples",
        "C = 3 N^1.1 D^0.9",
        "C = 6 D (t p_e + p + 3 B L h) with p_e = 2 % of N, t = 24, B = 256, L = 256, h = 100",
        "C = D (6 p + 4 (B L + K) h) with p_e = 2 % of N, B = 256, L = 256, h = 100, K = 500000 "
        "(counted in Isoplan's trainer, not published)",
    ]
    once = ComputeRule(rule="per-epoch", epochs=3).text
    assert once == "C = 6 N U x epochs with epochs = 3 and D = U, the number of unique samples"


def test_epochs_multiply_the_cost_of_one_pass() -> None:
    np.testing.assert_allclose(compute_rule("6npND", 40).flops(1e6, 1e7), 2.4e15)
    assert ComputeRule(rule="per-epoch", n_p=40, epochs=10).flops(1e6, 1e7) == pytest.approx(2.4e16)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"rule": "zetaND", "zeta": 6e-15}, "zeta = 6e-15 FLOPs .* give C in FLOPs, N in parameters and D in samples"),
        ({"rule": "zetaND", "zeta": float("nan")}, "zeta = nan"),
        ({"rule": "per-epoch", "epochs": 0.0}, r"cannot have epochs = 0 \(passes\): give a positive number"),
        ({"rule": "powers", "a": -1.0}, r"cannot have a = -1 \(exponent of N\)"),
        ({"rule": "6ND", "zeta": 12.0}, "6ND takes no zeta: use the rule 'zetaND' or leave zeta out"),
        ({"rule": "6ND", "parts": PARTS}, "6ND takes no parts: use the rule 'step'"),
        ({"rule": "step"}, "step needs the two parts of the model: give s, h, B, L and t"),
        ({"rule": "step", "parts": {**PARTS.model_dump(), "K": 10}}, "K = 10 extra negatives exist only in stage 2"),
    ],
)
def test_fields_that_do_not_fit_a_rule_are_named(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        ComputeRule.model_validate(fields)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"rule": "7ND"}, "'7ND' is unknown: use 6ND, 6npND, zetaND"),
        ({"rule": "6npND", "n_p": "many"}, "n_p = many is not a number of tokens"),
        ({"rule": "step", "parts": {"s": 0.02}}, "rule step cannot be read: parts.h is missing or not a number"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(raw: dict[str, Any], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        read_rule(raw)


def test_roots() -> None:
    square = increasing_root(lambda x, c: x**3 - c, 0.0, 10.0, np.array([8.0, 27.0, 1e9, -1.0]))
    np.testing.assert_allclose(square, [2.0, 3.0, np.nan, np.nan])
