"""A shared server: the link with the token gives a browser access, also by WebSocket and for uploads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import Faults, visit, wait_ready
from tests.server import forked

TOKEN = "0123456789-token_of-a-test"


def test_the_link_lets_in_and_nothing_else_does(open_page: Callable[..., Page], faults: Faults, tmp_path: Path) -> None:
    faults.allow.append(r"401")
    with forked(tmp_path / "workspace", "--shared", env={"ISOPLAN_TOKEN": TOKEN}) as server:
        stranger = open_page()
        stranger.goto(server.url + "/fit")
        assert "open the link that contains the token" in stranger.inner_text("body")

        page = open_page()
        visit(page, server, f"data?token={TOKEN}")
        assert "token" not in page.url
        assert page.title() == "Data · Isoplan"
        page.set_input_files(
            "input[type=file]",
            {"name": "mine.csv", "mimeType": "text/csv", "buffer": b"N,D,loss\n1e6,2e7,3.4\n2e6,2e7,3.3\n"},
        )
        page.get_by_text("mine.csv").first.wait_for()
        wait_ready(page)
        assert not page.evaluate("document.cookie").count(TOKEN)
        for opened in (page, stranger):
            opened.context.close()
