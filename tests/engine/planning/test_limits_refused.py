"""Refused limits: they contradict the target, are not possible, or need a missing price or device."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits, read_limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, make_fit
from tests.engine.planning.test_metric import rejection

H200 = Machine(find_device("H200"), 8, price=3.0)
TRAINING = Prices(H200)


@pytest.mark.parametrize(
    ("limits", "prices", "why"),
    [
        (
            Limits(unique=1e6),
            None,
            r"of 2 contradicts the limit of 1.00 M unique samples: this limit allows loss 15.2 at best, with any",
        ),
        (Limits(parameters=1e4), None, "contradicts the limit of 10.0 k parameters: this limit allows loss"),
        (
            Limits(hours=0.1),
            TRAINING,
            r"contradicts the limit of 0.100 hours: the target needs at least .* FLOPs \(.* h\); loosen it or ask",
        ),
        (
            Limits(money=1, hours=1e9),
            TRAINING,
            r"contradicts the limit of 1 EUR: the target needs at least .* k EUR; loosen it",
        ),
        (
            Limits(unique=1e6, parameters=1e12),
            None,
            r"contradicts the limit of 1.00 M unique samples: this limit allows",
        ),
    ],
)
def test_limits_that_contradict_are_one_sentence(epoch: Fit, limits: Limits, prices: Prices | None, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        plan_target(epoch, 2.0, limits=limits, prices=prices)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (
            Limits(unique=1e12, parameters=2e10),
            "the limits of 1.00 T unique samples and 20.0 B parameters: these limits allow loss 2.03 at best, with any",
        ),
        (
            Limits(parameters=1.5e10, hours=3e4, unique=1e15),
            "the limits of 15.0 B parameters and 30.0 k hours: with at most 15.0 B parameters, the target needs at",
        ),
    ],
)
def test_limits_that_contradict_together_are_named_together(limits: Limits, why: str) -> None:
    """N = 20 B adds 0.126 to the floor of 1.8172 and D = 1 T adds 0.084: each allows loss 2.0, both together do not."""
    with pytest.raises(PlannerError, match=f"loss of 2 contradicts {why}"):
        plan_target(make_fit(EPOCH), 2.0, limits=limits, prices=TRAINING)


def test_a_target_below_every_floor_is_out_of_reach_whatever_the_limits(epoch: Fit) -> None:
    with pytest.raises(PlannerError, match=r"loss of 1 is out of reach: no resample of this fit reaches it"):
        plan_target(epoch, 1.0, limits=Limits(unique=1e9))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"unique": 0.0}, "A limit of 0 unique samples is not positive"),
        ({"money": -5.0}, "A limit of -5 money is not positive"),
        ({"hours": math.nan}, "A limit of nan hours is not positive"),
        ({"epochs": 4.0}, "A limit on epochs requires a limit on the number of unique samples"),
        ({"unique": 1e6, "epochs": 0.5}, "With a limit of 0.5 epochs, some unique samples would never be used"),
    ],
)
def test_limits_that_make_no_sense_are_refused(fields: dict[str, float], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        Limits(**fields)


def test_limits_need_what_they_are_counted_with(epoch: Fit) -> None:
    with pytest.raises(PlannerError, match="A limit on hours needs a machine: name the device that trains"):
        plan_budget(epoch, 1e20, limits=Limits(hours=5))
    with pytest.raises(PlannerError, match="An hour of H200 has no price"):
        plan_budget(epoch, 1e20, limits=Limits(money=5), prices=Prices(replace(H200, price=None)))
    with pytest.raises(PlannerError, match="The limit 'time' is not known: use unique, parameters"):
        read_limits({"time": 3})
    nothing = Prices(H200, inference=Inference(queries=1e12, flops=1e15))
    with pytest.raises(PlannerError, match="The limit of 5 EUR leaves no model and no samples to train: loosen it"):
        plan_budget(epoch, 1e20, limits=Limits(money=5), prices=nothing)


def test_limits_that_leave_less_than_one_sample_are_named(epoch: Fit) -> None:
    simulated = replace(TRAINING, simulation=Simulation(price=1e-3))
    shown = "The limit of 10⁻⁹ EUR leaves .* parameters on 10⁻⁶ tokens, less than one token: loosen it"
    with pytest.raises(PlannerError, match=shown):
        plan_budget(epoch, 1e20, limits=Limits(money=1e-9, unique=1e6), prices=simulated)


def test_a_target_in_a_metric_that_limits_forbid_speaks_of_the_metric() -> None:
    """1e10 samples allow at best the loss E + B D^-beta = 2.274. By the map R = 4e4 e^(-4 L) + 20, this is R = 24.5."""
    bare = make_fit(EPOCH)
    best = EPOCH[0] + EPOCH[2] * 1e10 ** -EPOCH[4]
    allowed = f"R {4e4 * math.exp(-4 * best) + 20:.1f} at"
    shown = f"R of 30 contradicts the limit of 10.0 B unique samples: this limit allows {allowed}"
    with pytest.raises(PlannerError, match=shown):
        plan_target(bare, 30.0, limits=Limits(unique=1e10), map=through(bare, rejection()))


def test_limits_on_spending_that_contradict_only_together(epoch: Fit) -> None:
    """The cheapest plan needs many hours and few samples. The fastest plan needs many samples and much money."""
    prices = replace(TRAINING, simulation=Simulation(price=1e-3))
    cheap, fast = plan_target(epoch, 2.3, prices=prices), plan_target(epoch, 2.3, prices=TRAINING)
    hours = {"cheap": float(H200.hours(known(cheap))), "fast": float(H200.hours(known(fast)))}
    assert hours["cheap"] > 10 * hours["fast"]
    limits = Limits(hours=2 * hours["fast"], money=1.1 * total_of(cheap))
    shown = "contradicts the limits of .* hours and .* EUR: the target can be reached within each of these limits"
    with pytest.raises(PlannerError, match=shown):
        plan_target(make_fit(EPOCH), 2.3, limits=limits, prices=prices)


def known(plan: Plan) -> float:
    value = plan.allocation["C"].value
    assert value is not None
    return value


def total_of(plan: Plan) -> float:
    value = next(line.amount.value for line in plan.bill if line.part == "total")
    assert value is not None
    return value


def test_a_price_of_zero_is_refused() -> None:
    with pytest.raises(
        PlannerError, match="The price of one hour of H200 is 0: give a positive number, or leave it out"
    ):
        Machine(find_device("H200"), price=0.0)
