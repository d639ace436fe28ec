"""A server and a browser for the browser tests. The tests fail if a page has an unexpected error."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, sync_playwright

from tests import progress
from tests.conftest import skip_or_fail
from tests.server import Server, forked

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)
TITLES = ("Story", "Data", "Fit", "Explore", "Plan", "Train", "Recommender", "Precision")
PAGES = {"": "Home"} | {title.lower(): title for title in TITLES}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the system's chromium without a window."""
    path = next((found for name in NAMES if (found := shutil.which(name))), str(MAC) if MAC.exists() else None)
    if path is None:
        skip_or_fail("browser", "no chromium on this machine: run `make browser`, or install it")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start one server on a new workspace for the tests of a module."""
    with forked(tmp_path_factory.mktemp("server") / "workspace") as found:
        yield found


@dataclass
class Faults:
    """Errors of a page. ``allow`` contains patterns of the errors that a test provokes on purpose."""

    seen: list[str] = field(default_factory=list)
    allow: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Record errors in the console, exceptions of the page, failed requests, and responses with an error status."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.seen.append(f"page error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.seen.append(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        # The browser cancels open requests if the user opens another page.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.seen.append(f"request failed: {request.url} ({request.failure})")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.seen.append(f"{response.status}: {response.url}")

    def left(self) -> list[str]:
        """Return the errors that match no pattern in ``allow``."""
        return [text for text in self.seen if not any(re.search(pattern, text) for pattern in self.allow)]


@pytest.fixture
def faults() -> Faults:
    """Return the record of page errors. At the end of a test, ``page`` and ``open_page`` check that it is empty."""
    return Faults()


@pytest.fixture
def open_page(chromium: Browser, faults: Faults) -> Iterator[Callable[..., Page]]:
    """Return a function that opens pages in new contexts: ``open_page(scheme="dark", width=1024, height=800)``."""
    contexts = []

    def opened(scheme: str = "light", width: int = 1280, height: int = 900, **options: Any) -> Page:
        context = chromium.new_context(
            color_scheme="dark" if scheme == "dark" else "light",
            viewport={"width": width, "height": height},
            accept_downloads=True,
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(progress.LAST * 1000)
        faults.watch(page)
        return page

    with progress.watched(crash_pages):
        yield opened
    for context in contexts:
        context.close()
    assert not faults.left(), "\n".join(faults.left())


def crash_pages() -> None:
    """End the processes of this test's pages. Code that waits for a page then fails at once."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "--type=renderer" in process.cmdline():
                process.kill()


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """Open a page in light colours, 1280 x 900."""
    return open_page()


def visit(page: Page, server: Server, path: str = "") -> None:
    """Open ``path`` (page and query) of the server, and wait until the page is drawn."""
    page.goto(f"{server.url}/{path}")
    wait_ready(page)


def wait_ready(page: Page) -> None:
    """Wait until the script has ended, no element is stale, and every figure on the page is drawn."""
    page.wait_for_function(_READY)


# The script of a page can start again shortly after its end, for example after a bound value has changed. A page
# therefore counts as ready only if it stays ready for a while.
_READY = """
() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const idle = app && app.dataset.testScriptState === 'notRunning' && app.dataset.testConnectionState === 'CONNECTED'
    && document.querySelector('[data-testid="stMain"] h1, [data-testid="stMain"] [role="alert"]')
    && !document.querySelector('[data-testid="stSkeleton"], [data-testid="stAppSkeleton"], [data-stale="true"]');
  const charts = [...document.querySelectorAll('[data-testid="stPlotlyChart"], .isoplan-chart')];
  const drawn = charts.every(c => c.offsetParent === null || c.querySelector('.main-svg'));
  if (!(idle && drawn)) { window.__readySince = undefined; return false; }
  window.__readySince ??= performance.now();
  return performance.now() - window.__readySince > 250;
}
"""


def drawn_traces(page: Page) -> list[int]:
    """Return the number of drawn traces of every figure on the page, in order."""
    return [int(n) for n in page.evaluate(_TRACES)]


_TRACES = """
() => [...document.querySelectorAll('.js-plotly-plot')].map(
  g => g.querySelectorAll('.trace, .contour, .heatmaplayer image, .hm image, .gl-canvas, .surface').length)
"""


def scrolls_sideways(page: Page) -> bool:
    """Return whether the page is wider than its window."""
    return bool(
        page.evaluate(
            """() => [document.scrollingElement, document.querySelector('[data-testid="stMain"]')]
                 .some(e => e && e.scrollWidth > e.clientWidth + 1)"""
        )
    )
