"""The physicist's use case on the page Plan: a target for the rejection with a limit on jets, then simulate or repeat.

The numbers on the page are those of the Python API.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from isoplan.app.bundled import load_bundled
from isoplan.app.views.widgets.parts import powers
from isoplan.data.catalogue import CARDS, DEMOS, path
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.document import bill_rows, summary, worth_sentence
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import costs_of
from isoplan.engine.planning.repeat.factor import stated
from isoplan.engine.planning.repeat.text import sentence
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, details, enter, pick, press, select, settle
from tests.server import Server, forked

REFITS = 200
LAW = FitSpec(bootstrap=REFITS)
MAP = FitSpec(law="metric-map", y="R_top", axis="loss", objective="ols-log", bootstrap=REFITS)
REPEATED = FitSpec(law="repetition", axis="D", objective="ols-log", bootstrap=REFITS)
TRAINING = Prices(Machine(find_device("RTX4090"), utilisation=0.01, price=0.5))
PRICES = Prices(TRAINING.machine, Simulation(1e-4))


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fit, Fit, Fit]:
    """Return a workspace with three laws: a law of jets, a map from loss to rejection, and a law of repeated jets."""
    folder = tmp_path_factory.mktemp("planner") / "workspace"
    with open_workspace(folder) as db:
        load_bundled(db)
        table = tables.by_name(db, DEMOS[0].name)
        snapshot = snapshots.take(db, table.id)
        runs = snapshots.runs(db, snapshot)
        law, mapped = (fit(spec, runs, snapshot=snapshot.hash) for spec in (LAW, MAP))
        few = tables.by_name(db, "Jets, repeated data for four inputs (simulated)")
        taken = snapshots.take(db, few.id, filter=snapshots.Filter(where="particles = 128"))
        repeated = fit(REPEATED, snapshots.runs(db, taken), snapshot=taken.hash)
        for one, name in ((law, "Jets"), (mapped, "Rejection of top jets"), (repeated, "Repeated jets")):
            results.save_fit(db, one, name=name, table_id=table.id)
    return folder, law, mapped, repeated


@pytest.fixture(scope="module")
def server(fits: tuple[Path, Fit, Fit, Fit]) -> Iterator[Server]:
    """Start a server on the workspace of ``fits``."""
    with forked(fits[0]) as found:
        yield found


def test_the_papers_own_law_shows_no_rejection(server: Server, page: Page) -> None:
    card = next(c for c in CARDS if c.file == "cards/jets_table1.json")
    law = read_fit(json.loads(path(card.file).read_text(encoding="utf-8")))
    visit(page, server, f"plan?fit={law.hash}&ask=Target&target=0.5")
    main = page.get_by_test_id("stMain").inner_text()
    assert "This law is published without a map from its loss to a metric (background rejection" in main
    assert "R_" not in main
    assert not page.get_by_role("combobox", name="Quantity with a target").count()
    assert_sound(page, figures=1)


def test_a_rejection_with_limited_jets_then_simulate_or_repeat(
    server: Server, open_page: Callable[..., Page], fits: tuple[Path, Fit, Fit, Fit]
) -> None:
    _, law, mapped, repeated = fits
    page = open_page()
    visit(page, server, f"plan?fit={law.hash}")
    pick(page, "Budget or target", "Target")
    select(page, "Quantity with a target", "R_top")
    enter(page, "Target R_top", "5000")
    page.get_by_text("Limits, machine and prices", exact=True).click()
    page.get_by_role("button", name="unique samples", exact=True).click()
    enter(page, "Maximum: unique samples", "100 M")
    select(page, "Machine", "RTX4090")
    enter(page, "Price of a device hour", "0.5")
    enter(page, "Utilisation", "1%")
    both = through(law, mapped, "R_top")
    plan = plan_target(law, 5000.0, limits=Limits(unique=100e6), prices=TRAINING, map=both)
    assert_shows(page, plan)
    assert_sound(page, figures=1)

    at = page.get_by_role("slider").first
    at.press("ArrowRight")
    expect(page.get_by_role("textbox", name="Target R_top", exact=True)).not_to_have_value("5000")
    settle(page)
    moved = float(page.get_by_role("textbox", name="Target R_top", exact=True).input_value())
    assert moved > 5000
    assert_shows(page, plan_target(law, moved, limits=Limits(unique=100e6), prices=TRAINING, map=both))

    press(page, "Save the plan")
    expect(page.get_by_role("heading", name="Saved plans", exact=True)).to_be_visible()
    saved = page.get_by_role("link", name=f"R_top {moved:g}", exact=True)
    address = saved.get_attribute("href") or ""
    again = open_page()
    visit(again, server, address.rpartition("/")[2])
    assert_shows(again, plan_target(law, moved, limits=Limits(unique=100e6), prices=TRAINING, map=both))

    enter(page, "Price of a sample", "1e-4")  # the cheapest plan now uses fewer jets than the limit
    cheapest = plan_target(law, moved, limits=Limits(unique=100e6), prices=PRICES, map=both)
    assert "at the lowest cost, spend" in cheapest.sentence
    expect(page.get_by_role("heading", level=2).first).to_have_text(spaced(cheapest.sentence))

    pick(page, "Question", "Simulate or repeat")
    select(page, "Every sample seen once", "Jets")
    select(page, "Samples repeated to the early stop", "Repeated jets")
    enter(page, "Target loss", "0.5")
    answer = simulate_or_repeat(law, repeated, 0.5, costs_of(PRICES), stated(10))  # same machine and prices
    expect(page.get_by_role("heading", level=2).first).to_have_text(powers(sentence(answer)))
    assert_sound(page, figures=1)


def assert_shows(page: Page, plan: Plan) -> None:
    """Check that the page shows the sentence, costs and limits of ``plan``, and its bill in a table."""
    expect(page.get_by_role("heading", level=2).first).to_have_text(spaced(plan.sentence))
    details(page)
    main = spaced(page.get_by_test_id("stMain").inner_text())
    assert summary(plan) in main
    assert plan.worth[0].binds
    assert worth_sentence(plan, plan.worth[0]) in main
    rows = page.get_by_test_id("stTable").nth(2).locator("tbody tr").all()
    shown = [[spaced(cell) for cell in row.locator("td").all_inner_texts()][1:4] for row in rows]
    assert shown == [[row.value, row.ci68, row.ci95] for row in bill_rows(plan)]


def spaced(text: str) -> str:
    return text.replace("\xa0", " ").strip()
