"""The use case of recommenders: recipes for a served metric, for a metric without a curve, and from a user's runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect

from isoplan.data.files import path
from isoplan.data.recommender import published_evidence
from isoplan.engine.costs.measured import fit_powers
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.recommender import Evidence, Recommendation, Settings, Stage2, recommend, with_fallback
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.text import sentence
from isoplan.engine.store.files.table_files import read_runs
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, press, settle
from tests.server import Server

SETTINGS = Settings(stage2=Stage2(find_device("H200"), 188))
RUNS = Path(str(path("demo/recommender_isoflop.csv")))
ROLES = {"N": "N", "D": "D", "C": "C", "loss": "val_loss", "budget": "budget", "metric": "recall@10+NDCG@10"}
SHOWN: tuple[Setting, ...] = ("N", "D", "K")
OWN = "Your runs"


def assert_recipe(page: Page, expected: Recommendation) -> None:
    """Check that the sentence and the cards show the values of the recommendation ``expected``."""
    expect(page.get_by_role("heading", level=2).first).to_have_text(sentence(expected))
    for setting in SHOWN:
        q = expected.recipe.choices[setting].value
        text = page.locator(f".st-key-value_{setting}_0").inner_text().replace("\xa0", " ").strip()
        assert text.removeprefix("at least ") == (f"{number(q)} {q.unit}" if q.value is not None else "–")


def choose_metric(page: Page, metric: str, instead: str) -> None:
    """Select the serving metric ``metric`` and deselect ``instead``."""
    press(page, metric)
    press(page, instead)


def test_the_recipe_for_what_is_served(server: Server, page: Page) -> None:
    printed = published_evidence()
    visit(page, server, "recommender?sweep=Model+and+events")
    assert_sound(page, figures=1)
    assert_recipe(page, recommend(printed, 1e18, "recall@10", SETTINGS))

    choose_metric(page, "NDCG@10", "recall@10")
    assert_recipe(page, recommend(printed, 1e18, "NDCG@10", SETTINGS))
    expect(page.locator(".st-key-card_N").get_by_text("borrowed from val_loss")).to_be_visible()

    sent = {"name": "mine.csv", "mimeType": "text/csv", "buffer": RUNS.read_bytes() + b"\n"}
    page.locator("input[type=file]").first.set_input_files(sent)  # type: ignore[arg-type]
    expect(page.get_by_role("combobox", name=OWN)).to_have_value("mine.csv")
    settle(page)
    assert_sound(page, figures=1)
    expect(page.get_by_text("45 runs: 45 determine N and D, none determine K")).to_be_visible()
    runs = read_runs(RUNS, ROLES)
    rule = fit_powers(runs["N"], runs["D"], runs["C"]).rule
    runs = replace(runs, roles=runs.roles.model_copy(update={"compute": rule}))
    own = fit(FitSpec(law="isoflop", y="NDCG@10", objective="ols", bootstrap=200), runs)
    evidence = with_fallback(Evidence(allocation={"NDCG@10": own}), printed)
    assert_recipe(page, recommend(evidence, 1e18, "NDCG@10", SETTINGS))

    page.reload()
    settle(page)
    assert page.get_by_role("combobox", name=OWN).input_value() == "mine.csv"
    assert_recipe(page, recommend(evidence, 1e18, "NDCG@10", SETTINGS))
