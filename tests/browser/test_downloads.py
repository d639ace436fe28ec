"""Downloads of every figure: SVG and PDF files in the selected width, and data as CSV and JSON.

The files do not link to external content, and the page does not load external content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page

from isoplan.data.catalogue import BUNDLED, records
from tests.browser.conftest import visit
from tests.server import Server

MM_PER_PIXEL = 25.4 / 96
POINTS_PER_MM = 72 / 25.4


def saved(page: Page, kind: str, folder: Path) -> Path:
    """Download the file of the button ``kind`` in the open menu and return its path."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=kind, exact=True).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_a_figure_downloads_in_print_colours_from_a_dark_page(
    server: Server, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(scheme="dark")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, server, "data?show=Runs")
    assert not [url for url in asked if "plotly.min.js" in url]
    page.get_by_role("button", name="Download", exact=True).first.click()

    svg = saved(page, "SVG", tmp_path).read_text()
    size = re.search(r'width="([\d.]+)mm" height="([\d.]+)mm"', svg)
    assert size is not None
    assert float(size[1]) == pytest.approx(85, abs=MM_PER_PIXEL)
    assert "fill: rgb(255, 255, 255)" in svg
    assert "http://" not in svg.replace("http://www.w3.org", "")
    assert "Training samples" in svg

    pdf = saved(page, "PDF", tmp_path).read_bytes()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box is not None
    assert float(box[1]) == pytest.approx(85 * POINTS_PER_MM, abs=0.75)

    table = pd.read_csv(saved(page, "CSV", tmp_path))
    points = json.loads(saved(page, "JSON", tmp_path).read_text())
    assert len(table) == len(points) == len(records(BUNDLED[0].file))
    assert points[0]["N"] == table["N"][0]
    assert {url.split("/")[2] for url in asked if url.startswith("http")} == {server.url.split("/")[2]}


def test_the_width_can_be_typed_and_a_wrong_one_is_named(server: Server, page: Page, tmp_path: Path) -> None:
    visit(page, server, "data?show=Runs")
    page.get_by_role("button", name="Download", exact=True).first.click()
    width = page.get_by_role("combobox", name="Width")
    for text in ("3.4 in", "wide"):
        width.fill(text)
        width.press("Enter")
        page.wait_for_timeout(300)
        if text == "wide":
            page.get_by_role("button", name="SVG", exact=True).click()
            page.get_by_text("is not a length from 40 to 500 mm").wait_for()
        else:
            svg = saved(page, "SVG", tmp_path).read_text()
            assert float(svg.split('width="')[1].split("mm")[0]) == pytest.approx(86.36, abs=0.3)
