"""Headless Chromium for the benchmarks that measure pages in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-sync")
DRAWN = """
() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app && app.dataset.testScriptState === 'notRunning' && document.querySelector('h1')
    && !document.querySelector('[data-testid="stSkeleton"], [data-testid="stAppSkeleton"], [data-stale="true"]')
    && [...document.querySelectorAll('[data-testid="stPlotlyChart"], .isoplan-chart')].every(
      c => c.offsetParent === null || c.querySelector('.main-svg'));
}
"""


def chromium_path() -> str:
    """Return the path of the installed Chromium. Raises RuntimeError if Chromium is not installed."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise RuntimeError("this measure needs chromium: run `make browser`")
    return path


@contextmanager
def browser() -> Iterator[Page]:
    """Open a browser page of 1440 x 900 pixels in Chromium and yield it.

    Raises RuntimeError if Chromium is not installed.
    """
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(60_000)
        yield page
        chromium.close()


def ready(page: Page) -> None:
    """Wait until the script of the page has ended and all figures are drawn."""
    page.wait_for_function(DRAWN, polling=10)
