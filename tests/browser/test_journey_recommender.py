"""The journey from a user's sweep to a recipe for two metrics: limits on the clicks and on the size of the page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.clicks import Journey
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, press, settle
from tests.engine.planning.recommender.own_runs import K_STAR, N_STAR, mixed_csv
from tests.server import Server

HIGHEST = 2400
WORDS = 250
"""Maximum number of words above the recipe.

``HIGHEST`` is the maximum height of the page in pixels, for a width of 1440 pixels.
"""


def sweep_csv() -> bytes:
    """Return a CSV file of 32 noisy runs. Its column names, such as flops and val_loss, are common in practice."""
    head, *rows = mixed_csv(noise=5e-4).replace("tokens", "events").splitlines()
    lines = [f"{head},flops,val_loss"]
    for row in rows:
        _, budget, *_, recall, _ = row.split(",")
        lines.append(f"{row},{budget},{3 - float(recall):.6f}")
    return "\n".join(lines).encode()


def send(page: Page, name: str, content: bytes) -> None:
    """Upload a file with the file box of the page."""
    page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    expect(page.get_by_role("combobox", name="Your runs")).to_have_value(name)
    settle(page)


def card(page: Page, setting: str) -> Locator:
    return page.locator(f".st-key-card_{setting}")


def values(page: Page, setting: str) -> list[float]:
    """Return the numbers on the card of a setting: one per metric, or one if all metrics have equal values."""
    texts = page.locator(f"[class*='st-key-value_{setting}_']").all_inner_texts()
    return [float(text.replace("\xa0", " ").split()[0]) for text in texts]


def assert_short(page: Page) -> None:
    """Check the height of the page and the number of words above the recipe."""
    height, words = page.evaluate(_SIZE)
    assert height <= HIGHEST
    assert words <= WORDS


_SIZE = """
() => {
  const main = document.querySelector('[data-testid="stMain"]'), range = document.createRange();
  range.setStart(main, 0);
  range.setEndBefore(main.querySelector('h2'));
  const text = range.cloneContents().textContent;
  return [main.querySelector('[data-testid="stMainBlockContainer"]').scrollHeight, text.trim().split(/\\s+/).length];
}
"""


def test_an_own_sweep_becomes_a_recipe_for_two_metrics_in_three_clicks(server: Server, open_page) -> None:  # type: ignore[no-untyped-def]
    page = open_page(width=1440)
    visit(page, server, "recommender")
    assert_short(page)
    journey = Journey(page)
    send(page, "sweep.csv", sweep_csv())
    expect(page.get_by_text("32 runs: 20 determine N and D, 12 determine K, none determine")).to_be_visible()
    expect(page.get_by_text("recall_at_10 is read as recall@10.")).to_be_visible()
    press(page, "NDCG@10")
    journey.check(clicks=3)
    assert_sound(page, figures=1)
    assert_short(page)
    for setting, true in (("N", N_STAR / 1e6), ("K", K_STAR / 1e3)):
        assert all(abs(x / true - 1) < 0.1 for x in values(page, setting))
        expect(card(page, setting).get_by_text("from your runs").first).to_be_visible()
    assert len(values(page, "B")) == 2
    expect(page.get_by_role("heading", level=2).first).to_contain_text("For NDCG@10: ")
    page.reload()
    settle(page)
    assert len(values(page, "B")) == 2
    expect(card(page, "K").get_by_text("from your runs").first).to_be_visible()


def test_a_sweep_that_cannot_be_fitted_complains_on_its_card_alone(server: Server, page: Page) -> None:
    rows = [row for row in mixed_csv().splitlines() if not any(f",{K}," in row for K in ("1e+06", "1e+07", "100000"))]
    visit(page, server, "recommender")
    send(page, "few.csv", "\n".join(rows).encode())
    assert_sound(page, figures=1)
    expect(page.get_by_text("6 vary K but cannot be fitted")).to_be_visible()
    complaint = page.get_by_text("Your runs do not determine K.")
    assert complaint.count() == card(page, "K").get_by_text("Your runs do not determine K.").count() == 1
    expect(card(page, "K").get_by_text("from published runs")).to_be_visible()
    expect(card(page, "N").get_by_text("from your runs")).to_be_visible()
