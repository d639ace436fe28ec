"""Round trip of every page's link: a new browser shows the same values, numbers and figures."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, expect

from isoplan.data.catalogue import CARDS, DEMOS
from tests.browser.conftest import PAGES, visit
from tests.browser.steps import BUDGET, button, enter, go, pick, press, select, settle, shown, tab, unfold
from tests.browser.test_links import copied_link
from tests.server import Server

SURFACE, AXIS = (
    f"{next(card.name for card in CARDS if part in card.file)} (published)" for part in ("jets_table1", "ttH_MLP_MSE")
)

DETAILS = "More settings"


def change_data(page: Page) -> None:
    """Choose another table, a condition and another tab."""
    select(page, "Run table", DEMOS[1].name)
    tab(page, "Columns")
    unfold(page, "Filter runs")
    enter(page, "Only rows where", '"budget" > 1e18')
    expect(page.get_by_text(" of 45 runs")).to_be_visible()


def change_fit(page: Page) -> None:
    """Choose a table, a predicted quantity, a number of resamples, a seed and an objective. Then fit."""
    select(page, "Run table", DEMOS[0].name)
    select(page, "Predicted quantity", "R_top")
    page.get_by_text(DETAILS).click()
    enter(page, "Resamples", "20")
    enter(page, "Seed", "3")
    select(page, "Objective", "ols")
    press(page, "Fit law")
    expect(page.get_by_text("20 resamples, seed 3.")).to_be_visible()


def slide(page: Page) -> None:
    """Move the slider one position to the right."""
    page.get_by_role("slider").press("ArrowRight")
    settle(page)


def change_explore(page: Page) -> None:
    """Choose a law that has no views and no targets. Then choose another law, one of its views, and a target."""
    select(page, "Fit", AXIS)
    slide(page)
    select(page, "Fit", SURFACE)
    pick(page, "View", "Frontier")
    pick(page, "Optimum for", "Target")
    slide(page)


def change_plan(page: Page) -> None:
    """Enter a budget in words."""
    select(page, "Fit", SURFACE)
    enter(page, BUDGET, "3 ZFLOP")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("× 10²¹ FLOPs")


def test_every_page_comes_back_from_its_link(server: Server, open_page: Callable[..., Page]) -> None:
    changes = {"data": change_data, "fit": change_fit, "explore": change_explore, "plan": change_plan}
    for name, change in changes.items():
        page = open_page()
        visit(page, server, name)
        change(page)
        settle(page)
        link = copied_link(page)
        assert link == page.url
        again = open_page()
        again.goto(link)
        settle(again)
        assert not again.get_by_text("The link asks for").count(), link
        if change is change_fit:
            again.get_by_text(DETAILS).click()
            expect(again.get_by_label("Resamples", exact=True)).to_have_value("20")
        before, after = shown(page), shown(again)
        for part in before:
            assert after[part] == before[part], f"{link}: {part}"
        assert sorted(parse_qsl(urlsplit(again.url).query)) == sorted(parse_qsl(urlsplit(link).query))
        for opened in (page, again):
            opened.context.close()


def test_what_another_law_does_not_have_leaves_the_link(server: Server, page: Page) -> None:
    visit(page, server, "explore")
    select(page, "Fit", SURFACE)
    pick(page, "View", "Frontier")
    select(page, "Fit", AXIS)
    expect(page.get_by_role("radio", name="Axis")).to_be_checked()
    settle(page)
    assert "figure" not in dict(parse_qsl(urlsplit(page.url).query)), page.url


def test_widgets_still_reach_the_link_after_a_filter_was_left(server: Server, page: Page) -> None:
    visit(page, server, "data")
    change_data(page)
    go(page, "Fit")
    select(page, "Run table", DEMOS[0].name)
    select(page, "Predicted quantity", "R_top")
    page.wait_for_url(lambda url: dict(parse_qsl(urlsplit(url).query)).get("y") == "R_top")
    assert "where" not in dict(parse_qsl(urlsplit(page.url).query))


def test_a_table_that_is_not_here_is_asked_for(server: Server, page: Page) -> None:
    for name in ("data", "fit"):
        visit(page, server, f"{name}?table=0123456789ab")
        alert = page.get_by_test_id("stAlertContentError")
        assert "0123456789ab of this link is not in this workspace" in alert.inner_text()
        assert page.locator("input[type=file]").count(), name


@pytest.mark.parametrize(
    ("link", "name", "value"),
    [
        ("data?show=Everything", "show", "Everything"),
        ("explore?figure=Everything", "figure", "Everything"),
        ("plan?ask=Everything", "ask", "Everything"),
    ],
)
def test_a_value_that_is_not_possible_is_named(server: Server, page: Page, link: str, name: str, value: str) -> None:
    visit(page, server, link)
    told = page.get_by_role("alert").first.inner_text()
    assert f"The link asks for {name} = {value}, which is not possible here" in told
    assert page.title().startswith(PAGES[link.partition("?")[0]])
    assert button(page, "Copy link").is_visible()
