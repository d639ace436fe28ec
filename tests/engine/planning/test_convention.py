"""The allocation of the behavioural paper, costed by C = 6 N D and by the cost of a training step (eq. 1)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.data import files
from isoplan.engine.costs import ComputeRule, TwoPart, compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import get_law
from isoplan.engine.planning.drawing.curves import frontier_curve
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.optimum.frontier import frontier, spend
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.convention import recost
from isoplan.engine.planning.plan.target import plan_target
from tests.engine.planning.conftest import make_fit, scattered

SIX = ComputeRule()
BUDGETS = np.logspace(15, 19, 5)
BATCH = (64, 128, 256, 512, 512)
"""Sequences per training step at each budget of the allocation grid (behavioural paper, Sec. 5)."""
SHARE = 0.02
SHARE8 = 0.06
"""Fraction of the parameters in the embedder: SHARE in the allocation grid, SHARE8 in Table 8."""
PARABOLAS = [row for row in files.records("papers/behavior/table04_allocation.csv") if row["estimate"] == "parabola"]
TABLE8 = files.records("papers/behavior/table08_isoflop_accounting.csv")
WIDTHS8 = [float(r["h_emb"]) for r in TABLE8]
EQUATIONS = {(r["equation"], r["parameter"]): float(r["value"]) for r in files.records("papers/behavior/equations.csv")}


def step_rule(N: float, B: float) -> ComputeRule:
    """Return the compute rule of eq. 1; the embedder width is a power law fitted to Table 8."""
    slope, offset = np.polyfit(np.log([SHARE8 * float(r["N"]) for r in TABLE8]), np.log(WIDTHS8), 1)
    return ComputeRule(rule="step", parts=TwoPart(s=SHARE, h=np.exp(offset + slope * np.log(SHARE * N)), B=B))


def factors(N: np.ndarray, D: np.ndarray) -> list[float]:
    """Return for each allocation (N, D) its cost by eq. 1, divided by its budget 6 N D."""
    return [float(recost(n, d, SIX, step_rule(n, b)).factor) for n, d, b in zip(N, D, BATCH, strict=True)]


def test_the_parabolas_of_table_4_see_345_to_36_events_a_parameter_under_6nd() -> None:
    N = np.array([float(row["N"]) for row in PARABOLAS])
    D = SIX.samples(BUDGETS, N)
    assert [round(x) for x in D / N] == [345, 265, 222, 110, 36]
    np.testing.assert_allclose(D, [float(row["D"]) for row in PARABOLAS], rtol=5e-3)


def test_the_frontier_of_eqs_4_and_5_sees_458_to_53() -> None:
    N = EQUATIONS["4", "k"] * BUDGETS ** EQUATIONS["4", "b"]
    D = EQUATIONS["5", "k"] * BUDGETS ** EQUATIONS["5", "b"]
    assert [round(x) for x in D / N] == [458, 267, 156, 91, 53]


def test_by_the_step_formula_the_parabolas_exceed_their_budgets_1_9_to_2_9_times() -> None:
    """The paper prints no embedder widths h for the allocation grid, so h = 20 to 220 is extrapolated from Table 8."""
    N = np.array([float(row["N"]) for row in PARABOLAS])
    found = factors(N, SIX.samples(BUDGETS, N))
    assert [round(x, 2) for x in found] == [2.85, 2.78, 2.75, 2.54, 1.86]
    along = EQUATIONS["4", "k"] * BUDGETS ** EQUATIONS["4", "b"]
    assert [round(x, 2) for x in factors(along, SIX.samples(BUDGETS, along))] == [2.97, 2.79, 2.63, 2.48, 1.91]


def test_a_plan_spends_its_budget_by_the_rule_in_use() -> None:
    law = get_law("isoflop")
    values = law.values(np.array([3.33e-4, 0.6175, 499.0, 0.3825, 2.4, 1e16, 0.2]))
    published = frontier(law, values, BUDGETS, SIX)
    rule = step_rule(1e7, 256)
    at = spend(published, rule)
    np.testing.assert_array_equal(at.N, published.N)
    np.testing.assert_allclose(rule.flops(at.N, at.D), BUDGETS)
    assert (at.D < published.D).all()


MINIMA = (3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1)
"""Parameters of N* = k C^a (eq. 4) and D* = k_D C^b (eq. 5), and of the loss 1 + (1e12 / C)^0.1."""
TYPED = ComputeRule(rule="formula", formula="6*D*(1.46*N+3*512*256*188)")


def by_hand(C: float) -> tuple[float, float]:
    """Return N* of eq. 4 at budget C, and the D for which N* and D cost C FLOPs by the rule ``TYPED``."""
    N = 3.33e-4 * C**0.6175
    return N, C / (6 * (1.46 * N + 3 * 512 * 256 * 188))


def test_a_law_of_minima_takes_n_from_the_frontier_and_d_from_the_rule_in_use() -> None:
    """At 1e18 FLOPs N* = 43.5 M and D = 1.21 B. The fitted D* of 3.83 B would cost 3.15 times the budget."""
    fit = make_fit(MINIMA, scattered(MINIMA, 100, spread=0.001), law="isoflop")
    plans = [(plan_budget(fit, 1e18, TYPED), 1e18), (plan_target(fit, 1 + 10**-0.7, TYPED), 1e19)]
    for plan, C in plans:
        N, D = by_hand(C)
        assert value(plan, "N") == pytest.approx(N, rel=1e-9)
        assert value(plan, "D") == pytest.approx(D, rel=1e-9)
        assert value(plan, "C") == pytest.approx(C, rel=1e-9)
        assert plan.derived["D/N"].value == pytest.approx(D / N)
        assert "cost-mismatch" not in [w.code for w in plan.warnings]
    said = next(w.text for w in plans[0][0].warnings if w.code == "rule-in-use")
    assert said == (
        "N* is computed from the frontier, D from the compute rule C = 6*D*(1.46*N+3*512*256*188). By this rule, "
        "the fitted D* of "
        "3.83 B tokens costs 3.15 times the budget."
    )
    # Each resample spends the budget at its own N*, so the upper end of N gives the lower end of D.
    n, d = (plans[0][0].allocation[name].ci68 for name in "ND")
    assert n is not None
    assert d == pytest.approx([1e18 / (6 * (1.46 * x + 3 * 512 * 256 * 188)) for x in reversed(n)], rel=2e-3)


def test_by_the_rule_of_the_fit_minima_keep_the_d_of_their_runs() -> None:
    fit = make_fit(MINIMA, law="isoflop")
    for rule in (None, SIX):
        plan = plan_budget(fit, 1e18, rule)
        assert value(plan, "D") == pytest.approx(499 * 1e18**0.3825)
        assert "rule-in-use" not in [w.code for w in plan.warnings]
    other = plan_budget(fit, 1e18, TYPED, other=SIX).restated
    assert other is not None
    N, D = by_hand(1e18)
    assert other.C.value == pytest.approx(6 * N * D)


def test_a_rule_that_pays_for_no_sample_at_the_best_size_is_refused_in_a_sentence() -> None:
    fit = make_fit(MINIMA, law="isoflop")
    dear = ComputeRule(rule="formula", formula="6*N*D + 1e14*N")
    with pytest.raises(
        PlannerError, match=r"By C = 6\*N\*D \+ 1e14\*N, 10¹⁸ FLOPs do not pay for one sample at N\* = 43.*: give"
    ):
        plan_budget(fit, 1e18, dear)


def test_a_resample_whose_rule_pays_for_no_sample_is_left_out() -> None:
    """Resamples with N* above 1e9 have no plan: by C = 6 N D + 1e9 N the budget of 1e18 FLOPs pays for no sample."""
    draws = np.tile(MINIMA, (100, 1))
    draws[:10, 0] *= 100
    fit = make_fit(MINIMA, draws, law="isoflop")
    plan = plan_budget(fit, 1e18, ComputeRule(rule="formula", formula="6*N*D + 1e9*N"))
    assert value(plan, "D") == pytest.approx(1e18 / (6 * by_hand(1e18)[0]) - 1e9 / 6)
    assert "10 of 100 resamples have no optimum" in " ".join(w.text for w in plan.warnings)


def test_a_target_below_the_floor_of_some_resamples_costs_them_infinity_under_any_rule() -> None:
    draws = np.tile(MINIMA, (100, 1))
    draws[:30, 4] = 1.3
    plan = plan_target(make_fit(MINIMA, draws, law="isoflop"), 1.2, TYPED)
    assert plan.reach is not None
    assert (plan.p_reach, plan.reach.verdict) == (None, "not determined")
    assert plan.allocation["C"].ci95 is not None
    assert np.isinf(plan.allocation["C"].ci95[1])


def test_the_frontier_that_is_drawn_goes_through_the_plan() -> None:
    fit = make_fit(MINIMA, scattered(MINIMA, 50, spread=0.001), law="isoflop")
    path = frontier_curve(fit, np.array([1e17, 1e18]), rule=TYPED)
    np.testing.assert_allclose(path.D, [by_hand(1e17)[1], by_hand(1e18)[1]])
    assert path.D_band.low68[1] < path.D[1] < path.D_band.high68[1]
    drawn = plan_curve(plan_budget(fit, 1e18, TYPED), fit).frontier
    assert drawn is not None
    np.testing.assert_allclose(TYPED.flops(drawn.N, drawn.D), drawn.C)


def value(plan: Plan, name: str) -> float:
    """Return the allocated value of N, D or C (``name``); it must be known."""
    found = plan.allocation[name].value
    assert found is not None
    return found


@given(st.floats(4, 10), st.floats(5, 12), st.floats(1, 500))
def test_the_other_way_round_the_factor_is_its_inverse(log_n: float, log_d: float, n_p: float) -> None:
    N, D, other = 10.0**log_n, 10.0**log_d, compute_rule("6npND", n_p)
    there, back = recost(N, D, SIX, other), recost(N, D, other, SIX)
    assert there.factor * back.factor == pytest.approx(1)
    assert there.factor == pytest.approx(n_p)
    assert there.other_D == pytest.approx(D / n_p)


def test_resamples_pass_and_a_plan_is_compared_in_words() -> None:
    N = np.array([1e6, 2e6])
    assert recost(N[:, None], np.array([1e8, 1e9, 1e10]), SIX, step_rule(1e6, 256)).factor.shape == (2, 3)
    said = recost(1e6, 1e8, SIX, compute_rule("6npND", 4)).sentence
    assert said == (
        "By C = 6 n_p N D with n_p = 4 the same plan costs 4.00 times as much; 6.00 × 10¹⁴ FLOPs then pay for 25 M "
        "samples instead of 100 M."
    )
    never = recost(1e6, 10.0, SIX, compute_rule("formula", formula="6*N*D + 1e15*N")).sentence
    assert never.endswith("6.00 × 10⁷ FLOPs then do not pay for one sample.")


def test_a_size_that_is_not_positive_is_refused() -> None:
    with pytest.raises(PlannerError, match="D = 0 is not positive: give a positive D"):
        recost(1e6, 0.0, SIX, SIX)
