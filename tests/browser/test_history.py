"""Back button, addresses and links within a session: a page shows what its address specifies."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.conftest import Faults, visit, wait_ready
from tests.browser.steps import BUDGET, enter, go, press, select, settle, unfold
from tests.server import Server


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def budget(page: Page) -> str:
    return page.get_by_label(BUDGET, exact=True).input_value()


def expect_budget(page: Page, value: str, linked: list[str]) -> None:
    """Wait until the page shows the budget ``value`` and its address contains the budget ``linked``."""
    expect(page.get_by_label(BUDGET, exact=True)).to_have_value(value)
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("budget", []) == linked)
    settle(page)


def test_typed_budgets_are_entries_of_the_history(server: Server, page: Page) -> None:
    visit(page, server, "plan")
    start = budget(page)
    for typed in ("2e17", "3e17"):
        enter(page, BUDGET, typed)
        expect_budget(page, typed, [typed])
    page.go_back()
    expect_budget(page, "2e17", ["2e17"])
    page.go_forward()
    expect_budget(page, "3e17", ["3e17"])
    page.reload()
    expect_budget(page, "3e17", ["3e17"])
    page.go_back()
    expect_budget(page, "2e17", ["2e17"])
    page.go_back()
    expect_budget(page, start, [])


def test_the_menu_name_is_the_address_and_the_old_address_opens(server: Server, page: Page) -> None:
    visit(page, server, "precision?n_f=5")
    assert page.title() == "Precision · Isoplan"
    assert query(page)["n_f"] == ["5"]
    visit(page, server, "amplitude?n_f=5&reach=1e-5")
    assert page.title() == "Precision · Isoplan"
    assert urlsplit(page.url).path == "/precision"
    assert query(page) == {"n_f": ["5"], "reach": ["1e-5"]}
    assert page.get_by_label("Target", exact=True).input_value() == "1e-5"


def test_a_page_that_is_returned_to_has_its_values_in_its_address(server: Server, page: Page) -> None:
    visit(page, server, "plan?budget=1e12&device=H100&hour_price=3")
    go(page, "Recommender")
    go(page, "Plan")
    values = {"budget": ["1e12"], "device": ["H100"], "hour_price": ["3"]}
    assert budget(page) == "1e12"
    assert {name: query(page).get(name) for name in values} == values
    page.reload()
    wait_ready(page)
    assert budget(page) == "1e12"
    assert page.get_by_label("Price of a device hour", exact=True).input_value() == "3"
    page.go_back()
    settle(page)
    assert urlsplit(page.url).path == "/recommender"
    page.go_back()
    settle(page)
    assert urlsplit(page.url).path == "/plan"
    assert {name: query(page).get(name) for name in values} == values


def values(page: Page) -> dict[str, str]:
    """Return the values that the page Plan shows: fit, budget, machine and price."""
    unfold(page, "Limits, machine and prices")
    labels = ("Fit", BUDGET, "Machine", "Price of a device hour")
    return {label: page.get_by_label(label, exact=True).input_value() for label in labels}


def step(page: Page, back: bool, path: str) -> None:
    """Press the back or the forward button of the browser, which opens the page with the address ``path``."""
    (page.go_back if back else page.go_forward)()
    page.wait_for_url(lambda url: urlsplit(url).path == path)
    settle(page)


def test_back_restores_a_complete_link_after_a_visit_of_another_page(
    server: Server, page: Page, open_page: Callable[..., Page]
) -> None:
    visit(page, server, "plan")
    link = f"plan?fit={query(page)['fit'][0]}&budget=2e17&device=A100+80GB&hour_price=2.0"
    visit(page, server, "fit")
    select(page, "Run table", "Recommender, share sweep, synthetic log (trained)")
    press(page, "Fit law")  # now the newest fit belongs to another table than the fit in the link
    page = open_page()
    visit(page, server, link)
    plan = values(page)
    assert list(plan.values())[1:] == ["2e17", "A100 80GB", "2.0"]
    go(page, "Fit")
    fit = query(page)
    assert fit["fit"][0] in link
    step(page, True, "/plan")
    assert values(page) == plan
    step(page, False, "/fit")
    assert query(page) == fit
    step(page, True, "/plan")
    assert values(page) == plan


def test_a_budget_that_is_typed_before_a_click_on_the_menu_is_restored(server: Server, page: Page) -> None:
    visit(page, server, "plan?budget=2e17&device=A100+80GB&hour_price=2.0")
    page.get_by_label(BUDGET, exact=True).fill("3e17")
    page.locator('[data-testid="stSidebarNavLink"]', has_text="Fit").click(delay=300)
    expect(page.get_by_role("heading", name="Fit", level=1)).to_be_visible()
    settle(page)
    step(page, True, "/plan")
    assert list(values(page).values())[1:] == ["3e17", "A100 80GB", "2.0"]
    step(page, True, "/plan")
    assert list(values(page).values())[1:] == ["2e17", "A100 80GB", "2.0"]


def test_home_of_the_menu_leaves_an_unknown_address(server: Server, page: Page) -> None:
    for address in ("plan2", "foo/bar", "Pr%C3%A4zision"):
        visit(page, server, address)
        expect(page.get_by_role("heading", name="No such page")).to_be_visible()
        assert (urlsplit(page.url).path, query(page)) == ("/", {})
        go(page, "Home")
        expect(page.get_by_role("heading", name="No such page")).to_have_count(0)


def test_an_unknown_address_says_so_and_offers_the_pages(server: Server, page: Page, faults: Faults) -> None:
    visit(page, server, "presicion")
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("heading", name="No such page")).to_be_visible()
    expect(main.get_by_text("Isoplan has no page /presicion. Choose a page below.")).to_be_visible()
    main.get_by_role("link", name="Precision").click()
    expect(page.get_by_role("heading", name="Precision", level=1)).to_be_visible()
    settle(page)
    assert urlsplit(page.url).path == "/precision"
