"""On the pages, jets are simulated, cells are trained on these jets, and a law is fitted to the cells.

A cell from the terminal is added, and the fit is repeated.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from isoplan.app.cell_service import LOOK
from isoplan.engine.store.database.cell_index import table_of
from isoplan.trainers.backend.queue.cells import Queue
from tests import progress
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, button, press, settle
from tests.server import Server

pytest.importorskip("pythia8mc")
pytest.importorskip("torch")

GRID = """
family = "jets"
[cell]
width = 6
jets = 500
epochs = 20
batch = 32
rate = 0.004
validation = 500
"""


def count_trained(queue: Queue) -> int:
    """Count the cells that are better than a guess. A fit uses only these cells. The number depends on the machine."""
    return sum(not record.result["metrics"]["untrained"] for record in queue.scan().values() if record.result)


def test_a_newcomer_trains_jets_and_fits_a_law(page: Page, server: Server, tmp_path: Path) -> None:
    visit(page, server, "train?family=jets")
    button(page, "Launch 9 cells").click()
    queue = Queue(server.workspace)
    progress.wait(
        lambda: len(found := queue.scan()) == 9 and all(r.state == "done" for r in found.values()), server.workspace
    )
    expect(page.get_by_text("9 done", exact=False).first).to_be_visible()
    page.wait_for_timeout(2 * LOOK * 1000)  # by then the server has added the last cell as a row
    settle(page)
    assert_sound(page, figures=1)

    press(page, "Fit these cells")
    expect(page.get_by_text(f"{count_trained(queue)} runs; smaller is better.")).to_be_visible()
    press(page, "Fit law")
    assert_sound(page)
    assert "fit=" in page.url
    fit = page.url.removeprefix(server.url + "/")

    grid = tmp_path / "one.toml"
    grid.write_text(GRID)
    command = [str(Path(sys.executable).with_name("isoplan")), "train", str(grid), "--workspace", str(server.workspace)]
    said = subprocess.run([*command, "--yes", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout)["progress"]["states"] == {"done": 1}
    visit(page, server, fit)
    expect(page.get_by_text("1 new row since this fit.")).to_be_visible()
    button(page, "Refit with all rows").click()
    expect(page.get_by_text(f"loss of {count_trained(queue)} runs")).to_be_visible()
    losses = [record.result["metrics"]["loss"] for record in queue.scan().values() if record.result]
    assert len(losses) == 10
    assert min(losses) < 1.75 < 2.1 < max(losses)
    visit(page, server, f"data?table={table_of('jets')}&show=Rows")
    expect(page.get_by_text("Rows 1 to 10 of 10")).to_be_visible()
