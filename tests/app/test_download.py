"""Tests of the typed width of a downloaded figure: accepted texts and errors."""

from __future__ import annotations

import pytest

from isoplan.app.components.download import WIDTHS, print_theme
from isoplan.engine.errors import PlannerError

PIXELS_PER_MM = 96 / 25.4


@pytest.mark.parametrize(
    ("text", "mm"),
    [
        *zip(WIDTHS, (85, 175, 254), strict=True),
        ("120", 120),
        ("12 cm", 120),
        ("3.4in", 86.36),
        ("8,5 cm", 85),
        ("241 pt", 85.02),
    ],
)
def test_widths_as_people_write_them(text: str, mm: float) -> None:
    assert print_theme(text).width == pytest.approx(mm * PIXELS_PER_MM, rel=1e-3)


def test_the_type_grows_with_the_format() -> None:
    sizes = [print_theme(width).size for width in WIDTHS]
    assert sizes == sorted(sizes)
    assert sizes[0] == pytest.approx(8 * 96 / 72)


@pytest.mark.parametrize("text", ["", "wide", "10 mm", "501 mm", "100 in", "-85 mm", "nan", "1e3 mm"])
def test_what_is_no_width_is_named(text: str) -> None:
    with pytest.raises(PlannerError, match="is not a length from 40 to 500 mm: write it like 85 mm"):
        print_theme(text)
