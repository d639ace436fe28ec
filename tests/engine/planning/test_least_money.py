"""Plans that reach a target for the least money. Samples or inference have a price. Grid searches check the plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import COMPUTE, Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, RANGES, curved, make_fit, scattered

H100 = Machine(find_device("H100"), 1, price=2.0)
SAMPLES = Prices(H100, Simulation(price=1e-6))
"""Prices at which simulating a sample costs more than training on it."""
BOTH = Prices(H100, Simulation(price=1e-7), Inference(queries=1e9, tokens=100))
REPEATING = (*EPOCH, 15.4, 5.3)
TYPED = ComputeRule(rule="formula", formula="6*D*(1.3*N+2e8)")


def total(plan: Plan) -> float:
    value = next(line.amount.value for line in plan.bill if line.part == "total")
    assert value is not None
    return value


def value(plan: Plan, name: str) -> float:
    found = plan.allocation[name].value
    assert found is not None
    return found


def cheapest(theta: tuple[float, ...], target: float, prices: Prices, limits: Limits, rule: ComputeRule) -> float:
    """Return the cost of the cheapest of 400,000 models with the target loss, or inf if the limits allow no model."""
    E, A, B, alpha, beta = theta
    N = (A / (target - E)) ** (1 / alpha) * (1 + np.geomspace(1e-5, 1e7, 400_000))
    D = (B / (target - E - A * N**-alpha)) ** (1 / beta)
    C = rule.flops(N, D)
    paid = prices.lines(C, N, D)[-1].amount
    allowed = (N <= (limits.parameters or np.inf)) & (D <= (limits.unique or np.inf))
    allowed &= H100.hours(C) <= (limits.hours or np.inf)
    return float(np.min(paid[allowed], initial=np.inf))


@settings(max_examples=25)
@given(
    st.floats(2.0, 3.0),
    st.floats(-9, -5),
    st.floats(6, 10),
    st.sampled_from(
        [Limits(), Limits(unique=3e9), Limits(parameters=3e9), Limits(hours=300), Limits(hours=2e3, parameters=3e10)]
    ),
    st.sampled_from([ComputeRule(), TYPED]),
)
def test_no_other_model_of_the_loss_is_cheaper(
    target: float, log_price: float, log_queries: float, limits: Limits, rule: ComputeRule
) -> None:
    prices = Prices(H100, Simulation(price=10**log_price), Inference(queries=10**log_queries, tokens=10))
    least = cheapest(EPOCH, target, prices, limits, rule)
    try:
        plan = plan_target(make_fit(EPOCH), target, rule, prices=prices, limits=limits)
    except PlannerError:
        assert least == np.inf
        return
    assert total(plan) <= least * (1 + 1e-9)
    if np.isfinite(least):
        assert total(plan) == pytest.approx(least, rel=2e-4)
    assert EPOCH[0] + EPOCH[1] * value(plan, "N") ** -EPOCH[3] + EPOCH[2] * value(plan, "D") ** -EPOCH[4] == (
        pytest.approx(target, rel=1e-9)
    )
    assert value(plan, "C") == pytest.approx(float(rule.flops(value(plan, "N"), value(plan, "D"))))
    if limits.hours is not None:
        assert H100.hours(value(plan, "C")) <= limits.hours * (1 + 1e-6)


@settings(max_examples=25)
@given(
    st.sampled_from(["unique", "parameters", "hours", "memory", "money"]),
    st.floats(-1, 3),
    st.floats(0, 2),
    st.sampled_from([SAMPLES, BOTH]),
    st.sampled_from(["chinchilla", "data-constrained"]),
)
def test_a_looser_limit_is_never_a_dearer_plan(
    name: str, tight: float, looser: float, prices: Prices, law: str
) -> None:
    """The plan for a target does not cost more if one limit is looser, with or without a price of inference."""
    fit = make_fit(EPOCH if law == "chinchilla" else REPEATING, law=law)
    typical = {"unique": 3e9, "parameters": 3e9, "hours": 200.0, "memory": 5e10, "money": 5e3}[name]

    def ask(most: float) -> float:
        try:
            return total(plan_target(fit, 2.3, prices=prices, limits=Limits(**{name: most})))
        except PlannerError:
            return np.inf

    most = typical * 10**tight
    assert ask(most * 10**looser) <= ask(most) * (1 + 1e-9)


def test_more_unique_samples_that_were_dearer_before() -> None:
    """All three limits give the same plan of least money. Plans of least compute would cost 41,600 EUR or more."""
    fit = make_fit(EPOCH)
    found = [plan_target(fit, 2.3, prices=SAMPLES, limits=Limits(unique=u)) for u in (4e10, 4.4e10, None)]
    least = cheapest(EPOCH, 2.3, SAMPLES, Limits(), ComputeRule())
    for plan in found:
        assert total(plan) == pytest.approx(least, rel=1e-6)
        assert not any(w.binds for w in plan.worth)
    assert total(found[0]) < 41_600


@settings(max_examples=10)
@given(st.floats(-3, 3))
def test_prices_scale_money_and_change_no_size(log_times: float) -> None:
    times, fit = 10**log_times, make_fit(EPOCH)
    scaled = replace(BOTH, machine=replace(H100, price=2.0 * times), simulation=Simulation(price=1e-7 * times))
    for limits in (Limits(), Limits(unique=1e10), Limits(hours=1e3)):
        one, two = (plan_target(fit, 2.4, prices=p, limits=limits) for p in (BOTH, scaled))
        for name in ("N", "D", "C"):
            assert value(two, name) == pytest.approx(value(one, name), rel=1e-6)
        assert total(two) == pytest.approx(times * total(one), rel=1e-9)


def test_every_resample_takes_its_own_least_money() -> None:
    draws = scattered(EPOCH, 60, spread=0.01)
    fit = make_fit(EPOCH, draws, ranges=RANGES)
    plan = plan_target(fit, 2.4, prices=BOTH, limits=Limits(unique=1.2e10))
    alone = [total(plan_target(make_fit(tuple(d)), 2.4, prices=BOTH, limits=Limits(unique=1.2e10))) for d in draws]
    q = next(line.amount for line in plan.bill if line.part == "total")
    expected = fit.resampling.interval(total(plan), np.array(alone), 0.68)
    assert q.ci68 == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "limits", [Limits(unique=1.2e10), Limits(parameters=1e9), Limits(hours=900), Limits(memory=4e10)], ids=str
)
def test_the_worth_of_a_limit_is_of_all_money(limits: Limits) -> None:
    fit = make_fit(EPOCH)
    ((name, most),) = limits.given.items()
    plan = plan_target(fit, 2.3, prices=SAMPLES, limits=limits)
    (found,) = plan.worth
    assert found.binds

    def ask(times: float) -> float:
        return total(plan_target(fit, 2.3, prices=SAMPLES, limits=Limits(**{name: most * times})))

    assert found.ten.value == pytest.approx(total(plan) - ask(1.1), rel=1e-6)
    assert found.slope.value == pytest.approx((ask(0.999) - ask(1.001)) / (0.002 * most), rel=1e-3)
    assert found.ten.unit == "EUR"
    said = next(line for line in _beside(plan) if "is reached: " in line)
    assert "EUR" in said
    assert "of training" not in said


def _beside(plan: Plan) -> list[str]:
    from isoplan.engine.planning.plan.document import beside

    return beside(plan)


def test_the_plan_says_what_is_least_and_what_the_least_compute_would_cost(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.3, prices=SAMPLES)
    free = plan_target(epoch, 2.3)
    assert plan.sentence.startswith("To reach loss 2.3 at the lowest cost, spend 21,")
    said = next(w.text for w in plan.warnings if w.code == "least-money")
    dear = float(H100.money(value(free, "C"))) + 1e-6 * value(free, "D")
    assert "The plan with the least compute, 1.05 × 10²¹ FLOPs for 2.87 B parameters" in said
    assert said.endswith(f", costs {dear / 1e3:.1f} k EUR.")


@pytest.mark.parametrize(
    "prices",
    [
        Prices(H100),
        Prices(replace(H100, price=None), Simulation(price=1e-6)),
        Prices(H100, Simulation(cpu_seconds=3.0)),
        Prices(H100, inference=Inference(queries=1e9, flops=1e12)),
    ],
    ids=["training", "no price of an hour", "samples without a price", "queries of one price"],
)
def test_where_money_is_proportional_to_compute_nothing_changes(epoch: Fit, prices: Prices) -> None:
    assert prices.aim == COMPUTE
    for limits in (Limits(), Limits(unique=2e10), Limits(hours=1e5)):
        one, two = (
            plan_target(epoch, 2.4, limits=replace(limits, hours=None)),
            plan_target(epoch, 2.4, limits=limits, prices=prices),
        )
        for name in ("N", "D", "C"):
            assert value(two, name) == pytest.approx(value(one, name), rel=1e-6)
        assert two.sentence.startswith("To reach loss 2.4 spend ")
        assert "least money" not in two.sentence
        assert "least-money" not in [w.code for w in two.warnings]


def test_resamples_that_never_get_there_cost_infinity_with_limits_and_without() -> None:
    draws = np.tile(EPOCH, (100, 1))
    draws[:40, 0] = 2.5
    fit = curved(make_fit(EPOCH, draws, ranges=RANGES | {"loss": (2.4, 4.0)}))
    for limits in (Limits(), Limits(hours=1e6)):
        plan = plan_target(fit, 2.3, prices=SAMPLES, limits=limits)
        assert plan.p_reach == pytest.approx(0.6)
        for q in (plan.allocation["C"], plan.bill[-1].amount):
            assert q.ci68 is not None
            assert np.isinf(q.ci68[1])
        assert "degenerate-resamples" not in [w.code for w in plan.warnings]


def test_a_law_of_minima_has_one_model_for_a_loss() -> None:
    fit = make_fit((3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1), law="isoflop")
    plan = plan_target(fit, 1.2, prices=SAMPLES)
    assert value(plan, "N") == value(plan_target(fit, 1.2), "N")
    assert "least-money" not in [w.code for w in plan.warnings]
