"""Steps of a user on a page, and functions that read and check the page afterwards."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests import progress
from tests.browser.conftest import drawn_traces, scrolls_sideways, wait_ready
from tests.progress import LAST

ROLES = {"N": "N: parameters", "D": "D: samples seen", "C": "C: compute [FLOPs]", "loss": "L: loss"}
AGAIN = 5000
"""Time in milliseconds after which the search for an option is repeated."""
BUDGET, TARGET_LOSS = "Budget", "Target loss"
expect.set_options(timeout=LAST * 1000)


def settle(page: Page) -> None:
    """Wait until the page has answered the last step: the page is drawn and does not change for a moment."""
    page.evaluate("window.__readySince = undefined")
    wait_ready(page)


def go(page: Page, title: str) -> None:
    """Open a page through the menu."""
    page.locator('[data-testid="stSidebarNavLink"]', has_text=title).click()
    expect(page.get_by_role("heading", name="Isoplan" if title == "Home" else title, level=1)).to_be_visible()
    settle(page)


def button(page: Page, name: str) -> Locator:
    """Return the button ``name`` in the main area of the page. An icon before the name is ignored."""
    return page.get_by_test_id("stMain").get_by_role("button", name=name, exact=True)


def press(page: Page, name: str) -> None:
    """Click a button and wait for the answer."""
    button(page, name).click()
    settle(page)


def select(page: Page, label: str, option: str) -> None:
    """Choose ``option`` in the select box called ``label``."""
    box = page.get_by_role("combobox", name=label, exact=True)
    if box.input_value() == option:
        return
    settle(page)
    entry = page.get_by_role("option", name=option, exact=True)

    def choose() -> bool:
        """Type the option and choose it. Repeat the typing if a rerun of the page has closed the list."""
        box.fill("")
        box.fill(option)
        try:
            entry.click(timeout=AGAIN)
        except TimeoutError:
            return False
        return True

    progress.wait(choose)
    expect(box).to_have_value(option)
    settle(page)


def pick(page: Page, group: str, option: str) -> None:
    """Choose ``option`` in the radio group ``group``."""
    radio = page.get_by_role("radiogroup", name=group, exact=True).get_by_role("radio", name=option, exact=True)
    radio.click()
    expect(radio).to_be_checked()
    settle(page)


def tab(page: Page, name: str) -> None:
    """Open a tab."""
    page.get_by_role("tab", name=name, exact=True).click()
    settle(page)


def unfold(page: Page, name: str) -> None:
    """Open the section whose title contains ``name``, unless the section is already open."""
    section = page.locator("details", has=page.locator("summary", has_text=name)).first
    if section.get_attribute("open") is None:
        section.locator("summary").first.click()
        settle(page)


def enter(page: Page, label: str, text: str) -> None:
    """Type ``text`` in the box called ``label`` and press Enter."""
    box = page.get_by_label(label, exact=True)
    box.fill(text)
    box.press("Enter")
    settle(page)


def details(page: Page) -> None:
    """Open the details of a plan if they are closed."""
    folded = page.locator("details", has=page.get_by_text("Details", exact=True)).first
    if folded.get_attribute("open") is None:
        folded.get_by_text("Details", exact=True).click()
    expect(folded.get_by_test_id("stTable").first).to_be_visible()


def upload(page: Page, name: str, content: bytes) -> None:
    """Upload a file with the first file input and wait until its table is open."""
    page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    expect(page.get_by_role("combobox", name="Run table")).to_have_value(name)
    settle(page)


def assert_sound(page: Page, figures: int = 0) -> None:
    """Check that the page has no error and fits its window. At least ``figures`` figures must have drawn traces."""
    wrong = page.locator('[data-testid="stAlertContentError"], [data-testid="stException"]').all_inner_texts()
    assert not wrong, f"{page.url}: {wrong}"
    assert not scrolls_sideways(page), page.url
    drawn = drawn_traces(page)
    assert len(drawn) >= figures, f"{page.url} has {len(drawn)} figures"
    assert all(drawn), f"{page.url}: {drawn}"


def shown(page: Page) -> dict[str, Any]:
    """Return the content of a page: the values of its widgets, its numbers and the data of its figures."""
    found = page.evaluate(_SHOWN)
    return {**found, "figures": [json.loads(figure) for figure in found["figures"]]}


_SHOWN = """
() => {
  const main = document.querySelector('[data-testid="stMain"]');
  const all = selector => [...main.querySelectorAll(selector)].filter(e => e.checkVisibility());
  const word = e => e.getAttribute('aria-label') || (e.labels && e.labels[0] ? e.labels[0].innerText : '');
  return {
    heading: main.querySelector('h1').innerText,
    inputs: all('input:not([type=file]):not([type=radio])')
      .map(e => [word(e), e.type === 'checkbox' ? e.checked : e.value]),
    radios: [...main.querySelectorAll('input[type=radio]:checked, [role=radio][aria-checked=true]')]
      .map(e => (e.closest('label') || e).innerText.trim()),
    sliders: all('[role=slider]').map(e => e.getAttribute('aria-valuetext')),
    tabs: all('[role=tab][aria-selected=true]').map(e => e.innerText),
    numbers: all('[data-testid="stMetric"], [data-testid="stTable"] td, h2').map(e => e.innerText),
    figures: [...main.querySelectorAll('.js-plotly-plot')].map(g => JSON.stringify(g.data)),
  };
}
"""
