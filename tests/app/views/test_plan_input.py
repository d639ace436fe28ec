"""Typed input of the page Plan: units, limits without a number, bad input, the slider, and values that stay."""

from __future__ import annotations

from typing import Any

import pytest

from isoplan.app.views.planning.saved import link
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, grid, told, written
from tests.app.views.test_plan import PRICED, same, shown


def test_units_are_typed_where_they_belong(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="3e17", limits=["unique samples", "hours", "memory", "money"],
                   max_unique="1000 M jets", max_hours="60 min", max_memory="80GB", max_money="1,5 k€", device="H100",
                   hour_price="€2,5/h", power="0.7 kW", grid="300 g/kWh", sample_price="1e-5 EUR/jet")  # fmt: skip
    plan = shown(at)
    assert plan.prices is not None
    share = plan.prices.machine.utilisation
    machine = Machine(find_device("H100"), utilisation=share, price=2.5, power=700.0, assumed=True)
    assert plan.prices == Prices(machine, Simulation(1e-5), grid=300.0)
    assert plan.question.limits == Limits(unique=1e9, hours=1.0, memory=80e9, money=1500.0)
    address = link(demo, plan)
    assert {k: address[k] for k in ("max_unique", "max_money", "sample_price", "hour_price", "power", "grid")} == {
        "max_unique": "1e9", "max_money": "1500", "sample_price": "1e-5", "hour_price": "2.5", "power": "700",
        "grid": "300",
    }  # fmt: skip


@pytest.mark.parametrize("query", [{"limits": "hours"}, {"limits": ["hours", "parameters"], "max_params": "5e5"}])
def test_a_limit_without_a_number_says_so(jets: str, open_page: Open, query: dict[str, Any]) -> None:
    at = open_page("plan", fit=jets, budget="1e16", **query)
    (warned,) = (str(w.value) for w in at.warning if "remove this limit" in str(w.value))
    assert warned == "The number of hours is empty. Enter a maximum or remove this limit."
    assert shown(at).question.limits == Limits(parameters=5e5 if "max_params" in query else None)


def test_a_budget_in_money_asks_for_device_and_price_beside_it(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="500 EUR")
    assert told(at) == "The budget '500 EUR' is money: give the machine and the price of a device hour with it."
    at.selectbox(key="device").select("RTX4090").run()
    at.text_input(key="hour_price").set_value("50 EUR/h").run()
    assert told(at) == "" or "beyond the runs" in told(at)
    plan = shown(at)
    assert plan.prices is not None
    assert plan.question.money == 500
    hours = 500 / 50
    assert plan.question.value == pytest.approx(
        hours * 3600 * plan.prices.machine.peak * plan.prices.machine.utilisation
    )
    steps = next(s for s in at.select_slider if s.label == "Budget as a slider [EUR]").options
    assert (steps[0], steps[-1]) == ("50 EUR", "5.00 k EUR")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "target below every floor": ({"ask": "Target", "target": "0.1"}, "out of reach: no resample of this fit reaches"),
    "limits that contradict": (
        {"ask": "Target", "target": "0.5", "limits": "unique samples", "max_unique": "1e4"},
        "contradicts the limit of 10.0 k unique samples: this limit allows loss",
    ),
    "epochs over nothing": (
        {"limits": "epochs", "max_epochs": "4"},
        "requires a limit on the number of unique samples",
    ),
    "hours without a machine": ({"limits": "hours", "max_hours": "4"}, "needs a machine"),
    "money without a price": ({"limits": "money", "max_money": "4", "device": "H100"}, "has no price"),
    "limit of zero": ({"limits": "parameters", "max_params": "0"}, "is not positive"),
    "limit in words": ({"limits": "parameters", "max_params": "few"}, "number of parameters 'few' cannot be read"),
    "hours in gigabytes": (
        {"limits": "hours", "max_hours": "80 GB", "device": "H100"},
        "The number of hours '80 GB' is in GB, not in hours: write it like 24 or 24 h.",
    ),
    "another currency": (
        {"device": "H100", "hour_price": "2.5 USD"},
        "The price of a device hour '2.5 USD' is in USD, not in EUR: write it like 2.5 or 2.5 EUR.",
    ),
    "a thousand or one": (
        {"limits": "money", "max_money": "1,000", "device": "H100", "hour_price": "3"},
        "The sum of money '1,000' may mean 1000 or 1: write it without the comma.",
    ),
    "price of zero": ({"device": "H100", "hour_price": "0"}, "price of one hour of H100 is 0"),
    "price of a sample of zero": ({"device": "H100", "sample_price": "0"}, "price of one sample is 0"),
    "two prices of a sample": (
        {"device": "H100", "sample_price": "1", "sample_seconds": "1", "cpu_price": "1"},
        "Give the price of a CPU hour together with the CPU seconds per sample, and leave out the price of a sample",
    ),
    "tokens without queries": (
        {"device": "H100", "query_tokens": "3"},
        "Give the queries over the model's life with",
    ),
    "no precision of the device": ({"device": "V100", "precision": "fp8"}, "has no peak at precision 'fp8'"),
    "utilisation above one": ({"device": "H100", "utilisation": "140 %"}, "is not a fraction of the peak"),
    "half a site": ({"device": "H100", "pue": "0"}, "power usage effectiveness 0 is below 1"),
    "a formula without columns": ({"rule": "typed formula", "rule_formula": "6"}, "uses no column"),
    "no tokens": ({"rule": "6 n_p N D", "rule_n_p": "0"}, "not a number of tokens per sample"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_one_sentence(jets: str, open_page: Open, case: str) -> None:
    query, words = WRONG[case]
    at = open_page("plan", fit=jets, **query)
    assert words in told(at)
    assert len(at.error) == 1
    assert not at.table


def test_a_price_without_a_machine_is_one_sentence_and_the_plan_stays(
    jets: str, demo: Database, open_page: Open
) -> None:
    at = open_page("plan", fit=jets, budget="1e14", hour_price="2")
    assert told(at) == ""
    (warned,) = (str(w.value) for w in at.warning if "Prices require" in str(w.value))
    assert warned == (
        "Prices require a device. Give the machine with the price of a device hour. The plan is shown without costs."
    )
    assert same(shown(at), plan_budget(results.fit(demo, jets), 1e14))


def test_the_slider_and_the_blank_never_disagree(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="3.3e16")
    slider = at.select_slider(key="budget_slider")
    assert slider.value == 3.3e16
    step = next(x for x in slider.options if "× 10¹⁶" in x)
    slider.set_value(float(step.split(" ")[0]) * 1e16).run()
    assert at.text_input(key="budget").value == f"{float(step.split(' ')[0]):g}e16"
    at.text_input(key="budget").set_value("2 H200 hours").run()
    assert at.select_slider(key="budget_slider").value == pytest.approx(2 * 3600 * 989e12 * 0.4)
    assert told(at) == ""


def test_what_is_entered_for_a_budget_stays_for_a_target(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e16", limits="unique samples", max_unique="1e8", **PRICED)
    at.segmented_control(key="ask").set_value("Target").run()
    at.text_input(key="target").set_value("0.6").run()
    assert told(at) == ""
    assert at.text_input(key="max_unique").value == "1e8"
    assert at.text_input(key="sample_price").value == "1e-4"
    assert at.selectbox(key="device").value == "H100"


def test_the_measured_utilisation_fills_the_field(demo: Database, open_page: Open) -> None:
    """The runs of 6 N D FLOPs reach 3.1 % of the peak of an H100. Without a device, nothing is stated."""
    peak = find_device("H100").peak_at("bf16")
    head, *lines = grid().decode().splitlines()
    sizes = [[float(x) for x in line.split(",")[:2]] for line in lines]
    timed = [f"{line},{6 * N * D / (0.031 * peak):.9g}" for line, (N, D) in zip(lines, sizes, strict=True)]
    table = tables.add(demo, "\n".join([f"{head},seconds", *timed]).encode(), "timed.csv")
    snapshot = snapshots.take(demo, table.id)
    made = fit(FitSpec(bootstrap=0), snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    key = results.save_fit(demo, made, name="Timed", table_id=table.id)
    at = open_page("plan", fit=key, budget="1e18")
    assert "Utilisation as measured" not in written(at)
    at.selectbox(key="device").select("H100").run()
    assert "Utilisation as measured in your runs: 3.1 % of the peak of one H100." in written(at)
    at.button(key="use_measured").click().run()
    assert at.text_input(key="utilisation").value == "3.1 %"
    assert "use_measured" not in {button.key for button in at.button}
    prices = shown(at).prices
    assert prices is not None
    assert prices.machine.utilisation == pytest.approx(0.031)
    assert not prices.machine.assumed
