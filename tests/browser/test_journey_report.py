"""The journey from a plan to its report: a PDF in two clicks, and an HTML file that opens without a network."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.app.reports.reading import pages, text_of_pdf
from tests.browser.clicks import Journey
from tests.browser.conftest import visit
from tests.browser.steps import button, go, settle
from tests.server import Server


def _saved(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        button(page, name).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_a_plan_becomes_a_pdf_in_two_clicks(server: Server, page: Page, chromium: Browser, tmp_path: Path) -> None:
    """From Home, open the page Plan and press "Download PDF". The report contains the sentence of the page."""
    visit(page, server)
    journey = Journey(page)
    go(page, "Plan")
    pdf = _saved(page, "Download PDF", tmp_path)
    journey.check(clicks=2)
    assert pdf.name == "plan.pdf"
    sentence = page.get_by_role("heading", level=2).first.inner_text()
    text, bare = text_of_pdf(pdf.read_bytes()), re.sub(r"\s", "", sentence)
    assert bare in text
    assert 1 <= pages(pdf.read_bytes()) <= 4

    html = _saved(page, "Download report (HTML)", tmp_path)
    settle(page)
    asked: list[str] = []
    report = chromium.new_context(offline=True).new_page()
    report.on("request", lambda request: asked.append(request.url))
    report.goto(html.as_uri())
    expect(report.get_by_text(sentence).first).to_be_visible()
    expect(report.locator(".figure .main-svg").first).to_be_visible()
    assert asked == [html.as_uri()]
    report.context.close()
