"""Tests of the spending cap of a sweep: device hours, or money together with a price per device hour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.app.sweep_costs import read_cap
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.sweep import Cap


@pytest.mark.parametrize(
    ("cap", "price", "expected"),
    [
        ("", "", Cap()),
        ("", "2", Cap(None, 2.0, "EUR")),
        ("50 EUR", "2", Cap(25.0, 2.0, "EUR")),
        ("€50", "2 EUR/h", Cap(25.0, 2.0, "EUR")),
        ("$50", "2", Cap(25.0, 2.0, "USD")),
        ("1k USD", "4 USD per hour", Cap(250.0, 4.0, "USD")),
        ("20 h", "", Cap(20.0, unit="hour")),
        ("20 device hours", "1.5 EUR/h", Cap(20.0, 1.5, "EUR", "hour")),
        ("2 GPU h", "", Cap(2.0, unit="hour")),
        ("2 days", "3 USD", Cap(48.0, 3.0, "USD", "day")),
        ("90 min", "", Cap(1.5, unit="minute")),
    ],
)
def test_caps(cap: str, price: str, expected: Cap) -> None:
    assert read_cap(cap, price) == expected


@pytest.mark.parametrize(
    ("cap", "text"),
    [
        ("5 min", "5 device minutes"),
        ("1 min", "1 device minute"),
        ("90 s", "90 device seconds"),
        ("2 days", "2 device days"),
        ("20 GPU hours", "20 device hours"),
        ("1k h", "1000 device hours"),
        ("5 EUR", "5 EUR"),
    ],
)
def test_a_cap_is_shown_in_the_unit_that_was_typed(cap: str, text: str) -> None:
    shown = read_cap(cap, "2 EUR").text
    assert shown == text
    assert read_cap(shown, "2 EUR") == read_cap(cap, "2 EUR")


@pytest.mark.parametrize(
    ("cap", "price", "why"),
    [
        ("50", "2", "The option --cap '50' has no unit: write it like 50 EUR or 20 h."),
        ("1k", "", "The option --cap '1k' has no unit"),
        ("50 EUR", "", "The option --cap is in EUR: give the option --hour-price too, or write hours, as in 20 h."),
        ("50 EUR", "2 USD", "The option --hour-price '2 USD' is in USD, not in EUR"),
        ("0 h", "", "The option --cap must be above 0."),
        ("-5 EUR", "2", "The option --cap must be above 0."),
        ("50 EUR", "0", "The option --hour-price must be above 0."),
        ("lots", "", "The option --cap 'lots' cannot be read as a number"),
        ("50 GB", "", "The option --cap '50 GB' is in GB, not in hours"),
    ],
)
def test_what_is_no_cap_is_one_sentence(cap: str, price: str, why: str) -> None:
    with pytest.raises(PlannerError) as error:
        read_cap(cap, price)
    assert why in str(error.value)


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e3))
def test_money_buys_hours_at_the_price(money: float, price: float) -> None:
    found = read_cap(f"{money!r} EUR", f"{price!r}")
    assert found.hours == pytest.approx(money / price)
    assert found.text == f"{money:.4g} EUR"
