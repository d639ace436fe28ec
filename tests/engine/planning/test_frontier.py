"""The compute-optimal frontier: closed forms compared with numerical optimisation and with published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from isoplan.engine.costs import ComputeRule, TwoPart, compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import get_law, typed_law
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.frontier import floor, frontier, least_compute
from tests.engine.planning.conftest import EPOCH, JETS

CHINCHILLA = get_law("chinchilla")
RULES = [ComputeRule(), compute_rule("6npND", 40), compute_rule("formula", formula="6*N*D")]
CURVED = [
    compute_rule("formula", formula="6*N*D + 1e9*D + 2e4*N"),
    ComputeRule(rule="step", parts=TwoPart(s=0.02, h=188, B=256)),
    ComputeRule(rule="powers", zeta=20.0, a=0.9, b=1.05),
]


def values(theta: tuple[float, ...]) -> Values:
    return CHINCHILLA.values(np.array(theta))


def numerical(theta: tuple[float, ...], C: float, rule: ComputeRule) -> tuple[float, float]:
    """Return the best N and its loss at budget C, by scipy's bounded minimisation over ln N."""

    def loss(x: float) -> float:
        N = np.exp(x)
        D = rule.samples(C, N)
        return float(CHINCHILLA.predict(theta, {"N": N, "D": D})) if np.isfinite(D) else 1e9

    grid = np.linspace(0, 60, 241)
    start = grid[int(np.argmin([loss(x) for x in grid]))]
    found = minimize_scalar(loss, bounds=(start - 0.3, start + 0.3), method="bounded", options={"xatol": 1e-12})
    return float(np.exp(found.x)), float(found.fun)


@pytest.mark.parametrize("rule", [*RULES, *CURVED], ids=lambda r: r.text)
@pytest.mark.parametrize("theta", [JETS, EPOCH])
@pytest.mark.parametrize("C", [1e16, 1e20, 5.76e23])
def test_the_allocation_is_the_numerical_optimum(theta: tuple[float, ...], C: float, rule: ComputeRule) -> None:
    at = frontier(CHINCHILLA, values(theta), np.array(C), rule)
    N, loss = numerical(theta, C, rule)
    assert at.loss == pytest.approx(loss, rel=1e-12)
    # The loss is flat at its minimum, so the error of N* is about the square root of the error of the loss.
    assert at.N == pytest.approx(N, rel=1e-6)
    assert rule.flops(at.N, at.D) == pytest.approx(C, rel=1e-12)


@given(
    st.tuples(st.floats(0, 3), st.floats(1, 1e4), st.floats(1, 1e4), st.floats(0.05, 1), st.floats(0.05, 1)),
    st.floats(12, 26),
)
def test_no_step_along_the_budget_is_better(theta: tuple[float, ...], log_c: float) -> None:
    C = np.array(10.0**log_c)
    at = frontier(CHINCHILLA, values(theta), C, ComputeRule())
    for step in (0.9, 0.99, 1.01, 1.1):
        assert CHINCHILLA.predict(theta, {"N": at.N * step, "D": at.D / step}) >= at.loss * (1 - 1e-14)


@settings(max_examples=40)
@given(
    st.tuples(st.floats(0, 3), st.floats(1, 1e4), st.floats(1, 1e4), st.floats(0.05, 1), st.floats(0.05, 1)),
    st.floats(1.001, 3),
    st.sampled_from([*RULES, *CURVED]),
)
def test_the_target_is_the_inverse_of_the_budget(theta: tuple[float, ...], ratio: float, rule: ComputeRule) -> None:
    C = np.logspace(18, 21, 4) * ratio
    at = frontier(CHINCHILLA, values(theta), C, rule)
    assume(np.isfinite(at.loss).all())  # a typed formula is solved for N only from 1e-9 to 1e20
    back = least_compute(CHINCHILLA, values(theta), at.loss, rule)
    excess = (at.loss - theta[0]) / at.loss
    np.testing.assert_allclose(np.log(back.C), np.log(C), rtol=1e-9 / excess.min())
    np.testing.assert_allclose(np.log(back.N), np.log(at.N), rtol=1e-8 / excess.min())


@settings(max_examples=40)
@given(st.floats(12, 24), st.floats(1e-6, 2), st.sampled_from([*RULES, *CURVED]))
def test_more_budget_is_never_worse(log_c: float, more: float, rule: ComputeRule) -> None:
    C = 10.0 ** np.array([log_c, log_c + more])
    loss = frontier(CHINCHILLA, values(EPOCH), C, rule).loss
    assert loss[1] <= loss[0]


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_units_of_n_and_d_change_no_answer(n: float, d: float) -> None:
    """If ``n`` and ``d`` are the units of N and D, then A, B and the compute rule change. The optimum is the same."""
    E, A, B, alpha, beta = EPOCH
    C = np.array(1e21)
    plain = frontier(CHINCHILLA, values(EPOCH), C, ComputeRule())
    scaled = values((E, A * n**-alpha, B * d**-beta, alpha, beta))
    other = frontier(CHINCHILLA, scaled, C, compute_rule("6npND", n * d))
    np.testing.assert_allclose([other.N * n, other.D * d, other.loss], [plain.N, plain.D, plain.loss], rtol=1e-9)


def test_jets_table_1_gives_its_published_exponents() -> None:
    """N* grows as C^0.333, and the loss above the floor decreases as C^-0.147 (jets paper, eq. 3)."""
    C = np.array([1e16, 1e18])
    at = frontier(CHINCHILLA, values(JETS), C, compute_rule("6npND", 40))
    a = np.diff(np.log10(at.N))[0] / 2
    gamma = -np.diff(np.log10(at.loss - JETS[0]))[0] / 2
    assert a == pytest.approx(0.333, abs=5e-4)
    assert gamma == pytest.approx(0.147, abs=5e-4)
    assert np.diff(np.log10(at.D))[0] / 2 == pytest.approx(1 - a)


def test_draws_and_budgets_broadcast() -> None:
    theta = np.array([EPOCH, JETS, EPOCH])
    draws = CHINCHILLA.values(theta[:, None, :])
    for rule in (*RULES, *CURVED):
        at = frontier(CHINCHILLA, draws, np.logspace(18, 22, 5), rule)
        assert at.N.shape == at.D.shape == at.C.shape == at.loss.shape == (3, 5)
        alone = frontier(CHINCHILLA, values(JETS), np.array(1e20), rule)
        assert at.N[1, 2] == pytest.approx(float(alone.N), rel=1e-9)


@pytest.mark.parametrize("rule", [ComputeRule(), *CURVED], ids=lambda r: r.text)
def test_at_and_below_the_floor_nothing_reaches(rule: ComputeRule) -> None:
    at = least_compute(CHINCHILLA, values(EPOCH), np.array([EPOCH[0], 1.0, 2.0]), rule)
    assert np.isinf(at.C[:2]).all()
    assert np.isinf(at.N[:2]).all()
    assert np.isfinite(at.C[2])


def test_a_vanished_term_has_no_optimum() -> None:
    gone = frontier(CHINCHILLA, values((1.0, 0.0, 2000.0, 0.3, 0.3)), np.array(1e20), ComputeRule())
    assert np.isnan([gone.N, gone.D, gone.loss]).all()
    free = least_compute(CHINCHILLA, values((1.0, 0.0, 2000.0, 0.3, 0.3)), np.array(2.0), ComputeRule())
    assert np.isnan(free.C)


def test_a_law_on_one_size_knows_no_budget() -> None:
    law = get_law("power", "D")
    with pytest.raises(PlannerError, match="A law on D alone does not determine how to spend a budget"):
        frontier(law, law.values([0.1, 1e6, 0.3]), np.array(1e20), ComputeRule())


def test_the_compute_rule_does_not_move_laws_on_compute() -> None:
    law = get_law("isoflop")
    v = law.values([3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1])
    at = frontier(law, v, np.array(1e18), CURVED[0])
    assert at.N == pytest.approx(3.33e-4 * 1e18**0.6175)
    assert at.D == pytest.approx(499 * 1e18**0.3825)


def test_the_floor_is_the_sum_of_the_constants() -> None:
    assert floor(CHINCHILLA, values(JETS)) == 0.32
    law = get_law("power", "C")
    assert floor(law, law.values([0.1, 1e6, 0.3])) == 0.1


def test_a_formulas_floor_is_its_limit() -> None:
    typed = typed_law("A/N^alpha + E + B/D^beta")
    assert float(floor(typed, values(EPOCH))) == pytest.approx(EPOCH[0], rel=1e-12)
    kaplan = {
        name: np.array(x) for name, x in zip(("N_c", "alpha_N", "D_c", "alpha_D"), (1e13, 0.08, 2e13, 0.1), strict=True)
    }
    assert float(floor(get_law("kaplan"), kaplan)) == 0.0
    assert float(floor(typed_law("E + A*lr^2", columns=("lr",)), {"E": np.array(2.0), "A": np.array(1.0)})) == 0.0
