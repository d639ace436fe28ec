"""The pages Data, Fit and Explore for a table of a million runs: time until all figures are drawn, and bytes sent."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, WebSocket

from benchmarks.browser import browser, ready
from benchmarks.report import Report, ms, quantile
from benchmarks.tables import write_runs
from isoplan.engine.fitting import FitSpec
from isoplan.engine.fitting.single import fit
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.server import running

ROWS, LOADS, REFITS = 1_000_000, 20, 20
PAGES = ("data", "fit", "explore")


@dataclass(frozen=True)
class Load:
    """One load of a page: seconds until it was drawn, bytes received over the WebSocket, and points in its figures."""

    seconds: float
    sent: int
    points: int


def run() -> Report:
    """Load each page twenty times from a running server.

    The address differs between loads. The browser has cached the static files.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        table, fitted = prepare(folder, write_runs(Path(name) / "runs.csv", ROWS), REFITS)
        with running(folder) as server, browser() as page:
            loads = {p: _loads(page, f"{server.url}/{p}?table={table}&fit={fitted}") for p in PAGES}
    rows = tuple(
        (
            f"/{p}",
            ms(quantile([x.seconds for x in found], 0.5)),
            ms(quantile([x.seconds for x in found], 0.95)),
            f"{max(x.sent for x in found) / 1e6:.2f} MB",
            f"{max(x.points for x in found):,}",
        )
        for p, found in loads.items()
    )
    return Report(
        f"Pages on a table of {ROWS:,} runs",
        f"{LOADS} loads of each page, warm server, headless chromium on the same cores. "
        "Goal: 1 s at p95, at most 20,000 points and 5 MB.",
        ("page", "median", "p95", "most sent", "most points"),
        rows,
    )


def prepare(folder: Path, csv: Path, refits: int) -> tuple[str, str]:
    """Import ``csv`` into a new workspace and fit it. Return the id of the table and the hash of the fit."""
    db = open_workspace(folder)
    try:
        table = tables.add(db, csv, csv.name)
        snapshot = snapshots.take(db, table.id)
        found = fit(FitSpec(bootstrap=refits), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
        return table.id, results.save_fit(db, found, name="benchmark", table_id=table.id)
    finally:
        db.close()


def _loads(page: Page, url: str) -> list[Load]:
    _load(page, url)
    _load(page, url)
    return [_load(page, url) for _ in range(LOADS)]


def _load(page: Page, url: str) -> Load:
    received: list[int] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(len(frame)))

    page.on("websocket", listen)
    start = time.perf_counter()
    page.goto(url)
    ready(page)
    seconds = time.perf_counter() - start
    page.remove_listener("websocket", listen)
    points = page.evaluate(
        "() => [...document.querySelectorAll('.js-plotly-plot')].map(g => Math.max(0, ...g._fullData"
        ".filter(t => t.type.startsWith('scatter')).map(t => t._length || 0))).reduce((a, b) => a + b, 0)"
    )
    return Load(seconds, sum(received), int(points))
