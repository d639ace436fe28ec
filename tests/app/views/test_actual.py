"""Actual results on the page Plan: input by hand or from a table, comparison with the plans, and removal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.data.catalogue import DEMOS
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.actual.outcome import Actual, outcome
from isoplan.engine.planning.actual.results import Result, table
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, told


@pytest.fixture
def planned(jets: str, demo: Database) -> str:
    """Save a plan for 1e19 FLOPs with the expected top rejection, and return the hash of the plan."""
    law = results.fit(demo, jets)
    shelf = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, shelf.id)
    spec = FitSpec(law="metric-map", y="R_top", axis="loss", objective="ols-log", bootstrap=60)
    mapped = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    results.save_fit(demo, mapped, name="R_top of loss", table_id=shelf.id)
    return results.save_plan(demo, plan_budget(law, 1e19, maps=(through(law, mapped),)), "Big run")


def fill(at: AppTest, **typed: str) -> None:
    for label, text in typed.items():
        next(x for x in at.text_input if x.label.startswith(label)).set_value(text)


def send(at: AppTest) -> None:
    next(b for b in at.button if b.label == "Save the result").click().run()


def test_a_typed_result_stands_beside_its_plan(planned: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan")
    fill(at, Result="0.41", Parameters="2M", Note="seed 1")
    send(at)
    assert told(at) == ""
    (kept,) = results.actuals(demo)
    assert (kept.plan_hash, kept.actual) == (planned, Actual(0.41, N=2e6, note="seed 1"))
    plan = results.plan(demo, planned)
    found = Result("Big run", plan, outcome(plan, results.fit(demo, plan.fit), kept.actual))
    _, line = table([found])
    shown = next(t.value for t in at.table if "Actual" in t.value.columns)
    assert shown.iloc[0]["Predicted"] == line[1]
    assert shown.iloc[0]["Result"] == line[5]
    assert any("too few results to judge the intervals" in m.value for m in at.markdown)


@pytest.mark.parametrize(("field", "text", "why"), [
    ("Result", "0", "A loss of 0 cannot be compared with a fit of its logarithm. Give a positive value."),
    ("Result", "-0.4", "A loss of -0.4 cannot be compared with a fit of its logarithm. Give a positive value."),
    ("Parameters", "-2", "N = -2 of the run is not positive. Give the trained value, or leave it out."),
])  # fmt: skip
def test_a_result_that_cannot_be_is_one_sentence(
    planned: str, demo: Database, open_page: Open, field: str, text: str, why: str
) -> None:
    at = open_page("plan")
    fill(at, **{"Result": "0.41", field: text})
    send(at)
    assert told(at) == why
    assert results.actuals(demo) == []


def test_a_metric_is_held_against_its_map(planned: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan")
    next(s for s in at.selectbox if s.label == "Measured quantity").set_value("R_top")
    fill(at, Result="7000")
    send(at)
    assert told(at) == ""
    assert results.actuals(demo)[0].actual == Actual(7000.0, metric="R_top")
    shown = next(t.value for t in at.table if "Actual" in t.value.columns)
    assert "R" in shown.iloc[0]["Predicted"]
    assert shown.iloc[0]["Actual"].startswith("7")


def test_a_run_of_a_table_is_a_result(planned: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan")
    at.segmented_control(key=f"way_{planned}").set_value("Select a run of a table").run()
    first = tables.by_name(demo, DEMOS[0].name)
    next(s for s in at.selectbox if s.key == f"table_{planned}").set_value(first.id).run()
    send(at)
    assert told(at) == ""
    runs = snapshots.runs(demo, snapshots.take(demo, first.id))
    (kept,) = results.actuals(demo)
    assert kept.actual.value == runs["loss"][-1]
    assert (kept.actual.N, kept.actual.D) == (runs["N"][-1], runs["D"][-1])
    assert kept.actual.note.endswith(f"of {runs.source}")


def test_bad_results_are_one_sentence(planned: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan")
    send(at)
    assert "result" in told(at)
    fill(at, Result="0.41", Parameters="-3")
    send(at)
    assert "N = -3 of the run is not positive" in told(at)
    assert results.actuals(demo) == []


def test_a_result_is_removed_and_restored(planned: str, demo: Database, open_page: Open) -> None:
    key = results.save_actual(demo, planned, Actual(0.41))
    at = open_page("plan")
    at.button(f"remove_{key}").click().run()
    assert results.actuals(demo) == []
    assert "Planned and actual" not in [h.value for h in at.header]
    at.button(f"restore_{key}").click().run()
    assert len(results.actuals(demo)) == 1


def test_a_plan_without_its_fit_says_so(planned: str, demo: Database, open_page: Open) -> None:
    plan = results.plan(demo, planned)
    stray = results.save_plan(demo, replace(plan, fit="0123456789ab"), "Stray")
    results.save_actual(demo, stray, Actual(0.41))
    at = open_page("plan")
    assert not at.exception
    assert any(c.value.startswith("Stray: ") for c in at.caption)
