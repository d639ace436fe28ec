"""The question "Smaller for longer" on the page Plan shows the results of the Python API."""

from __future__ import annotations

import pytest

from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.scenario.limits import Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices
from isoplan.engine.planning.smaller.answer import lifetime, same_loss
from isoplan.engine.planning.smaller.text import half_sentence, lifetime_sentence, size_rows, smallest_sentence
from isoplan.engine.quantities import parse_flops
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from tests.app.views.conftest import Open, said, told, warnings
from tests.app.views.recommender_page import lines, shown
from tests.engine.planning.conftest import make_fit

ASKED = "Smaller for longer"
SERVED = {"device": "H100", "hour_price": "2.5", "utilisation": "0.5 %", "queries": "1e10", "query_tokens": "40"}


def test_sizes_of_one_loss(demo: Database, jets: str, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, fit=jets, budget="1e18")
    assert told(at) == ""
    fit = results.fit(demo, jets)
    curve = same_loss(fit, Question("budget", 1e18))
    assert shown(at.header[0].value) == half_sentence(curve)
    assert smallest_sentence(curve) in [shown(m.value) for m in at.markdown]
    body = [list(row) for row in size_rows(curve)[1:]]
    assert [[cell.replace("0.", "0.") for cell in row] for row in lines(at)] == body
    assert body[5][5] == "1.6 decades beyond the runs"
    assert "The answer lies beyond the runs: D by 1.6 decades" in str(warnings(at)[0].value)
    assert ["1.00", "0 %"] == [lines(at)[5][0], lines(at)[5][3]]
    assert "Enter the number of queries" in said(at)


def test_the_cheapest_over_its_life(demo: Database, jets: str, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, fit=jets, ask="Target", target="0.42", **SERVED)
    assert told(at) == ""
    prices = Prices(Machine(find_device("H100"), utilisation=0.005, price=2.5))
    served = Inference(queries=1e10, tokens=40)
    expected = lifetime(results.fit(demo, jets), Question("target", 0.42), served, prices=prices)
    assert lifetime_sentence(expected) in [shown(m.value).strip("*") for m in at.markdown]
    found = {row[0]: row[1] for row in lines(at, 1)}
    assert found["Training and inference [EUR]"] == number(expected.total)
    assert found["Model size N [parameters]"] == number(expected.N)


def test_money_of_a_small_model_at_a_large_share_of_the_peak_is_not_known(
    demo: Database, jets: str, open_page: Open
) -> None:
    at = open_page("plan", question=ASKED, fit=jets, ask="Target", target="0.42", **SERVED | {"utilisation": "40 %"})
    assert told(at) == ""
    assert {row[0]: row[1] for row in lines(at, 1)}["Training and inference"] == "–"


def test_a_loss_far_beyond_the_runs_has_no_sizes(demo: Database, jets: str, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, fit=jets, budget="1e30", **SERVED)
    assert told(at).startswith("The plan lies too far beyond the runs to be an answer: ")
    assert len(at.table) == 0
    assert not any("Enter the number of queries" in m.value for m in at.info)


def test_limits_of_the_page_bound_the_sizes(demo: Database, jets: str, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, fit=jets, budget="1e18", limits="parameters", max_params="5e5", **SERVED)
    assert told(at) == ""
    prices = Prices(Machine(find_device("H100"), utilisation=0.005, price=2.5))
    question = Question("budget", 1e18, Limits(parameters=5e5))
    curve = same_loss(results.fit(demo, jets), question, prices=prices)
    assert float(curve.best.N) == pytest.approx(5e5)
    assert [row[-1] for row in lines(at)] == [row[-1] for row in size_rows(curve)[1:]]
    expected = lifetime(results.fit(demo, jets), question, Inference(queries=1e10, tokens=40), prices=prices)
    assert lifetime_sentence(expected) in [shown(m.value).strip("*") for m in at.markdown]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"budget": "0"}, "The budget of 0 FLOPs is not positive"),
        ({"ask": "Target", "target": "0.1"}, "A target loss of 0.1 is out of reach"),
        ({"queries": "0", "device": "H100"}, "The number of queries over the model's life is 0"),
        ({"queries": "1e9"}, "Give the machine with the queries over the model's life"),
    ],
)
def test_bad_input_is_one_sentence(demo: Database, jets: str, open_page: Open, query: dict[str, str], why: str) -> None:
    at = open_page("plan", **{"question": ASKED, "fit": jets, "budget": "1e18", **query})
    assert why in told(at)
    assert len(at.error) == 1


def test_a_law_that_is_no_surface_is_refused(demo: Database, open_page: Open) -> None:
    power = results.save_fit(demo, make_fit((0.1, 1e6, 0.4), law="power", axis="C"))
    at = open_page("plan", question=ASKED, fit=power, budget="1e18")
    assert "The law power does not determine the cost of other models of the same loss" in told(at)


def test_the_page_states_how_a_budget_was_read(demo: Database, jets: str, open_page: Open) -> None:
    typed = "1e-9 PFLOP/s-days"
    at = open_page("plan", question=ASKED, fit=jets, budget=typed)
    assert told(at) == ""
    (note,) = parse_flops(typed).notes(typed)
    assert note in [shown(caption.value) for caption in at.caption]


def test_a_budget_in_money_asks_for_device_and_price_next_to_it(demo: Database, jets: str, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, fit=jets, budget="50 EUR")
    assert told(at) == "The budget '50 EUR' is money: give the machine and the price of a device hour with it."
    at.selectbox(key="device").select("H100").run()
    at.text_input(key="hour_price").set_value("2.5").run()
    at.text_input(key="utilisation").set_value("0.5 %").run()
    assert told(at) == ""
    C = float(Machine(find_device("H100"), utilisation=0.005).flops(20.0))
    assert shown(at.header[0].value) == half_sentence(same_loss(results.fit(demo, jets), Question("budget", C)))
