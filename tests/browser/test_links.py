"""Links restore a page: bound values in the address, long values in a saved view, messages for invalid values."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, quote, urlsplit

from playwright.sync_api import Page

from isoplan.data.catalogue import BUNDLED, records
from tests.browser.conftest import visit, wait_ready
from tests.server import Server


def copied_link(page: Page) -> str:
    """Return the link that the page's button copies to the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_link_holds_table_and_values(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page()
    visit(page, server, "fit?refits=300&seed=7&objective=ols")
    link = copied_link(page)
    query = parse_qs(urlsplit(link).query)
    assert {"refits": ["300"], "seed": ["7"], "objective": ["ols"]}.items() <= query.items()
    again = open_page()
    again.goto(link)
    wait_ready(again)
    assert again.get_by_label("Resamples", exact=True).input_value() == "300"
    assert again.get_by_label("Seed", exact=True).input_value() == "7"
    assert not again.get_by_text("The link asks for").count()
    assert copied_link(again) == link


def test_a_long_condition_becomes_a_saved_view(server: Server, open_page: Callable[..., Page]) -> None:
    condition = f'"loss" NOT IN ({", ".join(str(i) for i in range(400))})'
    page = open_page()
    visit(page, server, f"data?show=Runs&where={quote(condition)}")
    link = copied_link(page)
    assert len(link) < 200
    assert list(parse_qs(urlsplit(link).query)) == ["view"]
    again = open_page()
    again.goto(link)
    wait_ready(again)
    assert urlsplit(again.url).path == "/data"
    assert parse_qs(urlsplit(again.url).query)["where"] == [condition]
    assert again.title() == "Data · Isoplan"
    rows = len(records(BUNDLED[0].file))
    assert again.get_by_text(f"{rows} runs", exact=True).count()


def test_a_view_of_another_workspace_is_a_sentence(server: Server, page: Page) -> None:
    visit(page, server, "?view=0123456789ab")
    assert "0123456789ab" in page.locator('[role="alert"]').first.inner_text()
    assert page.title() == "Home · Isoplan"


def test_values_that_are_not_possible_are_named(server: Server, page: Page) -> None:
    visit(page, server, "fit?refits=99999999&objective=nope&seed=abc")
    told = " ".join(page.locator('[role="alert"]').all_inner_texts())
    for name, value in {"refits": "99999999", "objective": "nope", "seed": "abc"}.items():
        assert f"The link asks for {name} = {value}, which is not possible here" in told
