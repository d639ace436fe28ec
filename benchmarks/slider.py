"""Time from a key press on the compute slider of Explore or Plan until the figure is redrawn, for 10,000 runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.browser import browser, ready
from benchmarks.pages_million import prepare
from benchmarks.report import Report, quantile
from benchmarks.tables import write_runs
from tests.server import running

ROWS, CHANGES, REFITS = 10_000, 50, 200
VIEWS = ("Surface", "Iso-FLOP", "Frontier")
QUESTIONS = {
    "Plan, budget": "budget=1e20",
    "Plan, priced": "budget=1e20&device=H100&hour_price=2&sample_price=1e-9&queries=1e9",
    "Plan, limits": "budget=1e20&limits=unique+samples&max_unique=1e9&limits=hours&max_hours=1e5&device=H100&devices=8",
}
"""URL queries of the page Plan, by the name of the row in the report."""
# The time is measured from the key press to the next frame after Plotly reports that it has drawn the new figure.
WATCH = """
() => {
  const figure = () => document.querySelector('.js-plotly-plot');
  document.addEventListener('keydown', () => {
    const before = figure()?._fullData, from = performance.now();
    window.took = null;
    const look = () => {
      const gd = figure();
      if (gd && gd._fullData !== before && gd.querySelector('.main-svg .trace')) {
        requestAnimationFrame(() => { window.took = performance.now() - from; });
      } else requestAnimationFrame(look);
    };
    look();
  }, true);
}
"""


def run() -> Report:
    """Measure fifty moves of the slider on each page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        table, fitted = prepare(folder, write_runs(Path(name) / "runs.csv", ROWS), REFITS)
        with running(folder) as server, browser() as page:
            took = {v: changes(page, f"{server.url}/explore?table={table}&fit={fitted}&figure={v}") for v in VIEWS}
            took |= {q: changes(page, f"{server.url}/plan?fit={fitted}&{asked}") for q, asked in QUESTIONS.items()}
    rows = tuple((v, f"{quantile(x, 0.5):.0f} ms", f"{quantile(x, 0.95):.0f} ms") for v, x in took.items())
    return Report(
        f"A slider on a table of {ROWS:,} runs",
        f"{CHANGES} changes in each view of Explore and each question of Plan, headless chromium on the same cores. "
        "Goal: 300 ms at p95.",
        ("view", "median", "p95"),
        rows,
    )


def changes(page: Page, url: str, watch: str = WATCH, back: int = CHANGES) -> list[float]:
    """Move the first slider of a page ``CHANGES`` times, and return the time of each move in milliseconds.

    The script ``watch`` measures the time. The direction changes after every ``back`` moves.
    """
    page.goto(url)
    ready(page)
    page.wait_for_timeout(1500)
    page.evaluate(watch)
    page.locator('[data-testid="stSlider"] input').first.focus()
    took = []
    for i in range(CHANGES):
        page.keyboard.press("ArrowLeft" if i // back % 2 else "ArrowRight")
        page.wait_for_function("() => window.took", polling=20)
        took.append(float(page.evaluate("window.took")))
        page.wait_for_timeout(200)
    return took
