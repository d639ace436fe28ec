"""Time from a key press on the money slider of a story until the sentence and the picture are updated."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.browser import browser
from benchmarks.report import Report, quantile
from benchmarks.slider import CHANGES, changes
from isoplan.data.stories import DOMAINS
from tests.server import running

# The time is measured from the key press to the next frame after the sentence is updated and Plotly has drawn.
WATCH = """
() => {
  const figure = () => document.querySelector('.js-plotly-plot');
  const sentence = () => document.querySelector('.isoplan-sentence')?.innerText;
  document.addEventListener('keydown', () => {
    const before = figure()?._fullData, said = sentence(), from = performance.now();
    window.took = null;
    const look = () => {
      const gd = figure();
      if (gd && gd._fullData !== before && sentence() !== said && gd.querySelector('.main-svg .trace')) {
        requestAnimationFrame(() => { window.took = performance.now() - from; });
      } else requestAnimationFrame(look);
    };
    look();
  }, true);
}
"""
BACK = 5
"""Number of moves to the right before the direction changes. More moves would pass the end of the slider."""


def run() -> Report:
    """Measure the moves of the slider in each bundled story."""
    with tempfile.TemporaryDirectory() as name, running(Path(name) / "workspace") as server, browser() as page:
        took = {
            one.title: changes(page, f"{server.url}/story?story={one.key}&screen=4", WATCH, BACK) for one in DOMAINS
        }
    rows = tuple((v, f"{quantile(x, 0.5):.0f} ms", f"{quantile(x, 0.95):.0f} ms") for v, x in took.items())
    return Report(
        "The slider of money of a story",
        f"{CHANGES} changes in each bundled story. The time ends when the sentence and the picture are updated. "
        "Headless chromium on the same cores. Goal: 300 ms at p95.",
        ("story", "median", "p95"),
        rows,
    )
