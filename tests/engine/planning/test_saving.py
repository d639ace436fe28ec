"""Savings of a plan compared with a given plan, variations of a plan, and budgets in money."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.amounts import is_money
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import bill_rows, read_plan, to_json
from isoplan.engine.planning.plan.largest_model import LARGER_MODEL
from isoplan.engine.planning.plan.money import flops_for_money, read_money, spendable
from isoplan.engine.planning.plan.parts import read_saving
from isoplan.engine.planning.plan.saving import save_against
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.plan.variations import variation_rows, vary
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered

H100 = Machine(find_device("H100"), 8, price=2.5)
TRAINING = Prices(H100)
EVERYTHING = Prices(H100, Simulation(price=1e-6), Inference(queries=1e9, tokens=100))


def total(plan: Plan) -> float:
    return next(float(x.amount.value or math.nan) for x in plan.bill if (x.part, x.what) == ("total", "money"))


def test_the_saving_is_the_difference_between_two_bills(epoch: Fit) -> None:
    N, D = 4e9, 2e10
    plan = plan_budget(epoch, 1e21, prices=TRAINING)
    saving = save_against(epoch, plan, N, D)
    E, A, B, alpha, beta = EPOCH
    loss = E + A * N**-alpha + B * D**-beta
    assert saving.stated["loss"].value == pytest.approx(loss)
    cheapest = plan_target(epoch, loss, prices=TRAINING)
    assert saving.cheapest["C"].value == pytest.approx(cheapest.allocation["C"].value)
    C = 6 * N * D
    assert saving.flops.value == pytest.approx(C - (cheapest.allocation["C"].value or 0))
    assert saving.percent.value == pytest.approx(100 * (saving.flops.value or 0) / C)
    stated_bill = float(H100.money(C))
    assert saving.money is not None
    assert saving.stated_money is not None
    assert saving.stated_money.value == pytest.approx(stated_bill)
    assert saving.money.value == pytest.approx(stated_bill - total(cheapest))
    assert saving.money.ci68 is not None
    assert saving.money.ci68[0] < (saving.money.value or 0) < saving.money.ci68[1]
    assert saving.sentence == (
        "4.00 B parameters on 20.0 B tokens reach loss 2.392 for 4.80 × 10²⁰ FLOPs. 1.73 B parameters on 38.1 B tokens "
        "reach the same loss and save 148 EUR (68 %: 58 to 256), or 18 % of the compute."
    )


def test_the_saving_has_the_interval_of_its_resamples(epoch: Fit) -> None:
    saving = save_against(epoch, plan_budget(epoch, 1e21), 4e9, 2e10)
    E, A, B, alpha, beta = epoch.resamples.T
    loss = E + A * 4e9**-alpha + B * 2e10**-beta
    excess = loss - E
    N = (A * (1 + alpha / beta) / excess) ** (1 / alpha)
    D = (B * (1 + beta / alpha) / excess) ** (1 / beta)
    draws = 6 * 4e9 * 2e10 - 6 * N * D
    assert saving.flops.ci68 is not None
    assert saving.flops.ci68 == pytest.approx(np.quantile(draws, [0.16, 0.84]), rel=0.05)
    assert saving.money is None


def test_the_optimum_itself_saves_nothing(epoch: Fit) -> None:
    best = plan_budget(epoch, 1e21)
    N, D = (float(best.allocation[name].value or 0) for name in ("N", "D"))
    saving = save_against(epoch, best, N, D, TRAINING)
    assert saving.percent.value == pytest.approx(0, abs=1e-6)
    assert "No plan is cheaper" in saving.sentence


def test_a_stated_plan_that_cannot_be_compared_says_why(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21)
    with pytest.raises(PlannerError, match="N must be a positive number"):
        save_against(epoch, plan, 0.0, 1e9)
    with pytest.raises(PlannerError, match="too far beyond the runs"):
        save_against(epoch, plan, 1e16, 1e9)
    power = make_fit((0.1, 1e6, 0.4), law="power", axis="C", ranges={"C": (1e15, 1e18)})
    with pytest.raises(PlannerError, match="does not predict loss from N and D"):
        save_against(power, plan_budget(power, 1e17), 1e9, 1e9)


def test_a_law_of_repeated_samples_compares_within_the_same_unique_samples() -> None:
    theta = (*EPOCH, 15.4, 5.3)
    fit = make_fit(theta, scattered(theta, 60), law="data-constrained", ranges=RANGES)
    plan = plan_budget(fit, 1e22, limits=Limits(unique=1e10))
    saving = save_against(fit, plan, 6e9, 4e10)
    free = save_against(fit, plan_budget(fit, 1e22), 6e9, 4e10)
    assert (saving.stated["loss"].value or 0) > (free.stated["loss"].value or 0)
    assert saving.flops.value is not None
    assert saving.flops.value >= 0


def test_half_and_ten_times_the_budget_follow_the_frontier(epoch: Fit) -> None:
    half, ten = vary(epoch, plan_budget(epoch, 1e21))
    for one, C in ((half, 5e20), (ten, 1e22)):
        alone = plan_budget(epoch, C).allocation
        assert (one.N.value, one.D.value, one.loss.value) == tuple(alone[x].value for x in ("N", "D", "loss"))
        assert one.C.value == C
        assert one.loss.ci68 == alone["loss"].ci68
    assert (half.label, ten.label) == ("Half of the budget", "Ten times the budget")


def test_the_budget_of_a_target_is_its_compute(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.3)
    half, _ = vary(epoch, plan)
    assert half.C.value == pytest.approx((plan.allocation["C"].value or 0) / 2)
    assert (half.loss.value or 0) > 2.3


def test_a_target_of_least_money_is_varied_in_money(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.4, prices=EVERYTHING)
    half, ten = vary(epoch, plan)
    assert (half.label, ten.label) == ("Half of the money", "Ten times the money")
    for one, factor in ((half, 0.5), (ten, 10)):
        lines = EVERYTHING.lines(one.C.value or 0, one.N.value or 0, one.D.value or 0)
        assert float(lines[-1].amount) == pytest.approx(factor * total(plan), rel=1e-6)
        again = plan_target(epoch, one.loss.value or 0, prices=EVERYTHING)
        assert total(again) == pytest.approx(factor * total(plan), rel=1e-4)
    assert (half.loss.value or 0) > 2.4 > (ten.loss.value or 0)


def test_ten_per_cent_more_of_a_reached_limit_is_a_row(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21, limits=Limits(parameters=3e8, unique=1e13))
    *_, more = vary(epoch, plan)
    assert more.label == "10 % more parameters"
    alone = plan_budget(epoch, 1e21, limits=Limits(parameters=3.3e8, unique=1e13)).allocation
    assert more.N.value == pytest.approx(3.3e8)
    assert more.loss.value == pytest.approx(alone["loss"].value)
    assert len(vary(epoch, plan)) == 3
    target = plan_target(epoch, 2.3, limits=Limits(parameters=1e9))
    *_, cheaper = vary(epoch, target)
    alone = plan_target(epoch, 2.3, limits=Limits(parameters=1.1e9)).allocation
    assert cheaper.C.value == pytest.approx(alone["C"].value)
    assert cheaper.loss.value == pytest.approx(2.3)


def test_a_variation_beyond_the_runs_has_no_numbers(epoch: Fit) -> None:
    near = replace(epoch, data=replace(epoch.data, ranges={"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 6e18)}))
    _, ten = vary(near, plan_budget(near, 4e21))
    assert ten.N.value is ten.loss.value is None
    assert ten.loss.note == "not stated: too far beyond the runs"
    assert vary(near, plan_budget(near, 1e30)) == ()


def test_the_table_of_variations_has_money_and_the_distance_from_the_runs(epoch: Fit) -> None:
    near = replace(epoch, data=replace(epoch.data, ranges={"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 1e21)}))
    plan = plan_budget(near, 1e21, prices=TRAINING)
    this, half, ten = variation_rows(plan, vary(near, plan))
    assert (this["Beyond the runs"], half["Beyond the runs"], ten["Beyond the runs"]) == ("-", "-", "1 decade")
    for row, C in ((this, 1e21), (half, 5e20), (ten, 1e22)):
        money = row["Money [EUR]"]
        assert isinstance(money, Quantity)
        assert money.value == pytest.approx(float(H100.money(C)))
    bare = variation_rows(plan_budget(near, 1e21), vary(near, plan_budget(near, 1e21)))
    assert "Money [EUR]" not in bare[0]


def test_the_bill_of_one_part_has_no_total(epoch: Fit) -> None:
    alone, both = (bill_rows(plan_budget(epoch, 1e21, prices=prices)) for prices in (TRAINING, EVERYTHING))
    assert [row.quantity for row in alone if "money" in row.quantity] == ["Training, money"]
    assert both[-1].quantity == "Total, money"


@settings(max_examples=30, deadline=None)
@given(st.floats(1.0, 1e6))
def test_money_is_the_inverse_of_the_bill(money: float) -> None:
    fit = make_fit(EPOCH, ranges=RANGES)
    C = flops_for_money(fit, money, TRAINING)
    assert float(H100.money(C)) == pytest.approx(money, rel=1e-12)
    assert total(plan_budget(fit, C, prices=TRAINING)) == pytest.approx(money)


@pytest.mark.parametrize("money", [1e5, 1e6, 1e7])
@pytest.mark.parametrize("limits", [Limits(), Limits(parameters=1e8)])
def test_money_for_samples_and_queries_is_the_inverse_of_the_whole_bill(money: float, limits: Limits) -> None:
    fit = make_fit(EPOCH, ranges=RANGES)
    C = flops_for_money(fit, money, EVERYTHING, limits=limits)
    assert total(plan_budget(fit, C, prices=EVERYTHING, limits=limits)) == pytest.approx(money, rel=1e-6)
    assert flops_for_money(fit, money, TRAINING) > C


def test_money_that_pays_for_nothing_is_refused() -> None:
    dear = replace(EVERYTHING, inference=Inference(queries=1e12, flops=1e15))
    with pytest.raises(PlannerError, match="do not pay for any training"):
        flops_for_money(make_fit(EPOCH, ranges=RANGES), 100.0, dear)
    with pytest.raises(PlannerError, match="is not positive"):
        flops_for_money(make_fit(EPOCH, ranges=RANGES), 0.0, TRAINING)


@pytest.mark.parametrize("text", ["500 EUR", "EUR 500", "€500", "500€", "0.5k EUR", "500 euros", "500 eur"])
def test_typed_money_is_read(epoch: Fit, text: str) -> None:
    assert is_money(text)
    money = read_money(text, TRAINING, "terminal")
    assert money == 500
    C, limits = spendable(epoch, money, TRAINING)
    assert C == pytest.approx(500 / 2.5 * 3600 * H100.peak * 0.4)
    assert limits == Limits()


@pytest.mark.parametrize("text", ["1e20", "200 H200 hours", "3 ZFLOP", "5 PFLOP/s-days", "10^20", ""])
def test_other_budgets_are_not_money(text: str) -> None:
    assert not is_money(text)


def test_money_without_device_or_price_is_one_sentence(epoch: Fit) -> None:
    missing = "the option --device and the option --hour-price", "the option --hour-price"
    for prices, words in zip((None, Prices(Machine(find_device("H100")))), missing, strict=True):
        with pytest.raises(PlannerError) as caught:
            read_money("500 EUR", prices, "terminal")
        assert str(caught.value) == f"The option --budget '500 EUR' is money: give {words} with it."
    with pytest.raises(PlannerError, match="is in USD, not in EUR"):
        read_money("500 USD", TRAINING, "page")


@pytest.mark.parametrize("money", [2e4, 1e5])
def test_a_budget_in_money_buys_the_least_loss_of_all_plans_for_this_money(money: float) -> None:
    """A grid of N gives up to 4,001 models that cost the same money as the plan. None of them has a lower loss."""
    fit = make_fit(EPOCH, ranges=RANGES)
    C, limits = spendable(fit, money, EVERYTHING)
    plan = plan_budget(fit, C, prices=EVERYTHING, limits=limits, money=money)
    assert total(plan) == pytest.approx(money, rel=1e-6)
    rates, (E, A, B, alpha, beta) = EVERYTHING.rates, EPOCH
    N = np.geomspace(1e6, 1e12, 4_001)
    D = (money - rates.parameter * N) / (6 * N * rates.flop + rates.sample)
    N, D = N[D > 0], D[D > 0]
    loss = E + A * N**-alpha + B * D**-beta
    assert plan.allocation["loss"].value == pytest.approx(loss.min(), rel=1e-6)
    assert plan.allocation["N"].value == pytest.approx(N[loss.argmin()], rel=0.01)
    compute_optimal = plan_budget(fit, flops_for_money(fit, money, EVERYTHING), prices=EVERYTHING)
    assert (plan.allocation["loss"].value or 0) < (compute_optimal.allocation["loss"].value or 0)
    assert read_plan(to_json(plan)) == plan.shown


def test_half_and_ten_times_a_budget_in_money_are_amounts_of_money() -> None:
    fit = make_fit(EPOCH, ranges=RANGES)
    C, limits = spendable(fit, 1e5, EVERYTHING)
    plan = plan_budget(fit, C, prices=EVERYTHING, limits=limits, money=1e5)
    half, ten, more = vary(fit, plan)
    assert [one.label for one in (half, ten, more)] == ["Half of the money", "Ten times the money", "10 % more money"]
    amounts = [one.money.value for one in (half, ten, more) if one.money is not None]
    assert amounts == pytest.approx([5e4, 1e6, 1.1e5], rel=1e-6)
    losses = [one.loss.value or 0 for one in (half, more, ten)]
    assert losses == sorted(losses, reverse=True)


def test_the_saving_in_percent_is_of_the_money_if_samples_have_a_price() -> None:
    fit = make_fit(EPOCH, ranges=RANGES)
    dear = Prices(H100, Simulation(price=1e-3))
    saving = save_against(fit, plan_budget(fit, 1e21, prices=dear), 4e9, 2e10)
    assert saving.stated_money is not None
    assert saving.cheapest_money is not None
    ratio = (saving.cheapest_money.value or 0) / (saving.stated_money.value or 1)
    assert saving.percent.value == pytest.approx(100 * (1 - ratio))
    assert ratio < 0.9
    assert (saving.flops.value or 0) < 0  # less money, but more compute
    assert "% of the money" in saving.sentence
    assert read_saving(saving.to_json(), saving.y) == saving


def test_a_model_much_larger_than_the_runs_is_not_bought() -> None:
    """With samples at 1 EUR, money would buy a model more than three decades larger than that of any run."""
    fit = make_fit(EPOCH, ranges=RANGES)
    dear = Prices(H100, Simulation(price=1.0))
    C, limits = spendable(fit, 1e9, dear)
    plan = plan_budget(fit, C, prices=dear, limits=limits, money=1e9)
    free = plan_budget(fit, C, prices=dear, limits=replace(limits, parameters=1e15), money=1e9)
    assert plan.allocation["N"].value == pytest.approx(1000 * RANGES["N"][1])
    assert (free.allocation["N"].value or 0) > 1000 * RANGES["N"][1]
    (said,) = [w.text for w in plan.warnings if w.code == LARGER_MODEL]
    assert "The plan is limited to" in said
    assert not [w for w in free.warnings if w.code == LARGER_MODEL]
