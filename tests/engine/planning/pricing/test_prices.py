"""Conversion of FLOPs, samples and queries to hours, money, energy, CO2 and bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.scenario.prices import Inference, Line, Prices, Simulation, by_cpu_time

H100 = Machine(find_device("H100"), 8, price=2.5)
PRICES = Prices(
    H100,
    by_cpu_time(36.0, 0.05, size=2000.0),
    Inference(queries=1e12, tokens=40),
    currency="USD",
    grid=400,
    pue=1.25,
)


def amounts(lines: tuple[Line, ...]) -> dict[str, Any]:
    return {f"{line.part} {line.what} [{line.unit}]": line.amount for line in lines}


def test_a_bill_has_every_line_with_its_unit() -> None:
    C = float(H100.flops(100))
    found = amounts(PRICES.lines(C, 1e6, 1e8))
    served = 2 * 1e6 * 40 * 1e12
    assert {name: float(x) for name, x in found.items()} == pytest.approx(
        {
            "training time [h]": 100,
            "training device hours [H100 h]": 800,
            "training money [USD]": 2000,
            "training energy [kWh]": 800 * 0.7 * 1.25,
            "training CO2 [kg]": 280,
            "simulation CPU time [CPU h]": 1e6,
            "simulation money [USD]": 5e4,
            "simulation storage [GB]": 200,
            "inference compute [FLOPs]": served,
            "inference time [h]": H100.hours(served),
            "inference device hours [H100 h]": H100.device_hours(served),
            "inference money [USD]": H100.money(served),
            "inference energy [kWh]": H100.kwh(served, 1.25),
            "inference CO2 [kg]": H100.kwh(served, 1.25) * 0.4,
            "total money [USD]": 2000 + 5e4 + float(H100.money(served)),
        }
    )


def test_what_nobody_gave_is_left_out() -> None:
    bare = Prices(Machine(find_device("TPU v5p")))
    assert list(amounts(bare.lines(1e20, 1e9, 1e9))) == ["training time [h]", "training device hours [TPUv5p h]"]
    stored = Prices(Machine(H100.device), Simulation(size=100.0))
    assert "total money [EUR]" not in amounts(stored.lines(1e20, 1e9, 1e9))
    assert list(amounts(stored.lines(1e20, 1e9, 1e9)))[-1] == "simulation storage [GB]"


@given(st.floats(0.01, 100), st.floats(15, 25), st.floats(3, 11), st.floats(3, 11))
def test_prices_scale_money_linearly_and_nothing_else(times: float, c: float, n: float, u: float) -> None:
    assert PRICES.simulation is not None
    assert PRICES.simulation.price is not None
    dearer = replace(
        PRICES,
        machine=replace(H100, price=2.5 * times),
        simulation=replace(PRICES.simulation, price=PRICES.simulation.price * times),
    )
    before, after = (amounts(p.lines(10.0**c, 10.0**n, 10.0**u)) for p in (PRICES, dearer))
    for name, amount in before.items():
        assert after[name] == pytest.approx(amount * (times if "money" in name else 1))


def test_resamples_pass_through_with_their_shape() -> None:
    C = np.array([1e20, np.inf, 1e21])
    found = amounts(PRICES.lines(C, np.array([1e6, np.inf, np.nan]), 1e8))
    assert all(x.shape == (3,) for x in found.values())
    assert np.isposinf(found["training money [USD]"][1])
    assert np.isnan(found["total money [USD]"][2])


def test_inference_may_run_elsewhere_at_its_own_flops() -> None:
    l40s = Machine(find_device("L40S"), price=1.0)
    prices = Prices(H100, inference=Inference(1e9, flops=5e6, machine=l40s))
    found = amounts(prices.lines(1e18, np.nan, 1e6))
    assert found["inference compute [FLOPs]"] == 5e15
    assert found["inference money [EUR]"] == l40s.money(5e15)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Simulation(price=0), "price of one sample is 0: give a positive number, or leave it out to count"),
        (lambda: Simulation(size=-1), "size of one sample in bytes is -1"),
        (lambda: by_cpu_time(0, 0.05), "price of one sample is 0"),
        (lambda: by_cpu_time(10, 0), "price of one CPU hour is 0: .* or leave it out to count only CPU hours"),
        (lambda: Inference(0), "queries over the model's life is 0: .* or leave inference out"),
        (lambda: Inference(1e9, tokens=0), "tokens in a query is 0"),
        (lambda: Inference(1e9, flops=float("nan")), "FLOPs of a query is nan"),
        (
            lambda: replace(PRICES, currency="GBP"),  # type: ignore[arg-type]
            "currency 'GBP' is unknown: use EUR or USD",
        ),
        (lambda: replace(PRICES, pue=0.9), "effectiveness 0.9 is below 1"),
        (lambda: replace(PRICES, grid=-5), "grid intensity of -5 g/kWh"),
    ],
)
def test_prices_that_make_no_sense_are_refused(make: Any, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        make()
