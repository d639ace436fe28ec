"""Journeys on the page Data: from a file to the page Fit, with a limit on the clicks."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from isoplan.engine.store.files import export
from tests.browser.clicks import Journey
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, button, press, settle, unfold, upload
from tests.engine.fitting.mixtures import three_datasets
from tests.server import Server


def test_an_uploaded_table_is_one_click_away_from_its_fit(server: Server, page: Page) -> None:
    visit(page, server, "data")
    journey = Journey(page)
    upload(page, "example-runs.csv", export.template())
    expect(page.get_by_text("25 runs", exact=True)).to_be_visible()
    assert_sound(page, figures=1)
    press(page, "Fit law")
    expect(page.get_by_role("heading", name="Fit", level=1)).to_be_visible()
    expect(page.get_by_role("combobox", name="Run table")).to_have_value("example-runs.csv")
    expect(page.get_by_test_id("stTable").first).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)
    fitted = page.url
    assert "fit=" in fitted
    page.reload()
    settle(page)
    assert page.url == fitted
    journey.check(clicks=2)


def test_three_data_sets_get_one_law_each_with_one_more_click(server: Server, page: Page) -> None:
    visit(page, server, "data")
    journey = Journey(page)
    # The empty line changes the hash of the file. Otherwise the stored answer of another test would be used.
    upload(page, "three-sets.csv", three_datasets().replace("config.dataset", "dataset").encode() + b"\n")
    press(page, "One law each")
    expect(page.get_by_text("One law for each value of 'dataset'.")).to_be_visible()
    press(page, "Fit law")
    expect(page.get_by_role("heading", name="Fit", level=1)).to_be_visible()
    expect(page.get_by_text("One law for each value of 'dataset'.")).to_be_visible()
    journey.check(clicks=3)


def test_a_filter_is_counted_corrected_and_carried_to_fit(server: Server, page: Page) -> None:
    visit(page, server, "data")
    upload(page, "example-runs.csv", export.template())
    unfold(page, "Filter runs")
    box = page.get_by_label("Only rows where", exact=True)
    for text, answer in (("params > 10M", "Write 1e7 for 10M."), ("params > 1e7", "15 of 25 runs")):
        box.fill(text)
        box.press("Enter")
        settle(page)
        expect(page.get_by_text(answer)).to_be_visible()
    assert_sound(page, figures=1)
    button(page, "Fit law").click()
    expect(page.get_by_text("Only rows where params > 1e7")).to_be_visible()
