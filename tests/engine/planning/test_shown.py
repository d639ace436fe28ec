"""A value and its interval are rounded for display. The rounded value lies inside the rounded interval."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.document import Document, to_latex, to_markdown
from isoplan.engine.planning.answer.format import as_row, between, number
from isoplan.engine.planning.answer.quantity import Quantity, measure
from isoplan.engine.planning.compare import _cell
from tests.engine.planning.conftest import EPOCH, make_fit, scattered

PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def read(text: str) -> float:
    """Convert a displayed text such as "1.2 × 10³" or "30 B" to a number."""
    text = text.replace(",", "")
    if power := re.fullmatch(r"(?:(-?[\d.]+) × )?10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", text):
        return float(power[1] or 1) * 10.0 ** int(power[2].translate(DIGITS))
    plain = re.fullmatch(r"(-?[\d.]+) ?([kMBT]?)", text)
    assert plain is not None, text
    return float(plain[1]) * PREFIX[plain[2]]


units = st.sampled_from(["FLOPs", "EUR", "h", "parameters", "negatives", "loss"])
sizes = st.one_of(st.integers(1, 2000).map(float), st.floats(-4, 13).map(lambda x: 10.0**x))


@given(sizes, st.floats(0, 0.5), st.floats(0, 0.5), units)
@example(953.0, 0.05, 0.001, "parameters")
def test_a_shown_interval_holds_the_shown_value(value: float, below: float, above: float, unit: str) -> None:
    """The displayed value lies between the displayed ends: 953 is shown as 950 if its upper end is shown as 950."""
    q = Quantity(value, (value * (1 - below), value * (1 + above)), None, unit)
    low, middle, high = (read(number(q, x)) for x in (value * (1 - below), value, value * (1 + above)))
    assert low <= middle * (1 + 1e-12)
    assert middle <= high * (1 + 1e-12)


@given(st.floats(0.05, 20.0))
def test_an_interval_holds_its_own_value(value: float) -> None:
    """The interval contains the value of the best fit even if all resamples are far below or above this value."""
    fit: Fit = make_fit(EPOCH, scattered(EPOCH, 100))
    found = measure(fit, value, np.exp(np.random.default_rng(0).normal(0, 0.3, 100)), "EUR")
    for ends in (found.ci68, found.ci95):
        assert ends is not None
        assert ends[0] <= value <= ends[1]


def test_an_interval_that_is_shown_as_its_value_is_left_out() -> None:
    assert _cell(Quantity(3e10, (3e10, 3e10), None, "tokens")) == "30 B tokens"
    assert _cell(Quantity(3e10, (2e10, 4e10), None, "tokens")) == "30 B tokens (20 B to 40 B)"


@pytest.mark.parametrize(
    ("value", "ends", "shown"),
    [
        (563.27, (148.3, 11177008.9), "150 to 1.1 × 10⁷"),
        (563.27, (148.3, 5700.0), "150 to 5700"),
        (563.27, (148.3, 5123.4), "150 to 5120"),
        (0.1234, (0.1226, 987.654), "0.12260 to 990"),
        (2.0, (1.99, 12345.678), "1.990 to 12,000"),
    ],
)
def test_an_end_far_above_its_value_has_two_digits(value: float, ends: tuple[float, float], shown: str) -> None:
    q = Quantity(value, ends, ends, "passes")
    assert between(q, ends) == shown
    row = as_row("Passes", q)
    assert (row.ci68, row.ci95) == (shown, shown)
    document = Document("An answer.", (("Passes", q),), (), {}, "")
    assert shown in to_markdown(document)
    assert "1.1 \\times 10^{7}" in to_latex(document) or ends[1] != 11177008.9


@given(st.floats(0.1, 1e6), st.floats(1, 9), st.floats(0, 9))
def test_an_end_with_two_digits_stays_beyond_its_value(value: float, down: float, up: float) -> None:
    q = Quantity(value, (value / 10**down, value * 10**up), None, "passes")
    low, middle, high = (read(number(q, x)) for x in (value / 10**down, value, value * 10**up))
    assert low <= middle <= high * (1 + 1e-12)
