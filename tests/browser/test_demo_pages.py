"""The demo on every page and in every view, light and dark: no errors, no horizontal scrolling, every figure drawn."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from isoplan.data.catalogue import CARDS, DEMOS
from tests.browser.conftest import visit
from tests.browser.steps import (
    BUDGET,
    TARGET_LOSS,
    assert_sound,
    button,
    enter,
    go,
    pick,
    press,
    select,
    settle,
    tab,
    unfold,
)
from tests.server import Server

WIDTH = 1024
VIEWS = ("Iso-FLOP", "Frontier", "Surface")
BACKGROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 23, 28)"}


def fitted(page: Page) -> None:
    """Press Fit and wait for the table of parameters and its figure."""
    press(page, "Fit law")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)


def views(page: Page, *names: str) -> None:
    """Open the views ``names`` of the page Explore, and check each view."""
    for name in names:
        pick(page, "View", name)
        assert_sound(page, figures=1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_demo_in_one_click_and_on_every_page(server: Server, open_page: Callable[..., Page], scheme: str) -> None:
    page = open_page(scheme=scheme, width=WIDTH, height=800)
    visit(page, server)
    assert_sound(page)
    button(page, "Open the demo").click()
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)
    background = page.locator('[data-testid="stApp"]').evaluate("e => getComputedStyle(e).backgroundColor")
    assert background == BACKGROUND[scheme]
    (fit,) = parse_qs(urlsplit(page.url).query)["fit"]
    go(page, "Explore")
    views(page, *VIEWS)
    pick(page, "Optimum for", "Target")
    assert_sound(page, figures=1)

    visit(page, server, f"plan?fit={fit}")  # a new session, without the target and the prices of the demo
    assert_sound(page, figures=1)
    enter(page, BUDGET, "1e-4 H200 hours")
    expect(page.get_by_text("at 40 % utilisation, assumed")).to_be_visible()
    assert_sound(page, figures=1)
    pick(page, "Budget or target", "Target")
    enter(page, TARGET_LOSS, "1.0")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)

    go(page, "Fit")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    assert_sound(page, figures=1)

    go(page, "Data")
    for name in ("Rows", "Columns", "Source"):
        tab(page, name)
        assert_sound(page, figures=1)
    for section in ("Change columns and units", "Filter runs", "Upload runs"):
        unfold(page, section)
    tab(page, "Paste cells")
    assert_sound(page, figures=1)


def test_the_other_demo_tables(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(scheme="dark", width=WIDTH, height=800)
    sweep, repetition = DEMOS[1], DEMOS[2]
    visit(page, server)
    page.get_by_role("link", name=sweep.name).click()
    expect(page.get_by_role("combobox", name="Run table")).to_have_value(sweep.name)
    settle(page)
    assert_sound(page, figures=1)
    go(page, "Fit")
    select(page, "Law", sweep.spec.find_law().title)
    fitted(page)
    go(page, "Explore")
    views(page, "Frontier", "Iso-FLOP")
    go(page, "Plan")
    assert_sound(page, figures=1)

    go(page, "Fit")
    select(page, "Run table", repetition.name)
    expect(page.get_by_role("combobox", name="Law")).to_have_value(repetition.spec.find_law().title)
    settle(page)
    fitted(page)
    go(page, "Explore")
    assert page.get_by_role("radio", name="Axis").is_checked()
    assert_sound(page, figures=1)
    go(page, "Plan")
    enter(page, TARGET_LOSS, "1.0")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)


def test_published_laws(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(width=WIDTH, height=800)
    surface = next(card for card in CARDS if card.file == "cards/jets_table1.json")
    axis = next(card for card in CARDS if "amplitudes_ttH" in card.file)
    frontier = next(card for card in CARDS if card.file == "cards/behavior_table4.json")
    visit(page, server, "explore")
    for card, names in ((surface, VIEWS), (frontier, ("Frontier",)), (axis, ("Axis",))):
        select(page, "Fit", f"{card.name} (published)")
        views(page, *names)
    go(page, "Plan")
    assert page.get_by_role("combobox", name="Fit").input_value() == f"{axis.name} (published)"
    select(page, "Fit", f"{surface.name} (published)")
    pick(page, "Budget or target", "Budget")
    expect(page.get_by_text("no interval: correlations unpublished").first).to_be_visible()
    assert_sound(page, figures=1)
    go(page, "Fit")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    assert_sound(page)
