"""Limits that are refused, each in one sentence: they contradict, make no sense, or lack what they are counted with."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.hardware import Machine, find_device
from engine.planning import plan_budget, plan_target
from engine.planning.limits import Limits, read_limits
from engine.planning.pricing.prices import Inference, Prices

H200 = Machine(find_device("H200"), 8, price=3.0)
TRAINING = Prices(H200)


@pytest.mark.parametrize(
    ("limits", "prices", "why"),
    [
        (Limits(unique=1e6), None, r"contradicts the limits: at most 1.00 M unique samples allow loss .* at best"),
        (Limits(parameters=1e4), None, "contradicts the limits: at most 10.0 k parameters allow loss"),
        (
            Limits(hours=0.1),
            TRAINING,
            r"contradicts the limits: it takes at least .* FLOPs \(.* h\), which at most 0.100 hours do not allow",
        ),
        (Limits(money=1, hours=1e9), TRAINING, "which at most .* hours and 1 EUR do not allow"),
    ],
)
def test_limits_that_contradict_are_one_sentence(epoch: Fit, limits: Limits, prices: Prices | None, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        plan_target(epoch, 2.0, limits=limits, prices=prices)


def test_a_target_below_every_floor_is_out_of_reach_whatever_the_limits(epoch: Fit) -> None:
    with pytest.raises(PlannerError, match=r"loss of 1 is out of reach: no resample of this fit reaches it"):
        plan_target(epoch, 1.0, limits=Limits(unique=1e9))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"unique": 0.0}, "A limit of 0 unique samples leaves nothing to plan with"),
        ({"money": -5.0}, "A limit of -5 money leaves nothing"),
        ({"hours": math.nan}, "A limit of nan hours leaves nothing"),
        ({"epochs": 4.0}, "A limit on epochs needs the number of unique samples"),
        ({"unique": 1e6, "epochs": 0.5}, "At most 0.5 epochs would leave unique samples unused"),
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
    with pytest.raises(PlannerError, match=r"The limits on .*money leave no model and no samples to train"):
        plan_budget(epoch, 1e20, limits=Limits(money=5), prices=nothing)


def test_a_price_of_zero_is_refused() -> None:
    with pytest.raises(
        PlannerError, match="The price of one hour of H200 is 0: give a positive number, or leave it out"
    ):
        Machine(find_device("H200"), price=0.0)
