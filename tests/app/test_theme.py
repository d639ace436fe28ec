"""The theme's colours have the contrast ratios of WCAG 2.2: at least 4.5 for text and 3 for borders of controls."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path

import pytest

from isoplan.app.serving.shell import STATIC, html

CONFIG = tomllib.loads((STATIC.parent / ".streamlit" / "config.toml").read_text())["theme"]
TEXT = ("text", "link", "codeText", "primary", "red", "orange", "green", "yellow", "blue", "violet", "gray")
GROUNDS = ("backgroundColor", "secondaryBackgroundColor", "codeBackgroundColor", "dataframeHeaderBackgroundColor")


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(scheme: str) -> None:
    theme = CONFIG[scheme]
    poor = {
        (text, ground): round(contrast(theme[f"{text}Color"], theme[ground]), 2)
        for text, ground in product(TEXT, GROUNDS)
        if contrast(theme[f"{text}Color"], theme[ground]) < 4.5
    }
    assert poor == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_menu_can_be_read(scheme: str) -> None:
    theme, menu = CONFIG[scheme], CONFIG[scheme]["sidebar"]
    for ground in (menu["backgroundColor"], menu["secondaryBackgroundColor"]):
        assert contrast(theme["textColor"], ground) >= 7


def test_white_on_the_primary_button_can_be_read() -> None:
    assert contrast("#ffffff", CONFIG["light"]["primaryColor"]) >= 4.5


def test_both_schemes_define_the_same_and_no_font_is_fetched() -> None:
    assert CONFIG["light"].keys() == CONFIG["dark"].keys()
    assert "://" not in Path(STATIC.parent / ".streamlit" / "config.toml").read_text()


def test_the_shell_paints_the_same_ground_before_the_theme_arrives() -> None:
    for scheme in ("light", "dark"):
        assert f"background: {CONFIG[scheme]['backgroundColor']}" in html()
