"""Curves of loss or metric against cost: they agree with the plans. A law that determines no cost is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.drawing.cost_curve import CostCurve, cost_curve
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.fitting.tables import make_runs
from tests.engine.planning.conftest import EPOCH, JETS, RANGES, make_fit, scattered
from tests.engine.planning.test_metric import rejection

MACHINE = Machine(find_device("H100"), price=2.5)


def at(curve: CostCurve, x: float) -> float:
    """Return the value of the curve at cost ``x``, interpolated linearly in the logarithms."""
    return float(np.exp(np.interp(np.log(x), np.log(curve.x), np.log(curve.value))))


def test_compute_is_the_cost_without_prices(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21)
    curve = cost_curve(epoch, plan)
    assert (curve.cost, curve.unit, curve.y) == ("compute", "FLOPs", "loss")
    assert curve.plan is not None
    assert curve.plan.x == pytest.approx(1e21)
    assert curve.plan.y68 == plan.allocation["loss"].ci68
    assert at(curve, 1e21) == pytest.approx(curve.plan.y, rel=1e-3)
    i = int(np.searchsorted(curve.x, 1e21))
    assert curve.low68[i] < curve.value[i] < curve.high68[i]
    assert curve.inside[i]
    assert not curve.inside[0]
    assert not curve.inside[-1]
    assert not curve.run_x.size


def test_money_is_proportional_to_compute_if_training_alone_has_a_price(epoch: Fit) -> None:
    curve = cost_curve(epoch, plan_budget(epoch, 1e21, prices=Prices(MACHINE)))
    assert (curve.cost, curve.unit) == ("money", "EUR")
    assert curve.plan is not None
    assert curve.plan.x == pytest.approx(float(MACHINE.money(1e21)))
    assert at(curve, curve.plan.x) == pytest.approx(curve.plan.y, rel=1e-3)


def test_the_least_money_counts_simulation_and_inference() -> None:
    ranges: dict[str, Any] = {"N": (1e5, 2e8), "D": (1e4, 1e9), "C": (1e10, 1e18), "loss": (0.4, 1.0)}
    fit = make_fit(JETS, scattered(JETS, 100), ranges=ranges)
    prices = Prices(MACHINE, Simulation(1e-4), Inference(1e11, 40))
    plan = plan_target(fit, 0.5, prices=prices)
    N, D = np.array([1e7, 2e7]), np.array([1e7, 1e7])
    runs = make_runs({"N": N, "D": D, "C": 6 * N * D, "loss": np.array([0.52, 0.51])})
    curve = cost_curve(fit, plan, runs=runs)
    assert curve.cost == "money"
    assert curve.plan is not None
    assert at(curve, curve.plan.x) == pytest.approx(0.5, rel=1e-3)
    bill = prices.lines(6 * N * D, N, D)[-1]
    assert (bill.part, bill.what) == ("total", "money")
    np.testing.assert_allclose(curve.run_x, bill.amount)
    np.testing.assert_array_equal(curve.run_y, runs["loss"])
    assert np.all(np.diff(curve.value) < 0)


def test_a_metric_is_read_off_the_law_at_each_cost(epoch: Fit) -> None:
    map = through(epoch, rejection(), "R")
    plan = plan_target(epoch, 30.0, map=map)
    curve = cost_curve(epoch, plan, map=map)
    assert curve.y == "R"
    assert curve.plan is not None
    assert curve.plan.y == pytest.approx(30)
    assert at(curve, curve.plan.x) == pytest.approx(30, rel=1e-2)
    assert curve.value[-1] > curve.value[0]
    assert not curve.inside[curve.value > 40].any()


def test_a_law_on_samples_costs_samples_or_their_simulation() -> None:
    fit = make_fit((1e-5, 6.0, 1.0), law="power", axis="D", ranges={"D": (100, 3e4), "loss": (2e-4, 0.07)})
    plan = plan_target(fit, 1e-3)
    curve = cost_curve(fit, plan)
    assert (curve.cost, curve.unit) == ("samples", "tokens")
    assert np.isnan(curve.low68).all()
    D = plan.allocation["D"].value
    assert curve.plan is not None
    assert curve.plan.x == D
    priced = cost_curve(fit, plan_target(fit, 1e-3, prices=Prices(MACHINE, Simulation(0.03))))
    assert priced.cost == "money"
    assert priced.plan is not None
    assert D is not None
    assert priced.plan.x == pytest.approx(0.03 * D)
    assert cost_curve(fit, prices=Prices(MACHINE)).cost == "samples"


def test_a_plan_that_the_runs_do_not_support_has_no_star(epoch: Fit) -> None:
    assert cost_curve(epoch, plan_budget(epoch, 1e30)).plan is None


def test_a_law_without_a_cost_is_named() -> None:
    fit = make_fit((10.0, 100.0, 5.0), law="metric-map", axis="loss", ranges={"loss": (2.0, 4.0)})
    with pytest.raises(PlannerError, match="The law metric-map does not determine the cost of a target"):
        cost_curve(fit)


def test_a_published_law_has_a_line_without_a_band() -> None:
    curve = cost_curve(make_fit(EPOCH, ranges=RANGES))
    assert np.isnan(curve.low68).all()
    assert np.isfinite(curve.value).all()
