"""Journeys on the page Fit. The first goes from a table with three datasets to three laws.

The second goes from an adopted law to a plan.
"""

from __future__ import annotations

from playwright.sync_api import Page, expect

from isoplan.engine.store.files import export
from tests.browser.clicks import Journey
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, press, settle, tab, upload
from tests.engine.fitting.mixtures import DATASETS, three_datasets
from tests.server import Server


def test_an_upload_with_three_data_sets_gives_three_laws_in_three_clicks(server: Server, page: Page) -> None:
    visit(page, server, "data")
    journey = Journey(page)
    upload(page, "three.csv", three_datasets().replace("config.dataset", "dataset").encode())
    press(page, "One law each")
    press(page, "Fit law")
    expect(page.get_by_role("combobox", name="Run table")).to_have_value("three.csv")
    expect(page.get_by_role("heading", name="One law for each dataset")).to_be_visible()
    head = page.get_by_test_id("stTable").first.locator("th").all_inner_texts()
    assert [name for name in head if name.strip()] == list(DATASETS)
    expect(page.get_by_role("tab", name="All groups")).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)
    journey.check(clicks=3)


def test_the_suggested_law_is_fitted_compared_and_planned_with(server: Server, page: Page) -> None:
    visit(page, server, "data")
    upload(page, "example-runs.csv", export.template())
    journey = Journey(page)
    press(page, "Fit law")
    expect(page.get_by_text("Suggested: Loss over size and data (Chinchilla), because")).to_be_visible()
    tab(page, "Compare laws")
    press(page, "Compare laws")
    expect(page.get_by_text("predicts the largest runs best")).to_be_visible()
    assert page.locator(".isoplan-table tbody tr").count() >= 6
    assert "Law isoflop" not in page.locator(".isoplan-table").inner_text()
    assert_sound(page, figures=1)
    press(page, "Plan with this fit")
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    settle(page)
    assert_sound(page)
    journey.check(clicks=4)
