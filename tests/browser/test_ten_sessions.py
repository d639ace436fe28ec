"""Ten browsers upload, map and fit a table at the same time: ten fits are saved, each for the table of its browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import FilePayload, Page, expect

from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.browser.conftest import visit
from tests.browser.steps import ROLES, assert_sound, button, select, settle, unfold
from tests.server import forked

SESSIONS = 10
REFITS = 20


def table(session: int) -> bytes:
    """Return a small grid of runs from a law that differs by session. The loss column has an uninformative name."""
    rows = [
        f"{N:.6g},{D:.6g},{1.5 + session / 10 + 400 * N**-0.34 + 900 * D**-0.3:.6f}"
        for N in (1e6, 1e7, 1e8, 1e9)
        for D in (1e8, 1e9, 1e10, 1e11)
    ]
    return "\n".join(["params,tokens,outcome", *rows]).encode()


def upload(page: Page, session: int) -> None:
    """Start the upload of the table of ``session``."""
    file = FilePayload(name=f"runs {session}.csv", mimeType="text/csv", buffer=table(session))
    page.locator("input[type=file]").first.set_input_files(file)


def say_loss(page: Page) -> None:
    """Map the loss to the column ``outcome``."""
    unfold(page, "Change columns and units")
    select(page, ROLES["loss"], "outcome")


def few_refits(page: Page) -> None:
    """Set a small number of refits."""
    page.get_by_text("More settings").click()
    box = page.get_by_label("Resamples", exact=True)
    box.fill(str(REFITS))
    box.press("Enter")


def test_ten_sessions_at_once(open_page: Callable[..., Page], tmp_path: Path) -> None:
    with forked(tmp_path / "workspace") as server:
        pages = [open_page() for _ in range(SESSIONS)]
        for page in pages:
            page.goto(f"{server.url}/data", wait_until="commit")
        for session, page in enumerate(pages):
            upload(page, session)
        for session, page in enumerate(pages):
            expect(page.get_by_role("combobox", name="Run table")).to_have_value(f"runs {session}.csv")
        for page in pages:
            say_loss(page)
        for page in pages:
            settle(page)
            page.locator('[data-testid="stSidebarNavLink"]', has_text="Fit").click()
        for page in pages:
            few_refits(page)
        for page in pages:
            settle(page)
        for page in pages:
            button(page, "Fit law").click()
        for page in pages:
            expect(page.get_by_text(f"{REFITS} resamples, seed 0.")).to_be_visible()
        for page in pages:
            settle(page)
            assert_sound(page, figures=1)
            page.context.close()
        home = open_page()
        visit(home, server)
        expect(home.get_by_text(f"Fits ({SESSIONS})")).to_be_visible()
        home.context.close()
    with open_workspace(tmp_path / "workspace") as db:
        own = {t.id: t.name for t in tables.all(db) if not t.read_only}
        saved = results.fits(db)
        assert sorted(own[f.table_id] for f in saved) == sorted(f"runs {session}.csv" for session in range(SESSIONS))
        floors = {own[f.table_id]: results.fit(db, f.hash) for f in saved}
    for session in range(SESSIONS):
        fit = floors[f"runs {session}.csv"]
        assert abs(float(fit.values["E"]) - (1.5 + session / 10)) < 0.01
        assert len(fit.resamples) == REFITS
