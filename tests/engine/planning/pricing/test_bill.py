"""Cost of a plan in time, money, energy and CO2, with intervals from the fit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.costs import compute_rule
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.parts import CostLine
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, JETS, RANGES, make_fit, scattered

H200 = Machine(find_device("H200"), 64, price=3.0)
PRICES = Prices(H200, Simulation(price=1e-6), Inference(queries=1e9, tokens=100), grid=300)


def amounts(lines: tuple[CostLine, ...]) -> dict[str, Quantity]:
    return {f"{line.part} {line.what}": line.amount for line in lines}


def value(q: Quantity) -> float:
    assert q.value is not None
    return q.value


def test_a_target_carries_its_intervals_into_money(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.0, prices=PRICES, limits=Limits(parameters=1e15))
    found = amounts(plan.bill)
    C = plan.allocation["C"]
    for name in ("training money", "training energy", "training CO2", "simulation money", "inference money"):
        q = found[name]
        assert q.ci68 is not None
        assert q.ci95 is not None
        assert q.ci95[0] < q.ci68[0] < value(q) < q.ci68[1] < q.ci95[1]
    assert value(found["training money"]) == pytest.approx(float(H200.money(value(C))))
    assert C.ci95 is not None
    assert found["training money"].ci95 == pytest.approx([float(H200.money(x)) for x in C.ci95])
    assert value(found["simulation money"]) == pytest.approx(1e-6 * value(plan.allocation["D"]))


def test_the_total_has_the_interval_of_the_sum_not_the_sum_of_intervals(epoch: Fit) -> None:
    found = amounts(plan_budget(epoch, 1e22, prices=PRICES).bill)
    parts = [found[f"{part} money"] for part in ("training", "simulation", "inference")]
    total = found["total money"]
    assert value(total) == pytest.approx(sum(value(q) for q in parts))
    assert total.ci68 is not None
    ends = [q.ci68 for q in parts]
    # Resamples with a larger N* have a smaller D*, so a high cost of one part comes with a low cost of another.
    assert total.ci68[1] < sum(x[1] for x in ends if x)


def test_a_budget_is_exact_and_its_samples_are_not(epoch: Fit) -> None:
    found = amounts(plan_budget(epoch, 1e22, prices=PRICES).bill)
    assert found["training money"].note == "given"
    assert value(found["training device hours"]) == pytest.approx(float(H200.device_hours(1e22)))
    D = plan_budget(epoch, 1e22).allocation["D"]
    assert D.ci68 is not None
    assert found["simulation money"].ci68 == pytest.approx([1e-6 * x for x in D.ci68])


@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 100))
def test_money_is_linear_in_prices_with_its_intervals(times: float) -> None:
    fit = make_fit(EPOCH, scattered(EPOCH, 100), ranges=RANGES)
    dearer = replace(PRICES, machine=replace(H200, price=3.0 * times), simulation=Simulation(price=1e-6 * times))
    before, after = (amounts(plan_target(fit, 2.2, prices=p).bill)["total money"] for p in (PRICES, dearer))
    assert value(after) == pytest.approx(times * value(before))
    assert before.ci95 is not None
    assert after.ci95 == pytest.approx([times * x for x in before.ci95])


def test_repeated_samples_are_simulated_once() -> None:
    theta = (*EPOCH, 15.4, 5.3)
    fit = make_fit(theta, scattered(theta, 60), law="data-constrained", ranges=RANGES)
    every, capped = (
        amounts(plan_budget(fit, 1e22, prices=PRICES, limits=limits).bill)["simulation money"]
        for limits in (Limits(), Limits(unique=1e9))
    )
    assert value(capped) == pytest.approx(1e3)
    assert capped.ci95 == pytest.approx((1e3, 1e3))
    assert value(every) > 1e4


def test_what_resamples_cannot_reach_costs_infinity() -> None:
    resamples = np.tile(EPOCH, (100, 1))
    resamples[:, 0] = np.linspace(1.7, 2.1, 100)
    fit = make_fit(EPOCH, resamples, ranges=RANGES)
    money = amounts(plan_target(fit, 2.0, prices=PRICES).bill)["total money"]
    assert money.ci95 is not None
    assert math.isinf(money.ci95[1])
    assert math.isfinite(money.ci95[0])


def test_a_law_without_n_has_no_price_of_inference_and_says_so() -> None:
    fit = make_fit((0.1, 1e6, 0.4), law="power", axis="C")
    found = {f"{line.part} {line.what}": line for line in plan_target(fit, 0.2, prices=PRICES).bill}
    assert found["inference money"].amount.value is None
    assert found["inference money"].row.note == "the law on C does not determine N"
    assert found["simulation money"].amount.note == "the law on C does not determine D"
    assert found["training money"].amount.value is not None


def test_a_line_is_ready_to_show(epoch: Fit) -> None:
    line = next(x for x in plan_target(epoch, 2.0, prices=PRICES).bill if x.what == "money")
    assert (line.row.quantity, line.row.unit) == ("Training, money", "EUR")
    assert " to " in line.row.ci68


def test_the_rule_in_use_prices_the_plan() -> None:
    fit = make_fit(JETS)
    plain, tokens = (
        value(amounts(plan_target(fit, 0.33, rule, prices=Prices(H200)).bill)["training money"])
        for rule in (None, compute_rule("6npND", 40))
    )
    assert tokens == pytest.approx(40 * plain)
