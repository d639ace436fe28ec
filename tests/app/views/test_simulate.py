"""The question "Simulate or repeat" on the page Plan shows the results of the Python API."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.widgets.cache import published
from isoplan.data.files import path
from isoplan.engine.fitting import FitSpec, fit, read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts, costs_of
from isoplan.engine.planning.repeat.factor import stated
from isoplan.engine.planning.repeat.text import sentence, unpriced, worth_text
from isoplan.engine.planning.repeat.worth import worth_of
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, said, told
from tests.app.views.recommender_page import shown
from tests.engine.planning.conftest import make_fit

ASKED = "Simulate or repeat"
PRICES = {"device": "H100", "hour_price": "2.5", "sample_price": "1e-5", "utilisation": "0.5 %"}
COSTS = costs_of(Prices(Machine(find_device("H100"), utilisation=0.005, price=2.5), Simulation(price=1e-5)))


def card(name: str) -> Fit:
    return read_fit(json.loads(path(f"cards/{name}.json").read_text("utf-8")))


ONE, TWO = card("jets_table1"), card("jets_table2_21x128")
LAWS = {"one_pass": ONE.hash, "repeated": TWO.hash}


def table(at: AppTest, i: int) -> list[list[str]]:
    """Return the rows of table ``i``: 0 compares simulating with repeating, 1 (under Details) has all numbers."""
    return [[shown(str(cell)) for cell in row] for row in at.table[i].value.itertuples(index=False)]


def lines(at: AppTest) -> list[list[str]]:
    return table(at, 1)


def said_at(at: AppTest) -> str:
    return " ".join(shown(m.value) for m in at.markdown)


def heads(at: AppTest) -> list[str]:
    return [shown(h.value).replace("⁻", "-") for h in at.header]


def test_the_published_laws_with_prices(demo: Database, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, reach="0.5", **LAWS, **PRICES)
    assert told(at) == ""
    expected = simulate_or_repeat(ONE, TWO, 0.5, COSTS, stated(10))
    found = {line[0]: line[1] for line in lines(at)}
    assert (
        found["D / U: samples of the compute-optimal single pass / repeated samples [times]"]
        == number(expected.saving)
        == "17.2"
    )
    assert found["omega: samples seen once / repeated samples, at the same loss and infinite N [times]"] == "2.73"
    assert found["Break-even price of a sample / cost of training on it once [times]"] == "9.55"
    assert found["Repeat: Model size N"] == "–"
    totals = [number(one.total) for one in (expected.one_pass, expected.repeat)]
    assert [found[f"{name}: Total, money [EUR]"] for name in ("One pass", "Repeat")] == totals
    words = sentence(expected).split(" it is cheaper")[1].split("EUR against")[0]
    assert words in heads(at)[0]
    one, two = expected.one_pass, expected.repeat
    assert table(at, 0) == [
        ["Unique samples", number(one.unique), number(two.unique)],
        ["Passes over the samples", "1.00", "–"],
        ["Model size N [parameters]", number(one.N), "–"],
        ["Compute C [FLOPs]", shown(number(one.C)), shown(number(two.C))],
        ["Simulation and training [EUR]", *totals],
    ]
    assert f"more than {shown(number(expected.break_even))} EUR, the break-even price" in said_at(at)
    assert "withheld" in said(at)
    assert "a number derived from it has no interval" in said(at)


def test_a_share_of_the_peak_that_the_model_does_not_reach_has_no_price(demo: Database, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, reach="0.5", **LAWS, **PRICES | {"utilisation": "40 %"})
    assert told(at) == ""
    assert heads(at)[0].startswith("To reach loss 0.5, use ")
    assert "The training cost is not known: a model of " in heads(at)[0]
    found = {line[0]: line[1] for line in lines(at)}
    assert found["One pass: Training, money"] == found["Break-even price of a sample"] == "–"


def test_an_answer_far_beyond_the_runs_has_no_table(demo: Database, jets: str, open_page: Open) -> None:
    fitted = results.fit(demo, jets)
    spans = {"N": (1e3, 1e4), "D": (1e3, 1e5), "C": (1e8, 1e11), "loss": (0.9, 2.0)}
    near = results.save_fit(
        demo, replace(fitted, data=replace(fitted.data, ranges=spans, sha256="f" * 64, snapshot=""))
    )
    at = open_page("plan", question=ASKED, reach="0.45", one_pass=near, repeated=TWO.hash, **PRICES)
    assert told(at).startswith("The plan lies too far beyond the runs to be an answer: ")
    assert heads(at)[0].startswith("These runs support plans from C = ")
    assert len(at.table) == 0


def test_without_prices_only_what_needs_none(demo: Database, open_page: Open) -> None:
    at = open_page("plan", question=ASKED, reach="0.5", **LAWS)
    assert told(at) == ""
    assert heads(at)[0] == unpriced(simulate_or_repeat(ONE, TWO, 0.5, SampleCosts(1, 1), stated(10)))
    found = {line[0] for line in lines(at)}
    assert not any("money" in name or "EUR" in name for name in found)
    assert "Break-even price of a sample / cost of training on it once [times]" in found
    assert "Enter a device, its price per hour and the price of a simulated sample" in said(at)


def test_it_opens_with_laws_of_one_task(demo: Database, open_page: Open) -> None:
    results.save_fit(demo, make_fit((1.8, 480.0, 2000.0, 0.35, 0.37)), name="Language model")
    one, two = (open_page("plan", question=ASKED).selectbox(key=f"{name}_choice").value for name in LAWS)
    assert isinstance(one, str)
    assert isinstance(two, str)
    known = {key: law for key, (_, law) in published().items()}
    assert floor_of(known[one]).value == pytest.approx(floor_of(known[two]).value, rel=0.1)


def test_samples_at_hand_and_a_threshold(demo: Database, open_page: Open) -> None:
    line = make_fit((40.0, 0.47), law="threshold")
    few = make_fit((0.32, 11.27, 7.22, 0.44, 0.22, 15.0, 5.0), law="data-constrained")
    threshold, surface = (results.save_fit(demo, one) for one in (line, few))
    at = open_page("plan", question=ASKED, reach="0.5", have="2M", threshold=threshold, few_epochs=surface, kappa="8",
                   **LAWS, **PRICES)  # fmt: skip
    assert told(at) == ""
    costs = SampleCosts(COSTS.sample, COSTS.flop, have=2e6)
    expected = simulate_or_repeat(ONE, TWO, 0.5, costs, stated(8), line)
    found = {row[0]: row[1] for row in lines(at)}
    assert found["Repeat: Model size N [parameters]"] == number(expected.repeat.N)
    assert found["Repeat: Passes over the samples [passes]"] == number(expected.repeat.epochs)
    told_at = said_at(at)
    assert worth_text(worth_of(ONE, TWO, 2e6), "samples") in told_at
    assert "With a few epochs, by the data-constrained law, the lowest cost is" in told_at


def test_own_fits_carry_intervals(demo: Database, jets: str, open_page: Open) -> None:
    table = tables.by_name(demo, "Jets, repeated data for four inputs (simulated)")
    snapshot = snapshots.take(demo, table.id, filter=snapshots.Filter(where="particles = 128"))
    own = fit(FitSpec(law="repetition", axis="D", objective="ols-log", bootstrap=60), snapshots.runs(demo, snapshot),
              snapshot=snapshot.hash)  # fmt: skip
    repeated = results.save_fit(demo, own, name="Repeated")
    at = open_page("plan", question=ASKED, reach="0.5", one_pass=jets, repeated=repeated, **PRICES)
    assert told(at) == ""
    expected = simulate_or_repeat(results.fit(demo, jets), own, 0.5, COSTS, stated(10))
    assert expected.saving.ci68 is not None
    found = {row[0]: row[1:] for row in lines(at)}
    label = "D / U: samples of the compute-optimal single pass / repeated samples [times]"
    assert found[label][0] == number(expected.saving)
    assert found[label][1] == f"{number(expected.saving, expected.saving.ci68[0])} to " + number(
        expected.saving, expected.saving.ci68[1]
    )
    assert "% of the resamples agree" in heads(at)[0]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"sample_price": "0"}, "The price of one sample is 0: give a positive number"),
        ({"hour_price": "0"}, "The price of one hour of H100 is 0: give a positive number"),
        ({"kappa": "0.5"}, "With kappa = 0.5, repeated training would need less compute"),
        ({"kappa": "many"}, "The kappa 'many' cannot be read as a number"),
        (
            {"reach": "0.32"},
            "A target loss of 0.32 is below the floor 0.320 of the one-pass law: ask for a higher target",
        ),
        (
            {"reach": "0.3"},
            "A target loss of 0.3 is below the floor 0.320 of the one-pass law: ask for a higher target",
        ),
        ({"have": "-1"}, "The number of available samples, -1, is not possible. Give zero or a positive number"),
        (
            {"one_pass": TWO.hash},
            "The one-pass law must be a surface over N and D, but this fit is of the law 'repetition",
        ),
        (
            {"repeated": ONE.hash},
            "must be the law 'repetition' on unique samples, but this fit is of the law 'chinchilla'",
        ),
        ({"repeated": "0123456789ab"}, "The fit 0123456789ab of this link is not in this workspace"),
    ],
)
def test_bad_input_is_one_sentence(demo: Database, open_page: Open, query: dict[str, str], why: str) -> None:
    at = open_page("plan", **{"question": ASKED, "reach": "0.5", **LAWS, **PRICES, **query})
    assert why in told(at)
    assert len(at.error) == 1
