"""A thousand page loads, one after the other. The memory of the server is measured after each load."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlencode

import psutil
from playwright.sync_api import Browser

from benchmarks.browser import ready
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables

LOADS, FIRST = 1000, 100
"""LOADS: number of page loads. The memory of the server is measured after ``FIRST`` loads and after all loads."""
REFITS = 200


def fill(root: Path, csv: Path) -> list[str]:
    """Fill a workspace with a table, a fit and a plan, and return the addresses of its pages."""
    with open_workspace(root) as db:
        table = tables.add(db, csv, csv.name)
        snapshot = snapshots.take(db, table.id)
        law = fit(FitSpec(bootstrap=REFITS), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
        saved = results.save_fit(db, law, name="load", table_id=table.id)
        results.save_plan(db, plan_budget(law, 1e20), "load")
    of = {"table": table.id, "fit": saved}
    return [
        "",
        *(f"data?{urlencode({'table': table.id, 'show': show})}" for show in ("Columns", "Runs", "Rows")),
        *(f"fit?{urlencode({**of, 'part': part})}" for part in ("Runs and law", "Residuals", "Correlations")),
        *(f"explore?{urlencode({'fit': saved, 'figure': view})}" for view in ("Surface", "Iso-FLOP", "Frontier")),
        *(f"plan?{urlencode({'fit': saved, 'budget': budget})}" for budget in ("1e20", "1e21")),
        *("train", "recommender", "precision"),
    ]


def loads(
    browser: Browser, address: str, paths: list[str], server: psutil.Process, count: int = LOADS
) -> Iterator[float]:
    """Load the pages in turn, each in a new session, and yield the memory of the server in MB after each load."""
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
