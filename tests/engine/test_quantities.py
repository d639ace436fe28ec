"""Tests of parsing typed numbers and of formatting numbers for display."""

from __future__ import annotations

import math
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import (
    as_typed,
    count,
    duration,
    parse_flops,
    parse_number,
    parse_share,
    power10,
    rounded,
    si,
)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("2M", 2e6),
        ("1.5k", 1.5e3),
        ("1.5 K", 1.5e3),
        ("70B", 70e9),
        ("1T", 1e12),
        ("5 million", 5e6),
        ("1e6", 1e6),
        ("1E+6", 1e6),
        ("10^6", 1e6),
        ("10**6", 1e6),
        ("10^-3", 1e-3),
        ("10²⁰", 1e20),
        ("2 × 10^6", 2e6),
        ("2x10^6", 2e6),
        ("1.5·10⁻³", 1.5e-3),
        ("3,000,000", 3e6),
        ("3 000 000", 3e6),
        ("3_000_000", 3e6),
        ("3'000'000.5", 3000000.5),
        ("\u22122", -2.0),
        (" 7 ", 7.0),
        (".5", 0.5),
        ("2,5", 2.5),
        ("12,34", 12.34),
        (",5", 0.5),
        ("0,500", 0.5),
        ("1234,5", 1234.5),
        ("2,5M", 2.5e6),
        ("2,5 × 10^6", 2.5e6),
        ("1,000.5", 1000.5),
        ("1.000,5", 1000.5),
        ("1.234.567", 1234567.0),
        ("1 234,5", 1234.5),
        ("1.000", 1.0),
    ],
)
def test_a_number_is_read_as_people_mean_it(typed: str, value: float) -> None:
    assert parse_number(typed) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "abc",
        "5,",
        "1,2,3",
        "1,23,456",
        "1.2.3",
        "1e",
        "2 q",
        "10^^6",
        "inf",
        "nan",
        "1e999",
        "10^400",
        "2M3",
        "9" * 200,
        "1e6; 2",
    ],
)
def test_what_cannot_be_read_is_named_with_examples(typed: str) -> None:
    with pytest.raises(PlannerError, match=r"The jets .* cannot be read as a number: write it like 2M") as raised:
        parse_number(typed, "jets")
    assert typed[:40] in str(raised.value)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("1e20", 1e20),
        ("10^20", 1e20),
        ("3 ZFLOP", 3e21),
        ("3ZFLOPs", 3e21),
        ("2 EFLOP", 2e18),
        ("3 exaflops", 3e18),
        ("2e20 FLOP", 2e20),
        ("5 PFLOP/s-days", 5e15 * 86400),
        ("5 petaflop/s-day", 5e15 * 86400),
        ("1 PF-day", 1e15 * 86400),
        ("2 TFLOP/s hours", 2e12 * 3600),
        ("200 H200 hours", 200 * 3600 * 989e12 * 0.4),
        ("200 H200-hours", 200 * 3600 * 989e12 * 0.4),
        ("8 H100 for 3 days", 8 * 3 * 86400 * 989e12 * 0.4),
        ("8 x h100 x 24 h", 8 * 24 * 3600 * 989e12 * 0.4),
        ("200 A100 hours at 35 %", 200 * 3600 * 312e12 * 0.35),
        ("4 RTX 4090 days", 4 * 86400 * 165.2e12 * 0.4),
        ("10 A100 40GB hours", 10 * 3600 * 312e12 * 0.4),
        ("100 CPU node hours at 25 %", 100 * 3600 * 14.75e12 * 0.25),
        ("1k TPU v5p hours", 1e3 * 3600 * 459e12 * 0.4),
    ],
)
def test_a_budget_is_read_as_people_say_it(typed: str, value: float) -> None:
    assert parse_flops(typed).value == pytest.approx(value, rel=1e-12)


def test_device_hours_say_peak_date_source_and_utilisation() -> None:
    assumed = parse_flops("200 H200 hours").note
    assert "989 TFLOP/s dense bf16 peak of H200" in assumed
    assert "NVIDIA H200 data sheet" in assumed
    assert "40 % utilisation, assumed" in assumed
    assert parse_flops("1 V100 day at 25% MFU").note.endswith("at 25 % utilisation")


@pytest.mark.parametrize(
    ("typed", "what"),
    [
        ("5 PFLOP/s", "is a rate, not an amount"),
        ("200 K80 hours", "names a device that is not in the catalogue: use one of B200, H200"),
        ("200 hours", "cannot be read"),
        ("1 H200 hour at 0 %", "utilisation above 0 %"),
        ("1 H200 hour at 101 %", "at most 100 %"),
        ("3 QQFLOP", "cannot be read"),
        ("5 PFLOP/s-fortnights", "is a rate"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(typed: str, what: str) -> None:
    with pytest.raises(PlannerError, match=what):
        parse_flops(typed)


@given(st.floats(1e-12, 1e30))
def test_powers_of_ten_can_be_typed_back(x: float) -> None:
    assert parse_number(power10(x, 6)) == pytest.approx(x, rel=1e-5)


@given(st.floats(1.0, 9.9e14))
def test_counts_can_be_typed_back(x: float) -> None:
    assert parse_number(count(x, 3)) == pytest.approx(x, rel=6e-3)


@given(st.floats(-1e40, 1e40, allow_nan=False))
def test_numbers_are_read_as_python_prints_them(x: float) -> None:
    assert parse_number(repr(x)) == x


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    for parse in (parse_number, parse_flops):
        with suppress(PlannerError):
            assert parse(text) is not None


def test_shown_numbers() -> None:
    assert si(1.234e9) == "1.23 G"
    assert si(999.96) == "1.00 k"
    assert si(0.5) == "0.500 "
    assert power10(5.76e23) == "5.76 × 10²³"
    assert power10(1e20) == "10²⁰"
    assert power10(9.9999e19) == "10²⁰"
    assert power10(-2e-5, 2) == "-2.0 × 10⁻⁵"
    assert [power10(x) for x in (0.0, math.inf, math.nan)] == ["0", "∞", "unknown"]
    assert [count(x) for x in (70e9, 1.94e9, 999.9e6, 950, 3, 0, 1.23e16)] == [
        *("70 B", "1.9 B", "1.0 B", "950", "3", "0", "1.2 × 10¹⁶")
    ]
    assert [duration(x) for x in (3, 85, 500, 10_000, 2e5, 1e7, 1e8)] == [
        *("3 s", "85 s", "8.3 min", "2.8 h", "2.3 days", "116 days", "3.2 years")
    ]


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.34731, (0.331, 0.363), "0.347"),
        (477.83, (350.0, 600.0), "480"),
        (1.8172, None, "1.82"),
        (2.4312, (2.42, 2.44), "2.4312"),
        (5.76e23, (4e23, 7e23), "5.8 × 10²³"),
        (3e-6, (2e-6, 4e-6), "3.0 × 10⁻⁶"),
        (1.0, (-math.inf, math.inf), "1.00"),
        (0.0, None, "0.00"),
        (math.inf, None, "∞"),
        (5000.0036421, (5000.0036418, 5000.0036424), "5000.004"),
        (1.0, (0.999999999999996, 1.0), "1.000000"),
    ],
)
def test_a_value_is_rounded_as_its_interval_deserves(
    value: float, interval: tuple[float, float] | None, text: str
) -> None:
    assert rounded(value, interval) == text


def test_a_share_is_a_number_or_per_cent() -> None:
    assert [parse_share(x) for x in ("0.4", "40%", " 40 % ", "1e-1")] == [0.4, 0.4, 0.4, 0.1]
    with pytest.raises(PlannerError, match="The utilisation 'most' cannot be read as a number"):
        parse_share("most", "utilisation")


@pytest.mark.parametrize(
    ("typed", "both"), [("1,000", "1000 or 1"), ("12,340", "12340 or 12.34"), ("2,500 M", "2500 or 2.5")]
)
def test_a_comma_before_three_digits_may_mean_both(typed: str, both: str) -> None:
    with pytest.raises(PlannerError, match=f"The price {typed!r} may mean {both}: write it without the comma."):
        parse_number(typed, "price")


@given(st.integers(0, 10**12), st.integers(0, 10**6), st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", ".")]))
def test_thousands_and_decimals_are_read_in_every_notation(whole: int, part: int, marks: tuple[str, str]) -> None:
    """A number with grouped digits and decimals is unambiguous for each pair of group and decimal separators."""
    groups, decimals = marks
    text = f"{whole:,}".replace(",", groups) + decimals + f"{part:06d}"
    assert parse_number(text) == float(f"{whole}.{part:06d}")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_typed_is_read_back_exactly(x: float) -> None:
    text = as_typed(x)
    assert parse_number(text) == x
    assert not re.search(r"e[+]|e-?0|\.0$", text)


@pytest.mark.parametrize(
    ("x", "text"),
    [(1e-5, "1e-5"), (5000.0, "5000"), (0.4, "0.4"), (1e9, "1e9"), (2.5e-11, "2.5e-11"), (1e20, "1e20"), (2e6, "2e6"),
     (0.0001, "0.0001"), (123456.0, "123456"), (-3.25, "-3.25"), (0.0, "0")],
)  # fmt: skip
def test_numbers_are_written_as_one_types_them(x: float, text: str) -> None:
    assert as_typed(x) == text
