"""Fifty browsers that upload, map, fit and save at the same time.

The saved results are checked, and the time of each interaction is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, FilePayload, Page, Response, expect

from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.browser.steps import ROLES

SESSIONS, REFITS = 50, 200
PATIENCE = 1_200_000.0
"""Maximum time of one wait in a browser, in milliseconds."""
FLOOR = 0.1
"""Difference between the true floors of two consecutive sessions. The floor of a fit shows which table was fitted."""
CLOSE = 0.02
STILL = 250.0
"""An interaction has ended if the page does not change for this time in milliseconds.

The measured time of the interaction does not include this wait.
"""
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
  window.WebSocket = class extends window.WebSocket {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', () => { clock.answered = true; });
    }
  };
  setInterval(() => {
    if (!idle()) clock.since = null;
    else clock.since ??= performance.now();
    if (clock.answered && clock.since !== null && clock.taken === null && performance.now() - clock.since > still)
      clock.taken = clock.since - clock.begun;
  }, 100);
}
"""
"""Stopwatch in a page.

It stops when the page is idle after a message from the server. It does not wait for the state "running", because a page
may not show this state during a short run.
"""
NO_ANIMATION = """
() => addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style');
  style.textContent = '*, *::before, *::after { animation: none !important; transition: none !important; }';
  document.head.append(style);
})
"""
"""Turns animations off. Animations of 50 waiting pages would need most of the processor time."""
TAKEN = "() => window.__clock && window.__clock.taken !== null"


@dataclass
class Session:
    """One browser session: its page, the errors of the page, and the seconds of its interactions by kind."""

    number: int
    page: Page
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def follow(self) -> None:
        """Record the errors and the failed requests of the page from now on."""
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("response", self._response)

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status}: {response.url}")

    @property
    def table(self) -> str:
        """Name of the table that this session uploads."""
        return f"runs {self.number}.csv"

    @property
    def floor(self) -> float:
        """True floor of the law from which the runs of this session are computed."""
        return 1.5 + FLOOR * self.number


@contextmanager
def open_sessions(browser: Browser) -> Iterator[list[Session]]:
    """Open ``SESSIONS`` browser sessions with separate cookies and storage, and add a stopwatch to each page."""
    sessions = []
    for number in range(SESSIONS):
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(f"({CLOCK})({STILL})")
        page.add_init_script(f"({NO_ANIMATION})()")
        one = Session(number, page)
        one.follow()
        sessions.append(one)
    yield sessions
    for one in sessions:
        one.page.context.close()


def work(sessions: list[Session], address: str) -> None:
    """Do all steps in all sessions. A step starts in every session before the first wait for its end."""
    _each(sessions, "open Data", lambda one: one.page.goto(f"{address}/data", wait_until="commit"))
    _each(sessions, "upload", _upload, lambda one: _has_table(one))
    _each(sessions, "map the loss", _map_loss)
    _each(sessions, "open Fit", lambda one: _menu(one, "Fit"))
    for one in sessions:
        one.page.get_by_text("More settings").click()
    _each(sessions, "set the refits", _set_refits)
    _each(sessions, "fit and save", lambda one: _button(one, "Fit law"), _is_fitted)
    _each(sessions, "open Plan", lambda one: one.page.get_by_role("link", name="Plan", exact=True).last.click())
    _each(sessions, "save the plan", lambda one: _button(one, "Save the plan"), _has_plan)


def saved(root: Path) -> tuple[int, int]:
    """Return the number of sessions with a correct saved fit, and the number of saved plans.

    A fit is correct if its floor is that of the session's own table and no refit is missing.
    """
    with open_workspace(root) as db:
        own = {t.id: t.name for t in tables.all(db) if not t.read_only}
        fits = {own[f.table_id]: results.fit(db, f.hash) for f in results.fits(db)}
        plans = len(results.plans(db))
    right = [
        n
        for n in range(SESSIONS)
        if (fit := fits.get(f"runs {n}.csv")) is not None
        and abs(float(fit.values["E"]) - (1.5 + FLOOR * n)) < CLOSE
        and len(fit.resamples) == REFITS
    ]
    return len(right), plans


def _each(
    sessions: list[Session],
    kind: str,
    act: Callable[[Session], object],
    done: Callable[[Session], object] = lambda one: None,
) -> None:
    for one in sessions:
        one.page.evaluate("() => window.__clock?.begin?.()")
        act(one)
    for one in sessions:
        done(one)
        one.page.wait_for_function(TAKEN, polling=100)
        one.seconds[kind] = one.page.evaluate("() => window.__clock.taken") / 1e3
        errors = one.page.locator('[data-testid="stAlertContentError"], [data-testid="stException"]').all_inner_texts()
        one.faults += [f"{kind}: {text}" for text in errors]
    print(f"{kind}: at most {max(one.seconds[kind] for one in sessions):.1f} s", flush=True)


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


def _map_loss(one: Session) -> None:
    box = one.page.get_by_role("combobox", name=ROLES["loss"], exact=True)
    box.fill("outcome")
    one.page.get_by_role("option", name="outcome", exact=True).click()


def _set_refits(one: Session) -> None:
    box = one.page.get_by_label("Resamples", exact=True)
    box.fill(str(REFITS))
    box.press("Enter")


def _is_fitted(one: Session) -> None:
    expect(one.page.get_by_text(f"{REFITS} resamples, seed 0.")).to_be_visible(timeout=PATIENCE)


def _has_plan(one: Session) -> None:
    expect(one.page.get_by_role("heading", name="Saved plans")).to_be_visible(timeout=PATIENCE)


def _menu(one: Session, title: str) -> None:
    one.page.locator('[data-testid="stSidebarNavLink"]', has_text=title).click()


def _button(one: Session, name: str) -> None:
    one.page.get_by_test_id("stMain").get_by_role("button", name=name, exact=True).click()
