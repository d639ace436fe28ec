"""The question Compare on the page Plan: a table of saved plans and their costs at the same prices."""

from __future__ import annotations

import pytest

from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.compare import Comparison, Saved, ask_again, scenario, sentence, side_by_side
from isoplan.engine.planning.compare import table as lines_of
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from tests.app.views.conftest import Open, said, told
from tests.app.views.recommender_page import lines, shown
from tests.engine.planning.conftest import make_fit

ASKED = "Compare"
PRICES = Prices(Machine(find_device("H100"), 8, 0.05, 2.5), Simulation(price=2e-5), Inference(queries=1e12))
Kept = dict[str, str]


@pytest.fixture
def kept(demo: Database, jets: str) -> Kept:
    """Save two plans and return the hash of each plan by name."""
    fit = results.fit(demo, jets)
    plans = {"modest": plan_target(fit, 0.45, prices=PRICES), "bold": plan_budget(fit, 1e18, prices=PRICES)}
    return {name: results.save_plan(demo, plan, name) for name, plan in plans.items()}


def expected(db: Database, kept: Kept, prices: Prices | None) -> Comparison:
    plans = {name: results.plan(db, key) for name, key in kept.items()}
    return side_by_side([Saved(n, p, ask_again(p, results.fit(db, p.fit))) for n, p in plans.items()], prices)


def test_plans_with_the_prices_they_were_saved_with(demo: Database, kept: Kept, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, plans=",".join(kept.values()))
    assert told(at) == ""
    found = expected(demo, kept, PRICES)
    assert shown(at.header[0].value) == sentence(found)
    rows = {row[0]: row[1:] for row in lines(at)}
    table = {line[0]: line[1:] for line in lines_of(found)}
    for label in ("N", "D", "Training, money", "Total, money", "Beyond the runs"):
        assert tuple(cell.replace("×", "x") for cell in rows[label]) == tuple(table[label])
    assert all(side.bill["Total, money"].ci68 is not None for side in found.sides)
    assert "N, D and C of the saved plans do not change" in " ".join(shown(c.value) for c in at.caption)


def test_the_newest_plans_are_compared_unasked(demo: Database, kept: Kept, open_page: Open) -> None:
    at = open_page("plan", question=ASKED)
    assert set(at.multiselect(key="plans_choice").value) == set(kept.values())
    at.multiselect(key="plans_choice").unselect(kept["bold"]).run()
    assert at.query_params["plans"] == kept["modest"]
    assert len(lines(at)[0]) == 2


def test_sliders_move_every_plan_at_once(demo: Database, kept: Kept, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, plans=",".join(kept.values()))
    at.select_slider(key="hour_times").set_value("2").run()
    at.slider(key="share").set_value(20.0).run()
    at.select_slider(key="speed").set_value("10").run()
    assert told(at) == ""
    found = expected(demo, kept, scenario(PRICES, hour=5.0, utilisation=0.2, speed=10))
    assert shown(at.header[0].value) == sentence(found)
    at.select_slider(key="hour_times").set_value("3").run()
    link = {"plans": ",".join(kept.values()), "hour_times": "2", "share": "20", "speed": "10"}
    assert shown(open_page("plan", question=ASKED, **link).header[0].value) == sentence(found)


def test_prices_of_the_page_come_first(demo: Database, kept: Kept, open_page: Open) -> None:
    at = open_page(
        "plan", question=ASKED, plans=",".join(kept.values()), device="L40S", hour_price="1", utilisation="5%"
    )
    found = expected(demo, kept, Prices(Machine(find_device("L40S"), utilisation=0.05, price=1.0)))
    rows = {row[0]: row[1:] for row in lines(at)}
    table = {line[0]: line[1:] for line in lines_of(found)}
    assert tuple(rows["Total, money"]) == table["Total, money"]
    assert "Simulation, money" not in rows


def test_a_plan_whose_fit_is_gone_has_totals_without_interval(demo: Database, open_page: Open) -> None:
    fit = make_fit((0.32, 11.27, 7.22, 0.44, 0.22))
    results.save_plan(demo, plan_budget(fit, 1e18, prices=PRICES), "foreign")
    at = open_page("plan", question=ASKED)
    assert told(at) == ""
    assert "because the fit or the map of the plan is missing: foreign" in " ".join(shown(c.value) for c in at.caption)


def test_without_prices_sizes_are_compared(demo: Database, jets: str, open_page: Open) -> None:
    for C in (1e17, 1e18):
        results.save_plan(demo, plan_budget(results.fit(demo, jets), C), f"{C:g}")
    at = open_page("plan", question=ASKED)
    assert told(at) == ""
    assert "Enter a device and its price per hour" in said(at)
    assert not at.select_slider


def test_bad_input_is_one_sentence(demo: Database, jets: str, open_page: Open) -> None:
    assert "No saved plan exists. Save a plan under Budget or target" in told(open_page("plan", question=ASKED))
    fit = results.fit(demo, jets)
    for C in (1e17, 1e18):
        results.save_plan(demo, plan_budget(fit, C), "same")
    assert "Two plans have the name 'same'. Give them different names" in told(open_page("plan", question=ASKED))
    at = open_page("plan", question=ASKED, plans="0123456789ab")
    assert "The plan 0123456789ab of this link is not in this workspace, or was deleted" in told(at)
    zero = open_page("plan", question=ASKED, device="H100", hour_price="0")
    assert "The price of one hour of H100 is 0" in told(zero)
