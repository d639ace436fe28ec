"""The counter of clicks: each kind of step is counted once, and counts persist across pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.clicks import Journey

SITE = "http://journey.test"
HTML = """<button>Fit law</button><input type="file" aria-label="Runs"><input aria-label="Budget"><p>text</p>
<input role="combobox" aria-label="Law"><div role="option">Chinchilla</div><a href="/next">Plan</a>
<label><input type="checkbox"> Swap</label>"""


def test_each_step_is_counted_once_and_kept_across_pages(page: Page) -> None:
    page.route(f"{SITE}/**", lambda route: route.fulfill(body=HTML, content_type="text/html"))
    page.goto(SITE)
    journey = Journey(page)
    page.get_by_text("text").click()
    page.get_by_label("Runs").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"N\n1"})
    page.get_by_role("button", name="Fit law").click()
    page.get_by_role("button", name="Fit law").press("Enter")
    page.get_by_label("Law").click()
    page.get_by_label("Law").fill("Ch")
    page.get_by_role("option", name="Chinchilla").click()
    page.get_by_text("Swap").click()
    clicks = ["upload a.csv", "Fit law", "Fit law", "Chinchilla", "Swap"]
    assert (journey.clicked, journey.typed) == (clicks, [])
    page.get_by_label("Budget").fill("1e20")
    page.get_by_label("Budget").press("Enter")
    page.get_by_role("link", name="Plan").click()
    page.get_by_label("Budget").press_sequentially("300")
    page.keyboard.press("Tab")
    page.locator("p").click()
    page.keyboard.press("ArrowRight")
    assert journey.clicked == [*clicks, "Plan", "ArrowRight"]
    assert journey.typed == ["/ Budget", "/next Budget"]
    journey.check(clicks=7, fields=2)
    with pytest.raises(AssertionError, match="7 clicks instead of 6"):
        journey.check(clicks=6, fields=2)
