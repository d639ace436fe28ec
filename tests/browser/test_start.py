"""The first request after a server start is a deep link to each page, in light and in dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import PAGES, scrolls_sideways, visit
from tests.server import forked

# Script that records every heading and dialog. Other pages and "Page not found" must not appear, even for a moment.
WATCH = """
window.__shown = new Set();
const all = () => document.querySelectorAll('h1, [role="dialog"]');
window.__look = () => all().forEach(e => window.__shown.add(e.innerText.trim()));
new MutationObserver(window.__look).observe(document, { childList: true, subtree: true, characterData: true });
"""
BACKGROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 23, 28)"}


@pytest.mark.parametrize(("path", "scheme"), [*zip(PAGES, ["light", "dark"] * 5, strict=False), ("", "dark")])
def test_the_first_request_is_a_deep_link(
    path: str, scheme: str, tmp_path: Path, open_page: Callable[..., Page]
) -> None:
    seen: list[str] = []
    with forked(tmp_path / "workspace") as server:
        page = open_page(scheme=scheme, width=1024)
        page.add_init_script(WATCH)
        page.on("framenavigated", lambda frame: seen.append(frame.url))
        visit(page, server, path)
        assert page.title() == f"{PAGES[path]} · Isoplan"
        assert urlsplit(page.url).path == f"/{path}"
        menu = page.locator('[data-testid="stSidebarNavLink"]')
        assert [text.splitlines()[-1] for text in menu.all_inner_texts()] == list(PAGES.values())
        current = page.locator('[data-testid="stSidebarNavLink"][aria-current="page"]')
        assert [text.splitlines()[-1] for text in current.all_inner_texts()] == [PAGES[path]]
        background = page.locator('[data-testid="stApp"]').evaluate("e => getComputedStyle(e).backgroundColor")
        assert background == BACKGROUND[scheme]
        shown = [text for text in page.evaluate("() => { window.__look(); return [...window.__shown]; }") if text]
        assert shown == page.locator("h1").all_inner_texts()
        assert not scrolls_sideways(page)
        page.context.close()
    assert {urlsplit(url).path for url in seen} == {f"/{path}"}
