"""Journeys to a plan: from an uploaded table of jets to a target loss or rejection, with a limit on clicks."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from isoplan.data.catalogue import path
from tests.browser.clicks import Journey
from tests.browser.conftest import visit
from tests.browser.steps import TARGET_LOSS, assert_sound, enter, go, pick, press, select, settle, upload
from tests.server import Server

JETS = path("demo/jets_grid.csv").read_bytes()


def to_a_law(page: Page, server: Server, name: str) -> Journey:
    """Upload the table of jets as ``name`` and fit the suggested law on the page Plan: three clicks."""
    visit(page, server, "data")
    journey = Journey(page)
    upload(page, name, JETS + b"\n" * (1 + len(name)))  # each test has its own table
    go(page, "Plan")
    expect(page.get_by_text(f"{name} has no law yet.")).to_be_visible()
    press(page, "Fit law")
    expect(page.get_by_role("radiogroup", name="Budget or target")).to_be_visible()
    return journey


def sentence(page: Page) -> str:
    return page.get_by_role("heading", level=2).first.inner_text().replace("\xa0", " ")


def test_from_an_upload_to_a_target_loss(server: Server, page: Page) -> None:
    journey = to_a_law(page, server, "jets.csv")
    assert sentence(page).startswith("With ")
    expect(page.get_by_text("inside the runs")).to_be_visible()
    pick(page, "Budget or target", "Target")
    enter(page, TARGET_LOSS, "0.8")
    assert sentence(page).startswith("To reach loss 0.8 spend ")
    journey.check(clicks=4, fields=1)
    assert_sound(page, figures=1)


@pytest.mark.parametrize("again", ["reload", "link"])
def test_from_an_upload_to_a_rejection_of_5000(server: Server, page: Page, again: str) -> None:
    journey = to_a_law(page, server, f"top jets {again}.csv")
    pick(page, "Budget or target", "Target")
    select(page, "Quantity with a target", "R_top")
    expect(page.get_by_text("Best of your runs: 6993.")).to_be_visible()
    enter(page, "Target R_top", "5000")
    assert sentence(page).startswith("To reach R_top 5000 (loss ")
    journey.check(clicks=5, fields=1)
    assert_sound(page, figures=1)
    before = sentence(page)
    if again == "reload":
        page.reload()
    else:
        page.goto(page.url)
    settle(page)
    assert sentence(page) == before
    assert page.get_by_label("Target R_top", exact=True).input_value() == "5000"


def test_a_stated_plan_stays_with_back_and_reload_and_goes_with_its_table(server: Server, page: Page) -> None:
    to_a_law(page, server, "compared.csv")
    page.get_by_text("Compare with your plan", exact=True).click()
    enter(page, "Your N [parameters]", "10k")
    enter(page, "Your D [samples]", "100k")
    expect(page.get_by_text("10.0 k parameters on 100 k samples reach loss")).to_be_visible()
    page.reload()
    settle(page)
    page.get_by_text("Compare with your plan", exact=True).click()
    assert page.get_by_label("Your N [parameters]", exact=True).input_value() == "10k"
    page.go_back()
    settle(page)
    assert page.get_by_label("Your D [samples]", exact=True).input_value() == ""
