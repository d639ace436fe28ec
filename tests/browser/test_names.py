"""Pages show hostile names as typed. No script in a name runs, and no content is loaded for a name."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from benchmarks.reliability.names.hostile import NAMES
from benchmarks.reliability.names.space import make
from benchmarks.reliability.names.visit import addresses, to_page
from benchmarks.reliability.names.watch import Watch
from tests.browser.conftest import visit
from tests.browser.steps import enter, press
from tests.server import forked

JOURNEY = (
    *("Home", "Data, Runs", "Data, Agreement", "Data, filter", "Fit, own axis, Residuals", "Fit, map, Runs and law"),
    *("Fit, group 0, Runs and law", "Fit, metric, Residuals", "Explore, metric", "Plan, map", "Plan, Compare"),
    *("Plan, invalid budget", "Recommender"),
)


def test_names_are_shown_as_they_were_typed(page: Page, tmp_path: Path) -> None:
    space = make(tmp_path / "workspace")
    with forked(tmp_path / "workspace") as server:
        watch = Watch(server.url)
        watch.follow(page)
        page.set_viewport_size({"width": 1280, "height": 2000})
        paths = dict(addresses(space))
        for name in JOURNEY:
            visit(page, server, paths[name])
            watch.look(page, name)
        visit(page, server, to_page("precision"))
        enter(page, "Name of the answer", NAMES[5])
        press(page, "Save the answer")
        expect(page.get_by_text(NAMES[5])).to_be_visible()
        watch.look(page, "Precision")
        visit(page, server)
        expect(page.get_by_text(NAMES[5]).first).to_be_visible()
        page.context.close()
    assert not watch.wrong, "\n".join(watch.wrong)
    assert (watch.outside, watch.dialogs) == ([], [])
    assert len(watch.seen) >= 30
