"""Tests of the colours of figures: they differ, and are readable on light and dark pages."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.app.figures.style import palette
from isoplan.app.figures.style.palette import (
    CATEGORIES,
    COMPUTE,
    DARK_PAGE,
    FLOOR,
    GREY,
    LIGHT_PAGE,
    LOSS,
    PLAN,
    compute_colour,
)
from isoplan.app.figures.style.theme import DARK, LIGHT, PAPER, Theme
from isoplan.engine.arrays import Floats


def linear(colour: str) -> Floats:
    """Return the linear sRGB values of ``#rrggbb`` (IEC 61966-2-1)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2)."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def oklab(colour: str) -> Floats:
    """Return the OKLab coordinates of a colour (Ottosson 2020)."""
    lms = np.array([
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]) @ linear(colour)  # fmt: skip
    return np.array([
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]) @ np.cbrt(lms)  # fmt: skip


@pytest.mark.parametrize("page", [LIGHT_PAGE, DARK_PAGE])
@pytest.mark.parametrize("colour", [*COMPUTE, *CATEGORIES, GREY, PLAN, FLOOR])
def test_lines_are_seen_on_either_page(colour: str, page: str) -> None:
    assert contrast(colour, page) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK, PAPER])
def test_text_is_readable(theme: Theme) -> None:
    assert contrast(str(theme.ink), str(theme.paper)) >= 4.5
    assert contrast(str(theme.muted), str(theme.paper)) >= 4.5


@pytest.mark.parametrize("colours", [COMPUTE, LOSS])
def test_a_scale_has_equal_steps_and_grows_lighter(colours: tuple[str, ...]) -> None:
    lab = np.array([oklab(c) for c in colours])
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert steps.max() / steps.min() < 1.2
    assert np.all(np.diff(lab[:, 0]) > 0)


def test_compute_runs_from_blue_to_yellow_so_that_the_colour_blind_can_order_it() -> None:
    b = np.array([oklab(c)[2] for c in COMPUTE])
    assert np.all(np.diff(b[1:]) > 0)
    assert b[-1] - b[1] > 0.25


def test_categories_differ() -> None:
    lab = [oklab(c) for c in CATEGORIES]
    apart = [np.linalg.norm(a - b) for i, a in enumerate(lab) for b in lab[:i]]
    assert min(apart) > 0.05
    assert palette.category(0) == palette.category(len(CATEGORIES)) == CATEGORIES[0]


def test_the_colour_of_a_budget_is_its_place_on_a_log_scale() -> None:
    span = (1e18, 1e22)
    assert compute_colour(1e18, span) == COMPUTE[0]
    assert compute_colour(1e20, span) == COMPUTE[5]
    assert compute_colour(1e22, span) == COMPUTE[-1]
    assert compute_colour(1e30, span) == COMPUTE[-1]
    assert compute_colour(1e20, (1e20, 1e20)) == COMPUTE[5]
