"""A thousand page loads, one after the other: the memory of the server after each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlencode

import psutil
from playwright.sync_api import Browser

from benchmarks.browser import ready
from engine.fitting import FitSpec, fit
from engine.planning import plan_budget
from engine.store import results, snapshots, tables
from engine.store.database import open_workspace

LOADS, FIRST = 1000, 100
"""How many loads, and after which one the memory of the last is compared with."""
REFITS = 200


def fill(root: Path, csv: Path) -> list[str]:
    """A workspace with a table, a fit and a plan; the addresses of its pages."""
    with open_workspace(root) as db:
        table = tables.add(db, csv, csv.name)
        snapshot = snapshots.take(db, table.id)
        found = fit(FitSpec(bootstrap=REFITS), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
        saved = results.save_fit(db, found, name="load", table_id=table.id)
        results.save_plan(db, plan_budget(found, 1e20), "load")
    of = {"table": table.id, "fit": saved}
    return [
        "",
        *(f"data?{urlencode({'table': table.id, 'show': show})}" for show in ("Columns", "Runs", "Rows")),
        *(f"fit?{urlencode({**of, 'part': part})}" for part in ("Residuals", "Law", "Correlations")),
        *(f"explore?{urlencode({'fit': saved, 'figure': view})}" for view in ("Surface", "Iso-FLOP", "Frontier")),
        *(f"plan?{urlencode({'fit': saved, 'budget': budget})}" for budget in ("1e20", "1e21")),
        *("train", "recommender", "precision"),
    ]


def loads(
    browser: Browser, address: str, paths: list[str], server: psutil.Process, count: int = LOADS
) -> Iterator[float]:
    """Load pages in turn, each in a browser with nothing kept, and yield the server's memory in MB after each."""
    for number, path in enumerate(islice(cycle(paths), count)):
        if number % 50 == 0:
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.set_default_timeout(600_000)
        page.goto(f"{address}/{path}")
        ready(page)
        if number % 50 == 49:
            context.close()
        yield server.memory_info().rss / 2**20
