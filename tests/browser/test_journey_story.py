"""The journey through a story, from Home to the last screen: by buttons, by arrow keys, and with the money slider."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from isoplan.engine.planning.story.sentences import MOST_WORDS
from tests.browser.clicks import Journey
from tests.browser.conftest import scrolls_sideways, visit
from tests.browser.steps import assert_sound, press, settle
from tests.server import Server


def sentence(page: Page) -> Locator:
    """Return the sentence of the screen."""
    return page.locator(".isoplan-sentence")


def test_the_demo_story_from_start_to_end_in_seven_clicks(server: Server, page: Page) -> None:
    visit(page, server)
    journey = Journey(page)
    press(page, "Watch the story")
    expect(page.get_by_text("1 of 5", exact=True)).to_be_visible()
    for number in range(2, 6):
        before = sentence(page).inner_text()
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text(f"{number} of 5", exact=True)).to_be_visible()
        expect(sentence(page)).not_to_have_text(before)
        settle(page)
        assert_sound(page, figures=1)
        assert len(sentence(page).inner_text().split()) <= MOST_WORDS
    journey.check(clicks=7)
    assert "screen=5" in page.url


def test_a_button_opens_another_story_with_its_link(server: Server, page: Page) -> None:
    visit(page, server, "story?story=jets&screen=4")
    press(page, "Story: Recommender")
    expect(page.get_by_text("1 of 5", exact=True)).to_be_visible()
    assert page.url.endswith("/story?story=recommender")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("2 of 5", exact=True)).to_be_visible()
    expect(sentence(page)).to_contain_text("events")
    settle(page)
    assert page.url.endswith("/story?story=recommender&screen=2")
    page.go_back()
    page.go_back()
    expect(page.get_by_text("4 of 5", exact=True)).to_be_visible()
    expect(sentence(page)).to_contain_text("QCD rejection")


def test_arrow_keys_change_the_screen_and_move_the_slider(server: Server, page: Page) -> None:
    visit(page, server, "story?story=jets")
    for number in (2, 3, 4):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text(f"{number} of 5", exact=True)).to_be_visible()
        settle(page)
    expect(sentence(page)).to_contain_text("costs")
    slider = page.locator('[data-testid="stSlider"] input, [data-testid="stSlider"] [role=slider]').first
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(sentence(page)).to_contain_text("EUR buy a QCD rejection")
    expect(page.get_by_text("4 of 5", exact=True)).to_be_visible()
    slider.blur()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("3 of 5", exact=True)).to_be_visible()


def test_the_arrow_keys_change_the_screen_after_the_slider_was_dragged(server: Server, page: Page) -> None:
    visit(page, server, "story?story=jets&screen=4")
    settle(page)
    thumb = page.get_by_test_id("stSliderThumbValue").locator("xpath=..")
    thumb.scroll_into_view_if_needed()
    before, box = sentence(page).inner_text(), thumb.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 150, y, steps=5)
    page.mouse.up()
    expect(sentence(page)).not_to_have_text(before)
    page.wait_for_function("() => !document.activeElement.closest('[data-testid=stSlider]')")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("5 of 5", exact=True)).to_be_visible()


def test_a_story_fits_the_window_and_is_readable_from_a_distance(
    server: Server, open_page: Callable[..., Page]
) -> None:
    for width, height in ((1440, 900), (1024, 768), (768, 1024)):
        page = open_page(width=width, height=height, scheme="dark" if width == 1024 else "light")
        visit(page, server, "story?story=amplitudes&screen=4")
        settle(page)
        assert not scrolls_sideways(page)
        size = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.isoplan-sentence')).fontSize)")
        assert size >= 32
        texts = page.locator(".js-plotly-plot .xtick text").all()
        assert min(float(re.sub("[^0-9.]", "", t.evaluate("e => getComputedStyle(e).fontSize"))) for t in texts) >= 16
        slider = page.get_by_test_id("stSlider").bounding_box()
        assert slider is not None
        assert slider["y"] + slider["height"] <= height
        page.context.close()


def test_the_items_of_the_cost_are_large_and_the_slider_has_its_label_beside_it(server: Server, page: Page) -> None:
    visit(page, server, "story?story=jets&screen=4&money=150")
    settle(page)
    detail = page.locator(".isoplan-detail")
    expect(detail).to_contain_text("training less than 0.01 EUR")
    assert detail.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 20
    label = page.get_by_test_id("stSlider").get_by_text("Money to spend").bounding_box()
    value = page.get_by_test_id("stSliderThumbValue").bounding_box()
    assert label is not None
    assert value is not None
    assert label["x"] + label["width"] < value["x"]


def test_no_frame_of_focus_is_drawn_after_a_click(server: Server, page: Page) -> None:
    visit(page, server, "story?story=jets")
    page.locator(".isoplan-sentence").click()
    page.mouse.click(700, 330)
    page.wait_for_function("() => document.activeElement === document.body")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("2 of 5", exact=True)).to_be_visible()
    assert not page.evaluate("document.querySelector('[data-testid=stMain]').matches(':focus-visible')")


def test_the_full_screen_button_hides_what_is_around_the_story(server: Server, page: Page) -> None:
    visit(page, server, "story?story=recommender&screen=2")
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(sentence(page)).to_be_visible()
    expect(page.get_by_text("The runs are simulated")).to_be_visible()
    page.wait_for_function(
        "() => { const box = document.querySelector('.js-plotly-plot').getBoundingClientRect();"
        " return box.height >= 400 && box.right <= innerWidth && box.width > 0.85 * innerWidth }"
    )
    page.get_by_role("button", name="Leave full screen").click()
    page.wait_for_function("() => !document.fullscreenElement")
