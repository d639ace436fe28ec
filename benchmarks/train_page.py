"""The page Train in a workspace of 5,000 finished cells: time to load, to filter the cells, and to change an axis."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.browser import browser, ready
from benchmarks.report import Report, ms, quantile
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import typed_grid
from tests.server import running

TIMES, POINTS = 20, 40
GRID = {"width": "20..1000 x 50", "samples": "512..100000 x 10", "seed": "0..9 x 10 linear"}


def run() -> Report:
    """Measure each action twenty times on a running server."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "space"
        root.mkdir()
        many = fill(root)
        with running(root) as server, browser() as page:
            time.sleep(15)  # wait until the app has read the folder and added the cells as rows
            url = f"{server.url}/train"
            for _ in range(2):
                _load(page, url)
            loads = [_timed(lambda: _load(page, url)) for _ in range(TIMES)]
            filters = [_timed(lambda: _press(page, "done")) for _ in range(TIMES)]
            axes = [_timed(partial(_press, page, ("Compute", "Samples")[i % 2])) for i in range(TIMES)]
    rows = tuple(
        (what, ms(quantile(found, 0.5)), ms(quantile(found, 0.95)))
        for what, found in (("load", loads), ("filter by state", filters), ("another axis", axes))
    )
    return Report(
        f"Train page with {many:,} cells",
        f"{TIMES} times each action, on a warm server, with headless chromium on the same cores. Goal: an answer "
        "within 1 s.",
        ("what", "median", "p95"),
        rows,
    )


def fill(root: Path) -> int:
    """Write finished cells with training curves of 40 points to the workspace ``root``, and return their number."""
    rng = np.random.default_rng(0)
    family = find_family("teacher-student", root)
    sweep = launch(root, typed_grid(family, GRID, "a large sweep"), family)
    queue = Queue(root)
    for name, record in queue.scan().items():
        folder, cell = queue.folder(name), record.cell
        steps = max(cell["samples"] // cell["batch"], 1)
        at = np.unique(np.geomspace(1, steps, POINTS).astype(int))
        D = at * cell["batch"]
        loss = 0.01 + cell["width"] ** -1.2 + 30 * D**-0.6 * np.exp(0.03 * rng.normal(size=len(at)))
        points = [
            {"step": int(s), "total": steps, "at": float(i), "loss": float(x), "samples": int(d)}
            for i, (s, d, x) in enumerate(zip(at, D, loss, strict=True))
        ]
        (folder / "lease.json").write_text('{"number": 1}')
        (folder / "events-1.jsonl").write_text("\n".join(map(json.dumps, points)) + "\n")
        result = {"number": 1, "state": "done", "metrics": {"loss": float(loss[-1])}, "seconds": 9.0, "steps": steps}
        (folder / "result-1.json").write_text(json.dumps(result))
    return len(sweep.cells)


def _load(page: Page, url: str) -> None:
    page.goto(url)
    ready(page)


def _press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).or_(page.get_by_role("radio", name=name)).first.click()
    page.wait_for_timeout(50)
    ready(page)


def _timed(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
