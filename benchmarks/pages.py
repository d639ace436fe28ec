"""Words, controls, height, layout shift and accessibility of every page, measured in a browser on the demo workspace.

``tests/browser/test_pages.py`` uses these measurements too.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from benchmarks.browser import browser
from benchmarks.report import Report
from isoplan.app.bundled import load_bundled
from isoplan.app.serving.shell import PAGES
from isoplan.app.views.fits.fitting import make_fit
from isoplan.data.catalogue import BUNDLED
from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.tables import tables
from tests.browser.conftest import wait_ready
from tests.server import Server, running

LIMITS = {"Home": 120, "Plan": 120, "Fit": 140, "Recommender": 250, "Train": 90}
"""Maximum number of words before the first result, by page."""
SHIFT = 0.1
"""Maximum cumulative layout shift of a page while it loads."""
COLUMNS = (
    "page",
    "words before the first result",
    "words before the action",
    "controls",
    "height [px]",
    "layout shift",
    "findings, light",
    "findings, dark",
)
SERIOUS = ("serious", "critical")
SCHEMES = ("light", "dark")


@dataclass(frozen=True)
class Measures:
    """Measures of one page at 1440 x 900 pixels.

    ``words`` is the number of visible words before the first result: a figure, a table or a number. If the page has no
    result, ``words`` is the number of all visible words. The values of settings on the page Recommender are results
    too. The containers of these values have keys that begin with ``value_``.
    ``to_action`` is the number of words before the first primary button, or None if there is no such button.
    ``controls`` is the number of visible controls, ``height`` is in pixels, and ``shift`` is the cumulative layout
    shift.
    """

    words: int
    to_action: int | None
    controls: int
    height: int
    shift: float
    moved: tuple[str, ...]


def addresses() -> Iterator[tuple[str, str]]:
    """Yield the name and the address of each page, and of each section of Plan."""
    for page in PAGES:
        if page != "amplitude":
            yield page.title() or "Home", page
    for title in (*(one.title for one in find_questions().values()), "Compare"):
        yield f"Plan, {title}", f"plan?{urlencode({'question': title})}"


def prepare(workspace: Path) -> None:
    """Create a workspace with the bundled tables and the fit of the demo table."""
    with closing(open_workspace(workspace)) as db:
        load_bundled(db)
        table = next(t for t in tables.all(db) if t.name == BUNDLED[0].name)
        make_fit(db, table, "", BUNDLED[0].spec)


def watch_shifts(page: Page) -> None:
    """Record the layout shifts of each page that ``page`` opens from now on."""
    page.add_init_script(_WATCH)


def measure(page: Page) -> Measures:
    """Return the measures of the shown page. ``watch_shifts`` must be called before the page is opened."""
    seen = page.evaluate(_MEASURE)
    return Measures(**{**seen, "moved": tuple(seen["moved"])})


def findings(page: Page) -> tuple[str, ...]:
    """Return the serious and critical findings of axe-core on the page: rule, number of elements, first element."""
    options = {"resultTypes": ["violations"]}
    violations = Axe().run(page, options=options).response["violations"]
    return tuple(
        f"{one['id']} ({len(one['nodes'])}): {one['nodes'][0]['html'][:120]} {_message(one['nodes'][0])}"
        for one in violations
        if one["impact"] in SERIOUS
    )


def _message(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"]))[:200]


def opened(chromium: Browser, server: Server, address: str, scheme: str) -> Page:
    """Open ``address`` of the server in a new page of 1440 x 900 pixels and wait until it is drawn."""
    dark = scheme == "dark"
    page = chromium.new_page(viewport={"width": 1440, "height": 900}, color_scheme="dark" if dark else "light")
    page.set_default_timeout(120_000)
    watch_shifts(page)
    page.goto(f"{server.url}/{address}")
    wait_ready(page)
    return page


def run() -> Report:
    """Measure every page, and check it with axe-core in light and dark."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        prepare(workspace)
        with running(workspace) as server, browser() as first:
            assert first.context.browser is not None
            for name, address in addresses():
                rows.append(_row(first.context.browser, server, name, address))
    return Report(
        "Pages",
        "1440 x 900 pixels, demo workspace. Words before the first result are the visible words before the first "
        "figure, table or number; the limit is in brackets. Words before the action are those before the first primary "
        "button. Layout shift is cumulative, with a limit of 0.1. Findings are the serious and critical ones of "
        "axe-core; the limit is 0.",
        COLUMNS,
        tuple(rows),
    )


def _row(chromium: Browser, server: Server, name: str, address: str) -> tuple[str, ...]:
    found = {}
    for scheme in SCHEMES:
        page = opened(chromium, server, address, scheme)
        found[scheme] = findings(page)
        if scheme == "light":
            seen = measure(page)
        page.close()
    for scheme, texts in found.items():
        for text in texts:
            print(f"{name}, {scheme}: {text}", flush=True)
    for text in seen.moved:
        print(f"{name} moved: {text}", flush=True)
    limit = f" ({LIMITS[name]})" if name in LIMITS else ""
    action = "-" if seen.to_action is None else str(seen.to_action)
    return (
        name,
        f"{seen.words}{limit}",
        action,
        str(seen.controls),
        f"{seen.height:,}",
        f"{seen.shift:.3f}",
        *(str(len(found[scheme])) for scheme in SCHEMES),
    )


_WATCH = """
window.__shift = 0;
window.__moved = [];
const called = node => node?.closest?.('[data-testid]')?.dataset.testid || node?.nodeName || '';
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.__shift += entry.value;
    const sources = entry.sources.map(s => `${called(s.node)} ${Math.round(s.previousRect.x)},`
      + `${Math.round(s.previousRect.y)} to ${Math.round(s.currentRect.x)},${Math.round(s.currentRect.y)}`);
    if (entry.value > 0.02) window.__moved.push(`${entry.value.toFixed(3)} ${sources.join('; ')}`);
  }
}).observe({ type: 'layout-shift', buffered: true });
"""

_RESULTS = ", ".join(
    f'[data-testid="{name}"]' for name in ("stPlotlyChart", "stTable", "stDataFrame", "stMetric", "stImage")
)
_MEASURE = """
(() => {
  const main = document.querySelector('[data-testid="stMain"]');
  const results = RESULTS + ', .isoplan-chart, [class*="st-key-value_"]';
  const primary = '[data-testid^="stBaseButton-primary"]';
  const controls = 'button, a[href], input:not([type=hidden]), textarea, [role=combobox], [role=slider], [role=tab], '
    + '[role=option], summary';
  const shown = e => e.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().height > 1;
  const first = selector => [...main.querySelectorAll(selector)].find(shown);
  const result = first(results), action = first(primary);
  const after = (node, end) => end && (end.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING) === 0;
  const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  let words = 0, to_action = 0;
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement;
    if (!shown(parent) || parent.closest('style, script, [data-testid="stIconMaterial"], .isoplan-symbol, '
      + '.katex-mathml, [translate=no][aria-hidden=true]')) continue;
    const count = (node.textContent.match(/\\S*[\\p{L}\\p{N}]\\S*/gu) || []).length;
    if (!after(node, result)) words += count;
    if (!after(node, action)) to_action += count;
  }
  const inputs = [...main.querySelectorAll(controls)].filter(e => shown(e) && !e.closest('[aria-hidden=true]'));
  return { words, to_action: action ? to_action : null, controls: inputs.length, height: main.scrollHeight,
    shift: window.__shift, moved: window.__moved };
})()
""".replace("RESULTS", json.dumps(_RESULTS))
