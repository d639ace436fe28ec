"""Best number of samples to simulate if repeated samples reduce the loss. Searches over N, D and U check the number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.actual.outcome import Actual, outcome
from isoplan.engine.planning.compare import Saved, side_by_side
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import read_plan, to_json
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.few_epochs import between
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.planning.smaller.answer import lifetime_curve, same_loss
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered

H100 = Machine(find_device("H100"), 1, price=2.0)
THETA = (*EPOCH, 15.4, 5.3)
FIT = make_fit(THETA, law="data-constrained")


def priced(each: float) -> Prices:
    return Prices(H100, Simulation(price=each))


def total(plan: Plan) -> float:
    value = next(line.amount.value for line in plan.bill if line.part == "total")
    assert value is not None
    return value


def value(plan: Plan, name: str) -> float:
    found = {**plan.allocation, **plan.derived}[name].value
    assert found is not None
    return found


def loss(N: object, D: object, U: object) -> np.ndarray:
    """Compute the loss by eqs. 5 and 6 of Muennighoff et al. 2023, without code of Isoplan."""
    E, A, B, alpha, beta, R_D, R_N = THETA
    N, D, U = (np.asarray(x, float) for x in (N, D, U))
    enough = np.minimum(N, (alpha * A / (beta * B)) ** (1 / alpha) * U ** (beta / alpha))
    new = np.minimum(D, U)
    size = enough * (1 + R_N * (1 - np.exp((1 - N / enough) / R_N)))
    data = new * (1 + R_D * (1 - np.exp((1 - D / new) / R_D)))
    return E + A / size**alpha + B / data**beta


def cheapest(target: float, each: float, most: float) -> float:
    """Return the least cost to reach the loss ``target``.

    The search uses a grid of U (unique samples) and N. Bisection gives D for each U and N.
    """
    U = np.geomspace(max(most / 1e4, 1e8), most, 150)[:, None]
    N = np.geomspace(1e8, 1e12, 600)
    low, high = np.full((150, 600), 15.0), np.full((150, 600), 35.0)
    for _ in range(45):
        middle = (low + high) / 2
        enough = loss(N, np.exp(middle), U) <= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    D = np.exp(high)
    paid = H100.money(6 * N * D) + each * np.minimum(D, U)
    return float(np.min(np.where(high < 34.9, paid, np.inf)))


@pytest.mark.parametrize("each", [1e-9, 1e-8, 1e-7, 1e-6, 1e-5])
@pytest.mark.parametrize("most", [6e9, 2e10, 1e12])
def test_no_other_number_of_samples_is_cheaper(each: float, most: float) -> None:
    plan = plan_target(FIT, 2.4, prices=priced(each), limits=Limits(unique=most))
    least = cheapest(2.4, each, most)
    assert total(plan) <= least * (1 + 1e-9)
    assert total(plan) == pytest.approx(least, rel=1e-2)
    N, D, U = value(plan, "N"), value(plan, "D"), plan.unique
    assert float(loss(N, D, U)) == pytest.approx(2.4, rel=1e-9)
    assert value(plan, "passes") == pytest.approx(D / U)
    assert total(plan) == pytest.approx(float(H100.money(6 * N * D)) + each * U)


def test_dear_samples_are_fewer_and_seen_more_often() -> None:
    plans = [plan_target(FIT, 2.4, prices=priced(each)) for each in (1e-9, 1e-7, 1e-5)]
    assert [plan.unique for plan in plans] == sorted((plan.unique for plan in plans), reverse=True)
    passes = [value(plan, "passes") for plan in plans]
    assert passes == sorted(passes)
    said = plans[1].sentence
    assert said.startswith("To reach loss 2.4 at the lowest cost, spend 1620 EUR")
    assert said.endswith("60.9 B tokens, 7.87 B of them unique and seen 7.74 times.")


@settings(max_examples=10)
@given(
    st.sampled_from(["unique", "parameters", "hours", "money", "epochs"]),
    st.floats(-1, 2),
    st.floats(0, 1.5),
    st.sampled_from([1e-8, 1e-6]),
    st.booleans(),
)
def test_a_looser_limit_is_never_dearer_nor_worse(
    name: str, tight: float, looser: float, each: float, target: bool
) -> None:
    typical = {"unique": 1e10, "parameters": 3e9, "hours": 2e3, "money": 5e3, "epochs": 10.0}[name]

    def ask(most: float) -> float:
        limits = {"unique": 3e10, "money": 4e3} if name == "epochs" else {"money": 4e3} if not target else {}
        limits |= {name: max(most, 1.0)}
        try:
            if target:
                return total(plan_target(FIT, 2.4, prices=priced(each), limits=Limits(**limits)))
            return value(plan_budget(FIT, 1e22, prices=priced(each), limits=Limits(**limits)), "loss")
        except PlannerError:
            return np.inf

    most = typical * 10**tight
    assert ask(most * 10**looser) <= ask(most) * (1 + 1e-9)


@pytest.mark.parametrize("each", [1e-8, 1e-7, 1e-6])
def test_no_other_number_of_samples_gives_a_better_loss_for_the_money(each: float) -> None:
    limits = Limits(unique=3e10, money=2000.0)
    plan = plan_budget(FIT, 1e22, prices=priced(each), limits=limits)
    U, N = np.geomspace(3e7, 3e10, 500)[:, None], np.geomspace(1e8, 1e12, 1500)
    left = (2000 - each * U) / float(H100.money(1.0))
    D = left / (6 * N)
    found = np.where(left > 0, loss(N, np.maximum(D, 1.0), U), np.inf)
    assert value(plan, "loss") <= np.min(found) * (1 + 1e-9)
    assert value(plan, "loss") == pytest.approx(float(np.min(found)), rel=1e-4)
    assert total(plan) <= 2000 * (1 + 1e-9)


def test_the_ways_in_between_agree() -> None:
    """``between`` compares 41 values of U (unique samples). The cheapest value costs at most 2 % more than the plan."""
    few = between(FIT, 2.4, SampleCosts(sample=1e-6, flop=float(H100.money(1.0))))
    plan = plan_target(FIT, 2.4, prices=priced(1e-6))
    assert total(plan) <= float(few.money[few.best]) <= total(plan) * 1.02


def test_every_resample_simulates_its_own_number() -> None:
    draws = scattered(THETA, 24, spread=0.01)
    fit = make_fit(THETA, draws, law="data-constrained", ranges=RANGES)
    plan = plan_target(fit, 2.4, prices=priced(1e-7))
    alone = [plan_target(make_fit(tuple(d), law="data-constrained"), 2.4, prices=priced(1e-7)) for d in draws]
    for name in ("U", "passes", "N"):
        expected = fit.resampling.interval(value(plan, name), np.array([value(one, name) for one in alone]), 0.68)
        assert {**plan.allocation, **plan.derived}[name].ci68 == pytest.approx(expected, rel=1e-4)


def test_the_plan_is_kept_drawn_repriced_and_held_against_its_run() -> None:
    limits = Limits(unique=3e10, money=2000.0)
    for plan in (
        plan_target(FIT, 2.4, prices=priced(1e-6), limits=Limits(unique=3e10)),
        plan_budget(FIT, 1e22, prices=priced(1e-7), limits=limits),
    ):
        assert plan.unique < 3e10
        kept = read_plan(to_json(plan))
        assert kept.unique == plan.unique
        (side,) = side_by_side([Saved("one", kept)], kept.prices).sides
        assert side.money["total"].value == pytest.approx(total(plan))
        assert outcome(kept, FIT, Actual(2.4)).expected.value == pytest.approx(value(plan, "loss"))
        curve = plan_curve(kept, FIT).isoflop
        assert curve is not None
        if plan.question.kind == "budget":
            assert np.min(curve.loss) == pytest.approx(value(plan, "loss"), rel=1e-9)


def test_the_worth_of_money_is_what_more_of_it_buys() -> None:
    def ask(money: float) -> Plan:
        return plan_budget(FIT, 1e22, prices=priced(1e-7), limits=Limits(unique=3e10, money=money))

    plan = ask(2000.0)
    by_name = {w.limit: w for w in plan.worth}
    assert by_name["money"].binds
    assert by_name["money"].ten.value == pytest.approx(value(plan, "loss") - value(ask(2200.0), "loss"), rel=1e-5)
    assert not by_name["unique"].binds
    assert by_name["unique"].used == pytest.approx(plan.unique)


def test_smaller_models_of_the_loss_keep_its_samples() -> None:
    asked = Question("budget", 1e22, Limits(unique=3e10, money=2000.0))
    found = same_loss(FIT, asked, prices=priced(1e-7))
    at = int(np.argmin(np.abs(found.fraction - 1.0)))
    assert found.overhead[at] == pytest.approx(0.0, abs=1e-6)
    curve = lifetime_curve(FIT, asked, Inference(1e6), prices=priced(1e-7))
    there = int(np.argmin(np.abs(curve.N - curve.first)))
    assert curve.total[there] <= 2000 * 1.001 + float(curve.inference[there])


def test_a_typed_rule_finds_the_same_as_the_rule_it_spells() -> None:
    typed = ComputeRule(rule="formula", formula="6*N*D")
    one, two = (plan_target(FIT, 2.4, rule, prices=priced(1e-7)) for rule in (None, typed))
    assert total(two) == pytest.approx(total(one), rel=1e-9)
