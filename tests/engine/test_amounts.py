"""Tests of amounts with a unit: a field converts its own units and refuses other units in one sentence."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine import amounts
from isoplan.engine.amounts import Unit, money, parse_amount
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import SUFFIXES, as_typed, parse_number

EUR, USD = money("EUR", *amounts.AN_HOUR), money("USD", *amounts.A_SAMPLE)
UNITS = (*amounts.KINDS, amounts.TOKENS, amounts.CPU_SECONDS, EUR, USD)


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("2,5", EUR, 2.5),
        ("2.5 EUR", EUR, 2.5),
        ("2,5€", EUR, 2.5),
        ("€ 2.50", EUR, 2.5),
        ("2.5 euros per hour", EUR, 2.5),
        ("€2,5/h", EUR, 2.5),
        ("$ 2 M", USD, 2e6),
        ("3 EUR/GPU hour", EUR, 3.0),
        ("10k€", EUR, 1e4),
        ("1.5 M EUR", EUR, 1.5e6),
        ("$1e-4", USD, 1e-4),
        ("1e-4 USD/jet", USD, 1e-4),
        ("-$3", USD, -3.0),
        ("24 h", amounts.HOURS, 24.0),
        ("2 days", amounts.HOURS, 48.0),
        ("90 min", amounts.HOURS, 1.5),
        ("80GB", amounts.GIGABYTES, 80.0),
        ("80 G", amounts.GIGABYTES, 80.0),
        ("80 GiB", amounts.GIGABYTES, 80 * 1.024**3),
        ("0.5 TB", amounts.GIGABYTES, 500.0),
        ("4 kB", amounts.BYTES, 4000.0),
        ("4000 B", amounts.BYTES, 4000.0),
        ("4 KiB", amounts.BYTES, 4096.0),
        ("700 W", amounts.WATTS, 700.0),
        ("0.7 kW", amounts.WATTS, 700.0),
        ("300 g/kWh", amounts.GRID, 300.0),
        ("0.3 kg CO2/kWh", amounts.GRID, 300.0),
        ("2 M jets", amounts.SAMPLES, 2e6),
        ("2 million events", amounts.SAMPLES, 2e6),
        ("70B parameters", amounts.PARAMETERS, 70e9),
        ("4 passes", amounts.EPOCHS, 4.0),
        ("1 B queries", amounts.QUERIES, 1e9),
        ("2 GFLOP/query", amounts.FLOPS, 2e9),
        ("20 ms", amounts.CPU_SECONDS, 0.02),
        ("0.5 s/jet", amounts.CPU_SECONDS, 0.5),
    ],
)
def test_the_unit_of_a_field_may_be_typed(typed: str, unit: Unit, value: float) -> None:
    assert parse_amount(typed, "field", unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("typed", "unit", "said"),
    [
        ("2.5 USD", EUR, "The price '2.5 USD' is in USD, not in EUR: write it like 2.5 or 2.5 EUR."),
        ("$2.5", EUR, "The price '$2.5' is in USD, not in EUR: write it like 2.5 or 2.5 EUR."),
        ("2 h", EUR, "The price '2 h' is in hours, not in EUR: write it like 2.5 or 2.5 EUR."),
        ("80 GB", amounts.HOURS, "The price '80 GB' is in GB, not in hours: write it like 24 or 24 h."),
        ("24 hours", amounts.GIGABYTES, "The price '24 hours' is in hours, not in GB: write it like 80 or 80 GB."),
        ("5 EUR/kWh", EUR, "The price '5 EUR/kWh' is not in EUR: write it like 2.5 or 2.5 EUR."),
        ("5 %", EUR, "The price '5 %' is not in EUR: write it like 2.5 or 2.5 EUR."),
        ("3 apples", amounts.HOURS, "The price '3 apples' is not in hours: write it like 24 or 24 h."),
        ("soon", amounts.HOURS, "The price 'soon' cannot be read as a number: write it like 24 or 24 h."),
        ("", EUR, "The price '' cannot be read as a number: write it like 2.5 or 2.5 EUR."),
        ("1e300 M EUR", money("EUR"), None),
        ("1e305 M EUR", money("EUR"), "cannot be read as a number"),
        ("1,000 EUR", EUR, "The price '1,000 EUR' may mean 1000 or 1: write it without the comma."),
    ],
)
def test_what_does_not_belong_to_the_field_is_one_sentence(typed: str, unit: Unit, said: str | None) -> None:
    if said is None:
        assert parse_amount(typed, "price", unit) == pytest.approx(1e306)
        return
    with pytest.raises(PlannerError) as raised:
        parse_amount(typed, "price", unit)
    assert said in str(raised.value)


def test_a_millisecond_is_no_megabyte() -> None:
    with pytest.raises(PlannerError, match="not in GB: write it like 80 or 80 GB"):
        parse_amount("1 ms", "memory", amounts.GIGABYTES)
    assert parse_amount("80 GBs", "memory", amounts.GIGABYTES) == 80


NUMBERS = st.floats(1e-30, 1e30)
BLANK = st.sampled_from(["", " "])


@given(NUMBERS, st.sampled_from(UNITS), BLANK, st.booleans(), st.data())
def test_every_word_of_a_unit_multiplies_the_number(
    x: float, unit: Unit, blank: str, large: bool, data: st.DataObject
) -> None:
    word, factor = data.draw(st.sampled_from(sorted(unit.words.items())))
    typed = f"{as_typed(x)}{blank or ' ' * word.startswith('e')}{word.upper() if large else word}"
    assert parse_amount(typed, "field", unit) == pytest.approx(x * factor, rel=1e-12)


@given(NUMBERS, st.sampled_from(UNITS), st.sampled_from([s for s in SUFFIXES if s not in ("m", "g", "t", "b")]))
def test_plain_numbers_and_suffixes_mean_what_they_do_everywhere(x: float, unit: Unit, suffix: str) -> None:
    for typed in (as_typed(x), f"{as_typed(x)} {suffix}"):
        assert parse_amount(typed, "field", unit) == parse_number(typed)


@given(st.text(max_size=30), st.sampled_from(UNITS))
def test_any_text_is_a_finite_number_or_a_sentence(text: str, unit: Unit) -> None:
    try:
        assert math.isfinite(parse_amount(text, "field", unit))
    except PlannerError as error:
        assert str(error).startswith("The field ")  # noqa: PT017


@given(NUMBERS, st.sampled_from(UNITS), st.sampled_from(UNITS), st.data())
def test_a_word_of_another_field_is_refused(x: float, unit: Unit, other: Unit, data: st.DataObject) -> None:
    words = sorted(word for word in other.words if word not in unit.words and word not in SUFFIXES)
    if not words or unit is other:
        return
    word = data.draw(st.sampled_from(words))
    if any(word.startswith(s) and word.removeprefix(s).strip() in unit.words for s in SUFFIXES):
        return
    with pytest.raises(PlannerError, match=f"not in {unit.name}: write it like {unit.examples}"):
        parse_amount(f"{as_typed(x)} {word}", "field", unit)
