"""The page Plan remembers values for each task, and never opens a law of another table."""

from __future__ import annotations

import csv
import io
from typing import Any, cast

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.widgets.cache import published
from isoplan.data.catalogue import DEMOS, path
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, grid, said, told
from tests.app.views.test_scopes import OTHER, fitted, go, links

SIMULATE = "Simulate or repeat"


def of_students(db: Database) -> str:
    """Fit a law without resamples to the bundled teacher-student table, save it and return its hash."""
    name = next(t.name for t in tables.all(db) if t.name.startswith("Teacher and student"))
    return fitted(db, tables.by_name(db, name).id, "Students")


def by_name(start: str) -> str:
    """Return the hash of the published surface law whose name starts with ``start``."""
    return next(
        key for key, (name, law) in published().items() if name.startswith(start) and law.law.name == "chinchilla"
    )


def captions(at: AppTest) -> str:
    return "\n".join(str(c.value) for c in at.caption)


def rows(at: AppTest) -> str:
    return "".join(str(t.value) for t in at.table).replace("\\", "")


def test_a_map_of_another_task_is_not_offered_and_none_survives_a_change_of_task(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    students = of_students(demo)
    at = open_page("plan", fit=students, ask="Target", target="300", map=r_top)
    assert told(at) == ""
    assert at.selectbox(key="map_choice").options == ["loss", "clean"]
    assert "R_top has no map for this fit. The target is loss now." in said(at)
    assert not [h for h in at.header if "R_top" in str(h.value)]
    at = open_page("plan", fit=jets, maps=r_top)
    assert "R_top" in rows(at)
    at.selectbox(key="fit_choice").set_value(students).run()
    assert told(at) == ""
    assert "R_top" not in rows(at)
    assert "maps" not in at.query_params
    at.selectbox(key="fit_choice").set_value(jets).run()
    assert "R_top" in rows(at)
    assert at.query_params["maps"] == r_top


def test_a_target_is_of_the_task_of_the_fit_also_of_a_published_one(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="0.7")
    at.selectbox(key="fit_choice").set_value(by_name("Recommender")).run()
    assert told(at) == ""
    assert at.text_input(key="target").value not in ("", "0.7")
    at.selectbox(key="fit_choice").set_value(jets).run()
    assert at.text_input(key="target").value == "0.7"


def test_a_repeated_law_belongs_to_the_task_of_the_law_of_samples_seen_once(demo: Database, open_page: Open) -> None:
    students = of_students(demo)
    at = open_page("plan", question=SIMULATE)
    first = at.selectbox(key="repeated_choice").value
    assert first is not None
    assert not [name for name in at.selectbox(key="one_pass_choice").options if not name.startswith("Jet")]
    for other in (by_name("Recommender"), students):
        at = open_page("plan", question=SIMULATE, one_pass=other)
        assert told(at) == ""
        assert "This task has no law of repeated samples." in said(at)
        assert at.selectbox(key="repeated_choice").value is None
        assert not [h for h in at.header if "repeated" in str(h.value)]


@pytest.mark.parametrize("key", ["one_pass", "fit"])
def test_a_law_of_an_unknown_task_is_not_compared_with_a_published_law(
    demo: Database, open_page: Open, key: str
) -> None:
    mine = fitted(demo, tables.add(demo, grid(), "grid.csv").id, "Mine")
    at = open_page("plan", question=SIMULATE, **{key: mine})
    assert told(at) == ""
    assert at.selectbox(key="one_pass_choice").value == mine
    assert len(at.selectbox(key="one_pass_choice").options) > 1
    assert at.selectbox(key="repeated_choice").value is None
    assert not at.selectbox(key="repeated_choice").options
    assert (
        "This question needs a second table of the same task, with two columns: U, the number of unique samples"
        in said(at)
    )
    links = [str(one.proto.label) for one in cast(list[Any], at.get("page_link"))]
    assert "Open the example Jets, repeated, widths x numbers of jets (trained)" in links
    assert not at.table


def test_without_own_fits_the_page_states_that_its_laws_are_published(demo: Database, open_page: Open) -> None:
    at = open_page("plan", question=SIMULATE)
    assert told(at) == ""
    assert "No fit of yours answers this question. Shown: the published laws of Jet tagging." in said(at)
    assert at.selectbox(key="one_pass_choice").value in published()
    jets = tables.by_name(demo, DEMOS[0].name)
    fitted(demo, jets.id, "Own")
    assert "No fit of yours" not in said(open_page("plan", question=SIMULATE))


def test_a_power_law_of_samples_seen_is_no_law_of_repeated_samples(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, grid(), "grid.csv")
    mine = fitted(demo, table.id, "Mine")
    snapshot = snapshots.take(demo, table.id)
    power = fit(FitSpec(law="power", axis="D", bootstrap=0), snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    results.save_fit(demo, power, name="Power of D", table_id=table.id)
    at = open_page("plan", question=SIMULATE, one_pass=mine)
    assert told(at) == ""
    assert at.selectbox(key="repeated_choice").options == []
    reason = "Not offered, because these laws do not contain unique samples or repeats: Power of D."
    assert reason in captions(at)
    assert "This question needs a second table of the same task" in said(at)


def test_a_link_to_another_law_of_samples_seen_once_keeps_its_target(demo: Database, open_page: Open) -> None:
    at = open_page("plan", question=SIMULATE, one_pass=of_students(demo))
    jets = by_name("Jet tagging")
    at = go(at, "home")
    at = go(at, "plan", question=SIMULATE, one_pass=jets, reach="0.51")
    assert at.text_input(key="reach").value == "0.51"


def test_simulate_or_repeat_opens_with_the_open_fit_and_says_which_loss_its_target_is(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    at = open_page("plan", fit=jets, ask="Target", map=r_top, target="400")
    at.segmented_control(key="question").set_value(SIMULATE).run()
    assert told(at) == ""
    assert at.selectbox(key="one_pass_choice").value == jets
    runs = list(csv.DictReader(path("demo/jets_grid.csv").read_text(encoding="utf-8").splitlines()))
    near = sorted(runs, key=lambda row: abs(float(row["R_top"]) - 400))[:5]
    low, high = min(float(row["loss"]) for row in near), max(float(row["loss"]) for row in near)
    line = next(c for c in captions(at).splitlines() if c.startswith("Enter the target as a loss here"))
    assert "R_top 400 corresponds to loss" in line.replace("\\", "")
    assert low - 0.02 < float(line.rstrip(".").rpartition(" ")[2]) < high + 0.02


def test_plan_and_explore_of_a_table_without_a_law_say_so_and_leave_it_open(demo: Database, open_page: Open) -> None:
    of_students(demo)
    mine = tables.add(demo, grid(), "swap.csv").id
    at = open_page("data", table=mine)
    for page in ("plan", "explore"):
        at = go(at, page)
        assert told(at) == ""
        assert "swap.csv has no law yet. Suggested: Loss over size and data (Chinchilla)." in said(at).replace("\\", "")
        assert "Choose another law" in links(at)
        assert at.selectbox(key="fit_choice").value is None
        assert "fit" not in at.query_params
    at = go(at, "plan", question="Smaller for longer")
    assert "swap.csv has no law yet." in said(at)
    at = go(at, "data")
    assert at.query_params["table"] == mine


def test_home_offers_what_its_sentence_is_about(demo: Database, open_page: Open) -> None:
    of_students(demo)
    mine = tables.add(demo, grid(), "swap.csv").id
    at = open_page("home")
    assert any("**swap.csv** has no fitted law" in str(m.value) for m in at.markdown)
    assert "Make a plan" not in [b.label for b in at.button]
    next(b for b in at.button if b.label == "Fit a law").click().run()
    assert at.query_params["table"] == mine
    law = fitted(demo, mine, "Mine")
    of_jets = tables.by_name(demo, DEMOS[0].name).id
    fitted(demo, of_jets, "Newer law of another table")
    at = open_page("home")
    assert any("**Mine** is fitted" in str(m.value) for m in at.markdown)
    next(b for b in at.button if b.label == "Make a plan").click().run()
    assert at.query_params["fit"] == law


def test_a_map_to_the_loss_opens_the_law_of_the_loss(demo: Database, open_page: Open) -> None:
    lines = list(csv.reader(io.StringIO(grid().decode())))
    body = [[*lines[0], "accuracy"], *([*row, f"{1 - 0.2 * float(row[2]):.6f}"] for row in lines[1:])]
    mine = tables.add(demo, "\n".join(map(",".join, body)).encode(), "graded.csv").id
    law = fitted(demo, mine, "Law")
    snapshot = snapshots.take(demo, mine)
    spec = FitSpec(law="metric-map", y="loss", axis="accuracy", objective="ols", bootstrap=0)
    back = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    key = results.save_fit(demo, back, name="Loss of accuracy", table_id=mine)
    at = open_page("plan", fit=key)
    assert told(at) == ""
    assert "No law of accuracy" not in said(at)
    assert at.selectbox(key="fit_choice").value == law


def test_maps_of_own_tables_are_offered_to_each_other_and_those_of_bundled_tables_are_not(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    mine = fitted(demo, tables.add(demo, grid(), "grid.csv").id, "Mine")
    at = open_page("plan", fit=jets, ask="Target", target="300", map=r_top)
    at.selectbox(key="fit_choice").set_value(mine).run()
    assert "R_top has no map for this fit. The target is loss now." in said(at).replace("\\", "")
    assert "map_choice" not in at.session_state
    other = tables.add(demo, path("demo/jets_grid.csv").read_bytes() + b"\n", "jets of my own.csv").id
    snapshot = snapshots.take(demo, other)
    spec = FitSpec(law="metric-map", y="R_top", axis="loss", objective="ols-log", bootstrap=40)
    made = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    key = results.save_fit(demo, made, table_id=other)
    at = open_page("plan", fit=mine, ask="Target", target="300", map=key)
    assert at.selectbox(key="map_choice").options == ["loss", "R_top (of other runs)"]
    assert at.selectbox(key="map_choice").value == key


def test_what_is_fitted_stands_in_the_link(demo: Database, open_page: Open) -> None:
    at = open_page("fit", table=tables.by_name(demo, OTHER).id, y="R_top")
    assert at.selectbox(key="y_choice").value == "loss"
    assert at.query_params["y"] == "loss"


def test_values_of_a_link_come_back_to_the_page_and_to_its_address(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e12", device="H100", hour_price="3")
    at = go(at, "home")
    at = go(at, "plan", fit=jets)
    assert at.text_input(key="budget").value == "1e12"
    assert (at.selectbox(key="device").value, at.text_input(key="hour_price").value) == ("H100", "3")
    names = ("budget", "device", "hour_price")
    assert [at.query_params.get(name) for name in names] == ["1e12", "H100", "3"]
