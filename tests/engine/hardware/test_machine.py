"""Tests of the conversion of FLOPs to hours, money, energy and CO2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import DEVICES, Machine, find_device
from isoplan.engine.hardware.machine import co2
from isoplan.engine.quantities import parse_flops

H200 = find_device("H200")
EIGHT = Machine(H200, 8, price=3.0)
machines = st.builds(
    Machine,
    device=st.sampled_from(DEVICES),
    devices=st.integers(1, 10_000),
    utilisation=st.floats(0.01, 1),
    price=st.floats(1e-3, 1e3),
    power=st.floats(1, 2000),
)


def test_two_hundred_h200_hours_are_two_hundred_h200_hours() -> None:
    C = parse_flops("200 H200 hours").value
    assert EIGHT.device_hours(C) == pytest.approx(200)
    assert EIGHT.hours(C) == pytest.approx(25)
    assert EIGHT.money(C) == pytest.approx(600)
    assert EIGHT.kwh(C) == pytest.approx(140)
    assert EIGHT.kwh(C, pue=1.2) == pytest.approx(168)
    assert co2(EIGHT.kwh(C), 300) == pytest.approx(42)
    source = "peaks of the NVIDIA H200 data sheet, SXM, checked 2026-11"
    assert EIGHT.text == f"8 x H200 at 40 % of 989 TFLOP/s bf16 ({source})"


@given(machines, st.floats(10, 30), st.floats(0.01, 100))
def test_everything_grows_linearly_with_the_flops(machine: Machine, log_c: float, times: float) -> None:
    C = 10.0**log_c
    for cost in (machine.hours, machine.device_hours, machine.money, machine.kwh):
        assert cost(times * C) == pytest.approx(times * cost(C))
    assert machine.flops(machine.hours(C)) == pytest.approx(C)


@given(machines, st.floats(10, 30), st.floats(0.01, 100))
def test_money_is_linear_in_the_price_and_free_of_the_number_of_devices(m: Machine, log_c: float, times: float) -> None:
    C, price = 10.0**log_c, m.price or 1.0
    dearer = Machine(m.device, m.devices, m.utilisation, price * times)
    assert dearer.money(C) == pytest.approx(times * m.money(C))
    assert Machine(m.device, 1, m.utilisation, price).money(C) == pytest.approx(m.money(C))


@given(machines, st.floats(0.01, 1))
def test_twice_the_utilisation_is_half_the_hours(m: Machine, share: float) -> None:
    lower = Machine(m.device, m.devices, m.utilisation * share, m.price)
    assert lower.hours(1e20) * share == pytest.approx(m.hours(1e20))


def test_resamples_pass_with_what_they_cannot_reach() -> None:
    C = np.array([1e20, np.inf, np.nan])
    np.testing.assert_array_equal(np.isfinite(EIGHT.money(C)), [True, False, False])
    assert np.isposinf(co2(EIGHT.kwh(C), 100)[1])


def test_other_precisions_and_powers() -> None:
    assert Machine(H200, precision="fp8").hours(1e20) == pytest.approx(Machine(H200).hours(1e20) * 989 / 1979)
    assert Machine(find_device("TPU v5p"), power=500).kwh(1e20) > 0
    assert co2(10.0, 0) == 0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"devices": 0}, "0 devices are not possible: give a whole number of H200"),
        ({"devices": 1.5}, "1.5 devices are not possible"),
        ({"utilisation": 40}, "utilisation 40 is not a fraction of the peak: write 0.4 for 40 %"),
        ({"utilisation": float("nan")}, "utilisation nan"),
        (
            {"price": 0.0},
            "price of one hour of H200 is 0: give a positive number, or leave it out to count only hours",
        ),
        ({"power": -1.0}, "power of one H200 in W is -1"),
        ({"precision": "int8"}, "H200 has no peak at precision 'int8'"),
    ],
)
def test_a_machine_that_makes_no_sense_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        Machine(H200, **fields)


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(PlannerError, match="An hour of H200 has no price: give the price"):
        Machine(H200).money(1e20)
    with pytest.raises(PlannerError, match="states no power for TPUv5p: give the power of one device in W"):
        Machine(find_device("TPU v5p")).kwh(1e20)
    with pytest.raises(PlannerError, match=r"effectiveness 0.5 is below 1"):
        EIGHT.kwh(1e20, pue=0.5)
    with pytest.raises(PlannerError, match="grid intensity of -1 g/kWh"):
        co2(1.0, -1)
