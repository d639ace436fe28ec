"""A grid is typed on the page, launched and fitted. One worker is killed; every cell still becomes one row."""

from __future__ import annotations

import os
import signal

from playwright.sync_api import Page, expect

from isoplan.engine.store.database.cell_index import table_of
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record, beat_of
from tests import progress
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, button, enter, press, settle
from tests.server import Server

FIELDS = {"Width": "8, 16, 32", "Samples": "8192, 32768, 131072"}


def points(page: Page) -> int:
    """Return the number of points of the curves on the page."""
    return int(page.evaluate(_POINTS))


_POINTS = """
() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => plot._fullData || [])
  .filter(trace => trace.mode === 'lines').reduce((sum, trace) => sum + trace._length, 0)
"""


def worker(queue: Queue, records: dict[str, Record]) -> int:
    """Return the process id of a running cell with more than 8192 samples, or 0 if no such cell is running."""
    for record in records.values():
        beat = beat_of(queue.folder(record.name), record.number)
        if record.state == "running" and record.cell["samples"] > 8192 and beat.exists():
            return int(beat.read_text().split()[1])
    return 0


def test_a_grid_is_typed_launched_watched_killed_and_fitted(page: Page, server: Server) -> None:
    visit(page, server, "train")
    for label, text in FIELDS.items():
        enter(page, label, text)
    assert "cell_width=8" in page.url
    button(page, "Launch 9 cells").click()
    expect(page.get_by_text("Launched 9 cells.")).to_be_visible()

    progress.wait(lambda: points(page) > 2)
    before, queue = points(page), Queue(server.workspace)
    progress.wait(lambda: points(page) > before)
    progress.wait(lambda: worker(queue, queue.scan()))
    os.kill(worker(queue, queue.scan()), signal.SIGKILL)

    progress.wait(lambda: any(record.number > 1 for record in queue.scan().values()))
    progress.wait(lambda: all(record.state == "done" for record in queue.scan().values()))
    assert len(queue.scan()) == 9
    expect(page.get_by_text("9 done", exact=False).first).to_be_visible()
    settle(page)
    assert_sound(page, figures=1)

    expect(button(page, "Fit these cells")).to_be_enabled()
    press(page, "Fit these cells")
    expect(page.get_by_text("9 runs; smaller is better.")).to_be_visible()
    press(page, "Fit law")
    assert_sound(page)
    expect(page.get_by_role("tab").first).to_be_visible()
    assert "fit=" in page.url

    visit(page, server, f"data?table={table_of('teacher-student')}&show=Rows")
    expect(page.get_by_text("Rows 1 to 9 of 9")).to_be_visible()
