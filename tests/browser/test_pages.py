"""Every page of the demo workspace: words, layout shift, and use by keyboard; axe-core checks both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.pages import (
    LIMITS,
    SCHEMES,
    SHIFT,
    addresses,
    findings,
    measure,
    opened,
    prepare,
)
from tests.browser.conftest import visit
from tests.browser.steps import settle
from tests.server import Server, forked

PLACES = dict(addresses())
TABLE = b"N,D,loss\n" + b"".join(
    b"%d,%d,%f\n" % (n, d, 0.5 + 40 * n**-0.4 + 50 * d**-0.4)
    for n in (1000, 3000, 10_000, 30_000)
    for d in (10_000, 100_000, 1_000_000)
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server on a workspace that contains the fit of the demo."""
    workspace = tmp_path_factory.mktemp("pages") / "workspace"
    prepare(workspace)
    with forked(workspace) as server:
        yield server


@pytest.mark.parametrize("name", PLACES)
def test_a_page_loads_without_moving_and_without_findings(chromium: Browser, demo: Server, name: str) -> None:
    for scheme in SCHEMES:
        page = opened(chromium, demo, PLACES[name], scheme)
        seen = measure(page)
        assert findings(page) == (), scheme
        assert seen.shift <= SHIFT, seen
        page.close()


@pytest.mark.parametrize("name", LIMITS)
def test_few_words_stand_before_the_first_result(chromium: Browser, demo: Server, name: str) -> None:
    page = opened(chromium, demo, PLACES[name], "light")
    assert measure(page).words <= LIMITS[name]
    page.close()


def test_a_table_is_uploaded_and_fitted_by_keyboard_alone(page: Page, demo: Server) -> None:
    visit(page, demo, "data")
    with page.expect_file_chooser() as chooser:
        tab_to(page, "Upload|Browse files")
        page.keyboard.press("Enter")
    chooser.value.set_files({"name": "keys.csv", "mimeType": "text/csv", "buffer": TABLE})
    expect(page.get_by_role("combobox", name="Run table")).to_have_value("keys.csv")
    settle(page)
    tab_to(page, "Fit law|.*Fit")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Fit", level=1)).to_be_visible()
    expect(page.get_by_test_id("stTable").first).to_be_visible()


def tab_to(page: Page, name: str, kind: str = "button, a") -> None:
    """Press Tab until a control called ``name`` has the focus. Each button or link on the way must show its focus."""
    names: list[str] = []
    while len(names) < 200:
        page.keyboard.press("Tab")
        text, shown, fits = page.evaluate(_FOCUSED, kind)
        names.append(text)
        assert shown, f"the focus of {text!r} is not visible"
        if fits and re.fullmatch(name, text):
            return
    raise AssertionError(f"{name} is not reached with Tab: {names}")


# A focused link, button or tab must change its outline, shadow or colours. Text fields show a caret: they always pass.
_FOCUSED = """
kind => {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  if (!focused?.matches('a, button, summary, [role=tab]')) return ['', true, false];
  const name = (focused.getAttribute('aria-label') || focused.innerText || focused.tagName).trim().split('\\n').pop();
  const look = e => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineColor, s.boxShadow, s.borderColor,
    s.backgroundColor, s.color].join(); };
  const before = look(focused);
  focused.blur();
  const after = look(focused);
  focused.focus({ focusVisible: true });
  return [name, before !== after, focused.matches(kind)];
}
"""
