"""The question Simulate or repeat with published laws of jets. Then a table compares two plans, with a price slider."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from isoplan.app.views.widgets.parts import powers
from isoplan.data.files import path
from isoplan.engine.fitting import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.compare import Saved, scenario, side_by_side
from isoplan.engine.planning.compare import sentence as cheapest
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import costs_of
from isoplan.engine.planning.repeat.factor import stated
from isoplan.engine.planning.repeat.text import sentence
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from tests.browser.conftest import visit
from tests.browser.steps import assert_sound, button, enter, pick, settle
from tests.server import Server

PRICED = "device=H100&utilisation=1%25&hour_price=2.5&sample_price=1e-5"
PRICES = Prices(Machine(find_device("H100"), utilisation=0.01, price=2.5), Simulation(price=1e-5))


def card(name: str) -> Fit:
    return read_fit(json.loads(path(f"cards/{name}.json").read_text("utf-8")))


def numbers(page: Page) -> dict[str, str]:
    """Map the first cell of each table row to the second cell. All tables count, also collapsed tables."""
    rows = page.get_by_test_id("stTable").locator("tbody tr").all()
    cells = [[text.strip().replace("\xa0", " ") for text in row.locator("td").all_text_contents()] for row in rows]
    return {line[0]: line[1] for line in cells}


def test_simulate_or_repeat_then_two_plans(server: Server, page: Page) -> None:
    one, repeated = card("jets_table1"), card("jets_table2_21x128")
    laws = f"one_pass={one.hash}&repeated={repeated.hash}"
    visit(page, server, f"plan?question=Simulate+or+repeat&{laws}&reach=0.5&{PRICED}")
    assert_sound(page, figures=1)
    expect(page.get_by_role("heading", level=2).first).to_have_text(
        powers(sentence(simulate_or_repeat(one, repeated, 0.5, costs_of(PRICES), stated(10))))
    )
    found = numbers(page)
    assert found["omega: samples seen once / repeated samples, at the same loss and infinite N [times]"] == "2.73"
    assert found["D / U: samples of the compute-optimal single pass / repeated samples [times]"] == "17.2"
    assert found["Break-even price of a sample / cost of training on it once [times]"] == "9.55"
    enter(page, "kappa", "5")
    expect(page.get_by_role("heading", level=2).first).to_have_text(
        powers(sentence(simulate_or_repeat(one, repeated, 0.5, costs_of(PRICES), stated(5))))
    )

    for budget in ("1e18", "1e19"):
        visit(page, server, f"plan?fit={one.hash}&budget={budget}&{PRICED}")
        button(page, "Save the plan").click()
        expect(page.get_by_role("heading", name="Saved plans")).to_be_visible()
        settle(page)
    pick(page, "Question", "Compare")
    assert_sound(page, figures=1)
    plans = [Saved(name, plan_budget(one, C)) for name, C in (("10¹⁸ FLOPs", 1e18), ("10¹⁹ FLOPs", 1e19))]
    header = page.get_by_role("heading", level=2).first
    expect(header).to_have_text(cheapest(side_by_side(plans, PRICES)))
    page.get_by_role("slider", name="Price of a device hour ×").press("ArrowRight")
    settle(page)
    moved = side_by_side(plans, scenario(PRICES, hour=2.75))
    expect(header).to_have_text(cheapest(moved))
    totals = [side.bill["Training, money"].value for side in moved.sides]
    assert float(numbers(page)["Training, money"].split()[0]) in [float(f"{x:.3g}") for x in totals if x]


def test_a_saved_answer_opens_as_it_was_and_its_files_come_down(server: Server, page: Page, tmp_path: Path) -> None:
    """The link omits inputs with default values. These inputs are also restored."""
    visit(page, server, "amplitude?n_f=5&scale=a+run+of+mine&x1=1e4&loss1=2e-6")
    heading = page.get_by_role("heading", level=2).first
    first = heading.inner_text()
    button(page, "Save the answer").click()
    expect(page.get_by_role("heading", name="Saved answers")).to_be_visible()
    for kind, start in (("LaTeX", "\\begin{tabular}"), ("CSV", "quantity,value,unit"), ("Python", "# An MSE of 1e-06")):
        with page.expect_download() as waiting:
            button(page, kind).click()
        waiting.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_text().startswith(start)
    enter(page, "Target", "1.5e-6")
    enter(page, "N", "2e5")
    expect(heading).not_to_have_text(first)
    page.get_by_role("link", name="MSE 10⁻⁶, 5 particles").click()
    expect(heading).to_have_text(first)
    settle(page)
    assert_sound(page, figures=1)
    expect(page.get_by_label("N", exact=True)).to_have_value("")

    visit(page, server)
    expect(page.get_by_role("heading", name="Answers (1)")).to_be_visible()
    page.get_by_role("link", name="MSE 10⁻⁶, 5 particles").click()
    expect(page.get_by_role("heading", level=2).first).to_have_text(first)
