"""The journey of a user who trains five more cells and refits. History and links restore the settings of a form."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from isoplan.trainers.backend.queue.cells import Queue
from tests import progress
from tests.browser.clicks import Journey
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, button, enter, go, press, settle
from tests.server import Server

WORDS = 90
"""Maximum number of words on the page before the first action."""


def launch(page: Page, server: Server, cells: int, whole: int) -> None:
    """Launch a grid of ``cells`` cells (training runs), and wait until ``whole`` cells of the workspace are done."""
    button(page, f"Launch {cells} cells").click()
    queue = Queue(server.workspace)
    progress.wait(lambda: sum(r.state == "done" for r in queue.scan().values()) == whole, server.workspace)
    expect(page.get_by_text(f"{cells} done", exact=False).first).to_be_visible()
    expect(button(page, "Fit these cells")).to_be_enabled()
    settle(page)


def test_five_cells_are_trained_and_refitted_in_five_clicks(page: Page, server: Server) -> None:
    visit(page, server, "train")
    expect(page.get_by_text("Estimate (rough, from bundled cells)", exact=False)).to_be_visible()
    words = page.get_by_test_id("stMain").inner_text().split()
    assert len(words) <= WORDS, words
    enter(page, "Width", "2, 4, 8")
    enter(page, "Samples", "512, 1024, 2048")
    launch(page, server, 9, 9)
    press(page, "Fit these cells")
    press(page, "Fit law")
    assert_sound(page)
    assert "fit=" in page.url

    go(page, "Train")
    journey = Journey(page)
    enter(page, "Samples", "4096")
    enter(page, "Width", "2, 3, 4, 6, 8")
    launch(page, server, 5, 14)
    button(page, "Fit these cells").click()
    expect(page.get_by_text("5 new rows since this fit.", exact=False)).to_be_visible()
    button(page, "Refit with all rows").click()
    expect(page.get_by_text("loss of 14 runs.", exact=False)).to_be_visible()
    settle(page)
    assert_sound(page)
    journey.check(clicks=5, fields=2)


def values(page: Page) -> tuple[str, str, str]:
    """Return the model, the width and the maximum that the form shows."""
    model = page.get_by_role("combobox", name="Model").input_value()
    width = page.locator('input[aria-label^="Width"]').first.input_value()
    return model, width, page.get_by_label("Spend at most", exact=True).input_value()


def wait_for(page: Page, expected: tuple[str, str, str]) -> None:
    """Wait until the form shows the ``expected`` values."""
    progress.wait(lambda: values(page) == expected)
    settle(page)


def test_settings_are_restored_by_history_reload_and_link(page: Page, server: Server) -> None:
    visit(page, server, "train?family=jets")
    states = [("Jet tagger", "4, 8, 16", "no limit")]
    assert values(page) == states[0]
    for label, text in (("Width d", "4, 32"), ("Spend at most", "2 h"), ("Width d", "64")):
        enter(page, label, text)
        states.append(values(page))
    assert states[1:] == [
        ("Jet tagger", "4, 32", "no limit"),
        ("Jet tagger", "4, 32", "2 h"),
        ("Jet tagger", "64", "2 h"),
    ]
    for move, expected in ((page.go_back, states[2]), (page.go_back, states[1]), (page.go_forward, states[2])):
        move()
        wait_for(page, expected)
    page.reload()
    settle(page)
    assert values(page) == states[2]
    address = page.url
    go(page, "Plan")
    go(page, "Train")
    assert values(page) == states[2]
    page.goto("about:blank")
    page.goto(address)
    settle(page)
    assert values(page) == states[2]
