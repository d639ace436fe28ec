"""Plans below one parameter or one sample are refused.

Unused samples cost nothing. If a target is not reached, its cost is not known.
"""

from __future__ import annotations

import math

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.compare import Saved, side_by_side
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.planning.smaller.answer import lifetime
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered

SIMULATED = Prices(Machine(find_device("H200"), 8, price=3.0), Simulation(price=1e-3))
SERVED = Prices(SIMULATED.machine, SIMULATED.simulation, Inference(1e6, flops=1e12))


@pytest.mark.parametrize(
    ("C", "shown"),
    [
        (1e-5, "A budget of 10⁻⁵ FLOPs buys .* less than one parameter and less than one token: give a larger budget"),
        (
            10.0,
            r"A budget of 10 FLOPs buys 0.15 parameters on 11 tokens, less than one parameter: give a larger budget",
        ),
    ],
)
def test_a_budget_below_one_parameter_or_one_sample_is_one_sentence(epoch: Fit, C: float, shown: str) -> None:
    with pytest.raises(PlannerError, match=shown):
        plan_budget(epoch, C)
    with pytest.raises(PlannerError, match=shown):
        lifetime(epoch, Question("budget", C), Inference(1e9))


def test_a_target_below_one_parameter_or_one_sample_is_one_sentence(epoch: Fit) -> None:
    shown = "A target loss of 1e\\+09 takes .* less than one parameter and less than one token: ask for a lower target"
    with pytest.raises(PlannerError, match=shown):
        plan_target(epoch, 1e9)
    one_axis = make_fit((2.0, 100.0, 0.5), law="power", axis="D")
    with pytest.raises(PlannerError, match=r"takes .* less than one token: ask for a lower target"):
        plan_target(one_axis, 1e6)


def test_runs_that_count_in_billions_have_less_than_one(epoch: Fit) -> None:
    """If N and D count billions, a plan may have N below 1: the law is E + A (1e9 N)^-alpha + B (1e9 D)^-beta."""
    E, A, B, alpha, beta = EPOCH
    ranges: dict[str, Interval] = {"N": (0.01, 10.0), "D": (0.1, 1e3)}
    small = make_fit((E, A * 1e9**-alpha, B * 1e9**-beta, alpha, beta), ranges=ranges)
    plan, same = plan_budget(small, 1e18 / 1e18), plan_budget(epoch, 1e18)
    assert plan.allocation["N"].value == pytest.approx((same.allocation["N"].value or 0) / 1e9)


def test_what_is_not_reached_costs_no_finite_money(epoch: Fit) -> None:
    """The best fit does not reach a loss of 2.3 for 9 M EUR, so no amount of the bill has a value."""
    plan = plan_target(epoch, 2.3, limits=Limits(unique=1e11, money=9e6), prices=SERVED)
    assert plan.allocation["C"].value is None
    assert plan.p_reach is not None
    assert 0.1 < plan.p_reach < 0.9
    for line in plan.bill:
        assert line.amount.value is None
        if line.what == "money" and line.amount.ci68 is not None:
            assert line.amount.ci68[0] <= 9e6
            assert line.amount.ci68[1] == math.inf
    assert not any("uses each" in w.text for w in plan.warnings)
    saved = side_by_side([Saved("without its fit", plan)], SERVED).sides[0]
    ends = saved.money["simulation"].ci68
    assert saved.money["simulation"].value is None
    assert ends is not None
    assert ends[1] == math.inf


def test_samples_that_money_leaves_out_are_no_part_of_an_epoch(epoch: Fit) -> None:
    """1 M EUR pays for 1e9 of the 1e12 unique samples. The plan uses each paid sample once, so it has one epoch."""
    plan = plan_budget(epoch, 1e22, limits=Limits(unique=1e12, money=1e6), prices=SIMULATED)
    D, passes = plan.allocation["D"].value, plan.derived["passes"]
    assert D == pytest.approx((1e6 - training(plan)) / 1e-3)
    assert (passes.value, passes.ci68) == (1.0, (1.0, 1.0))
    assert plan.derived["U"].value == pytest.approx(D)
    assert "it uses 980 M of the 1.0 T unique tokens, each once" in said(plan)


def test_samples_that_are_all_used_are_said_to_be(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e22, limits=Limits(unique=1e9))
    assert plan.derived["passes"].value == 1.0
    assert plan.derived["passes"].note == ""
    assert "uses each of the 1.0 B unique tokens once" in said(plan)


def test_repeated_samples_are_counted_in_passes() -> None:
    theta = (*EPOCH, 15.4, 5.3)
    fit = make_fit(theta, scattered(theta, 60), law="data-constrained", ranges=RANGES)
    plan = plan_budget(fit, 1e22, limits=Limits(unique=1e10))
    assert plan.derived["passes"].value == pytest.approx((plan.allocation["D"].value or 0) / 1e10)
    assert (plan.derived["passes"].value or 0) > 2


def training(plan: Plan) -> float:
    value = next(line.amount.value for line in plan.bill if (line.part, line.what) == ("training", "money"))
    assert value is not None
    return value


def said(plan: Plan) -> str:
    return next(w.text for w in plan.warnings if w.code == "epochs-not-credited")
