"""Fifty browsers that load, map, fit and save at once: what is saved, and how long each interaction takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, FilePayload, Page, Response, expect

from engine.store import results, tables
from engine.store.database import open_workspace
from tests.browser.steps import ROLES

SESSIONS, REFITS = 50, 200
PATIENCE = 1_200_000.0
"""Milliseconds after which a browser counts as left alone."""
FLOOR = 0.1
"""By how much the floors of the tables of two sessions differ."""
CLOSE = 0.02
STILL = 250.0
"""Milliseconds for which a page stays as it is before an interaction counts as answered; not part of its time."""
CLOCK = """
(still) => {
  const idle = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    return app && app.dataset.testScriptState === 'notRunning' && app.dataset.testConnectionState === 'CONNECTED'
      && document.querySelector('[data-testid="stMain"] h1')
      && !document.querySelector('[data-testid="stSkeleton"], [data-testid="stAppSkeleton"], [data-stale="true"]')
      && [...document.querySelectorAll('[data-testid="stPlotlyChart"], .isoplan-chart')].every(
        c => c.offsetParent === null || c.querySelector('.main-svg'));
  };
  const clock = window.__clock = { begun: 0, answered: false, since: null, taken: null };
  clock.begin = () => Object.assign(clock, { begun: performance.now(), answered: false, since: null, taken: null });
  new MutationObserver(changes => {
    if (changes.some(change => change.target.dataset.testScriptState === 'running')) clock.answered = true;
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-test-script-state'] });
  setInterval(() => {
    if (!idle()) clock.since = null;
    else clock.since ??= performance.now();
    if (clock.answered && clock.since !== null && clock.taken === null && performance.now() - clock.since > still)
      clock.taken = clock.since - clock.begun;
  }, 20);
}
"""
TAKEN = "() => window.__clock && window.__clock.taken !== null"


@dataclass
class Session:
    """One browser: its page, what went wrong in it, and the seconds of its interactions by kind."""

    number: int
    page: Page
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def follow(self) -> None:
        """Listen to what goes wrong in the page."""
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("response", self._response)

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status}: {response.url}")

    @property
    def table(self) -> str:
        """The name of its table."""
        return f"runs {self.number}.csv"

    @property
    def floor(self) -> float:
        """The floor of the law of its runs."""
        return 1.5 + FLOOR * self.number


@contextmanager
def open_sessions(browser: Browser) -> Iterator[list[Session]]:
    """``SESSIONS`` browsers with cookies and memory of their own, each with a stopwatch in its page."""
    opened = []
    for number in range(SESSIONS):
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(f"({CLOCK})({STILL})")
        one = Session(number, page)
        one.follow()
        opened.append(one)
    yield opened
    for one in opened:
        one.page.context.close()


def work(opened: list[Session], address: str) -> None:
    """Everything, each step begun in every browser before it is waited for in any."""
    _each(opened, "open Data", lambda one: one.page.goto(f"{address}/data", wait_until="commit"))
    _each(opened, "upload", _upload, lambda one: _has_table(one))
    _each(opened, "map the loss", _say_loss)
    _each(opened, "open Fit", lambda one: _menu(one, "Fit"))
    for one in opened:
        one.page.get_by_text("Refits, seed, fixed parameters").click()
    _each(opened, "type the refits", _few_refits)
    _each(opened, "fit and save", lambda one: _button(one, "Fit"), _is_fitted)
    _each(opened, "open Plan", lambda one: one.page.get_by_role("link", name="Plan", exact=True).last.click())
    _each(opened, "save the plan", lambda one: _button(one, "Save the plan"), _has_plan)


def saved(root: Path) -> tuple[int, int]:
    """How many sessions have their fit in the workspace, of their own table and with its floor, and how many plans."""
    with open_workspace(root) as db:
        own = {t.id: t.name for t in tables.all(db) if not t.read_only}
        found = {own[f.table_id]: results.fit(db, f.hash) for f in results.fits(db)}
        plans = len(results.plans(db))
    right = [
        n
        for n in range(SESSIONS)
        if (fit := found.get(f"runs {n}.csv")) is not None
        and abs(float(fit.values["E"]) - (1.5 + FLOOR * n)) < CLOSE
        and len(fit.resamples) == REFITS
    ]
    return len(right), plans


def _each(
    opened: list[Session],
    kind: str,
    act: Callable[[Session], object],
    done: Callable[[Session], object] = lambda one: None,
) -> None:
    for one in opened:
        one.page.evaluate("() => window.__clock?.begin?.()")
        act(one)
    for one in opened:
        done(one)
        one.page.wait_for_function(TAKEN, polling=100)
        one.seconds[kind] = one.page.evaluate("() => window.__clock.taken") / 1e3
        wrong = one.page.locator('[data-testid="stAlertContentError"], [data-testid="stException"]').all_inner_texts()
        one.faults += [f"{kind}: {text}" for text in wrong]


def _upload(one: Session) -> None:
    rows = [
        f"{N:.6g},{D:.6g},{one.floor + 400 * N**-0.34 + 900 * D**-0.3:.6f}"
        for N in (1e6, 1e7, 1e8, 1e9)
        for D in (1e8, 1e9, 1e10, 1e11)
    ]
    text = "\n".join(["params,tokens,outcome", *rows])
    file = FilePayload(name=one.table, mimeType="text/csv", buffer=text.encode())
    one.page.locator("input[type=file]").first.set_input_files(file)


def _has_table(one: Session) -> None:
    expect(one.page.get_by_role("combobox", name="Run table")).to_have_value(one.table, timeout=PATIENCE)


def _say_loss(one: Session) -> None:
    box = one.page.get_by_role("combobox", name=ROLES["loss"], exact=True)
    box.fill("outcome")
    one.page.get_by_role("option", name="outcome", exact=True).click()


def _few_refits(one: Session) -> None:
    box = one.page.get_by_label("Refits", exact=True)
    box.fill(str(REFITS))
    box.press("Enter")


def _is_fitted(one: Session) -> None:
    expect(one.page.get_by_text(f"{REFITS} refits, seed 0.")).to_be_visible(timeout=PATIENCE)


def _has_plan(one: Session) -> None:
    expect(one.page.get_by_role("heading", name="Saved plans")).to_be_visible(timeout=PATIENCE)


def _menu(one: Session, title: str) -> None:
    one.page.locator('[data-testid="stSidebarNavLink"]', has_text=title).click()


def _button(one: Session, name: str) -> None:
    one.page.get_by_test_id("stMain").get_by_role("button", name=name, exact=True).click()
