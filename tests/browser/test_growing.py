"""Run tables that grow while pages are open: Data shows the new rows, and Fit offers a refit with all rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from isoplan.engine.store.database import cell_index
from tests.app.test_cells import finish
from tests.browser.conftest import visit
from tests.browser.steps import button, press, settle, unfold
from tests.server import Server, forked
from tests.trainers.conftest import add, workspace

TABLE = cell_index.table_of("counter")


def train(root: Path, count: int, first: int = 0) -> None:
    """Add finished cells on a known surface to the workspace.

    Each folder appears in one step, as if its cell had just ended.
    """
    aside = workspace(root.with_name("aside"))
    (root / "cells").mkdir(exist_ok=True)
    for i in range(first, first + count):
        size, steps = 1000 * 4 ** (i % 4), 20_000 * 4 ** (i // 4)
        (name,) = add(aside, {"size": size, "steps": steps})
        loss = 1.7 + 400 / (100 * size) ** 0.34 + 2000 / (100 * steps) ** 0.37
        sizes = {"N": 100.0 * size, "D": 100.0 * steps, "C": 6e4 * size * steps}
        finish(aside, name, metrics={"loss": loss}, sizes=sizes)
        (aside / "cells" / name).rename(root / "cells" / name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Start a server on a workspace with twelve finished cells."""
    root = workspace(tmp_path / "space")
    train(root, 12)
    with forked(root) as found:
        yield found


def test_the_data_page_follows_and_a_fit_is_made_again_with_one_click(
    server: Server, open_page: Callable[..., Page]
) -> None:
    data, fit = open_page(), open_page()
    visit(data, server, f"data?table={TABLE}&show=Rows")
    expect(data.get_by_text("12 runs", exact=True)).to_be_visible()
    expect(data.get_by_text("All cells of this table are finished.")).to_be_visible()
    visit(fit, server, f"fit?table={TABLE}")
    press(fit, "Fit law")
    expect(fit.get_by_text(re.compile(r"loss of 12 runs"))).to_be_visible()
    expect(fit.get_by_text("since this fit")).to_have_count(0)
    before = fit.url
    unfold(data, "Filter runs")
    data.get_by_role("textbox", name="Only rows where").fill("half a condi")
    train(server.workspace, 4, 12)
    expect(data.get_by_text("16 runs", exact=True)).to_be_visible()
    expect(data.get_by_text("Rows 1 to 16 of 16")).to_be_visible()
    expect(data.get_by_role("textbox", name="Only rows where")).to_have_value("half a condi")
    expect(fit.get_by_text("4 new rows since this fit.")).to_be_visible()
    button(fit, "Refit with all rows").click()
    expect(fit.get_by_text(re.compile(r"loss of 16 runs"))).to_be_visible()
    settle(fit)
    expect(fit.get_by_text("since this fit")).to_have_count(0)
    assert fit.url != before
    visit(fit, server, before.removeprefix(server.url + "/"))
    expect(fit.get_by_text(re.compile(r"loss of 12 runs"))).to_be_visible()
    press(fit, "Rebuild and compare")
    expect(fit.get_by_text("the same parameters and intervals to the last digit")).to_be_visible()


def test_runs_that_are_selected_stay_until_one_asks_for_the_new_rows(server: Server, page: Page) -> None:
    visit(page, server, f"data?table={TABLE}&show=Runs")
    chart = page.locator(".js-plotly-plot").first
    expect(chart).to_be_visible()
    settle(page)
    page.locator('[data-title="Box Select"]').first.click()
    box = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5, steps=5)
    page.mouse.up()
    reason = page.get_by_role("textbox", name=re.compile("Reason for leaving out"))
    reason.fill("diverged")
    train(server.workspace, 2, 12)
    show = button(page, "Show 2 new rows")
    expect(show).to_be_visible()
    expect(reason).to_have_value("diverged")
    show.click()
    expect(page.get_by_text("14 runs", exact=True)).to_be_visible()
