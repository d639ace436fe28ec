"""Values that a page remembers apply only to one table, one family of cells, one device or one page."""

from __future__ import annotations

from typing import Any, cast

from streamlit.testing.v1 import AppTest

from isoplan.data.catalogue import DEMOS
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, grid, said, told

OTHER = "Recommender, iso-FLOP sweep (simulated)"


def fitted(db: Database, table_id: str, name: str) -> str:
    """Fit a table without resamples, save the fit as ``name`` and return its hash."""
    snapshot = snapshots.take(db, table_id)
    made = fit(FitSpec(bootstrap=0), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
    return results.save_fit(db, made, name=name, table_id=table_id)


def go(at: AppTest, page: str, **query: str) -> AppTest:
    """Follow a link within the session and return the new page."""
    at.query_params.clear()
    at.query_params.update(query)
    return at.switch_page(f"views/{page}.py").run()


def labels(at: AppTest) -> list[str]:
    return [str(h.value) for h in at.header]


def links(at: AppTest) -> list[str]:
    """Return the labels of the links to pages."""
    return [str(link.label) for link in cast(list[Any], at.main.get("page_link"))]


def test_a_link_to_another_table_leaves_law_metric_and_fit_of_the_table_before(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    other = tables.by_name(demo, OTHER)
    at = open_page("fit", table=tables.by_name(demo, DEMOS[0].name).id, y="R_top", law="metric-map", fit=r_top)
    assert at.selectbox(key="law_choice").value == "metric-map"
    at = go(at, "home")
    at = go(at, "fit", table=other.id)
    assert told(at) == ""
    assert (at.selectbox(key="y_choice").value, at.selectbox(key="law_choice").value) == ("loss", "isoflop")
    assert "is not available here" not in said(at)
    assert not [text for text in labels(at) if "Jets" in text]
    assert "fit" not in at.query_params


def test_a_table_that_is_opened_again_has_its_own_values_back(jets: str, demo: Database, open_page: Open) -> None:
    first, other = (tables.by_name(demo, name).id for name in (DEMOS[0].name, OTHER))
    at = open_page("fit", table=first, fit=jets)
    at.selectbox(key="y_choice").set_value("R_top").run()
    at.selectbox(key="table_choice").set_value(other).run()
    assert at.selectbox(key="y_choice").value == "loss"
    assert "fit" not in at.query_params
    at.selectbox(key="table_choice").set_value(first).run()
    assert at.selectbox(key="y_choice").value == "R_top"
    assert (at.query_params["fit"], at.query_params["y"]) == (jets, "R_top")


def test_a_fit_that_plan_opens_brings_its_table_to_the_fit_page(jets: str, demo: Database, open_page: Open) -> None:
    mine = tables.add(demo, grid(), "grid.csv")
    own = fitted(demo, mine.id, "Own")
    at = open_page("fit", table=tables.by_name(demo, DEMOS[0].name).id, fit=jets)
    at = go(at, "plan")
    at.selectbox(key="fit_choice").set_value(own).run()
    at = go(at, "fit")
    assert (at.query_params["table"], at.query_params["fit"]) == (mine.id, own)
    assert any("grid.csv" in text for text in labels(at))


def test_the_fit_page_opens_with_the_newest_fit_of_its_table(jets: str, demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, DEMOS[0].name).id
    newer = tables.add(demo, grid(), "grid.csv")
    fitted(demo, newer.id, "Of another table")
    at = open_page("fit", table=table)
    assert at.query_params["fit"] == jets
    assert not [c for c in at.caption if "No fit is open" in str(c.value)]
    at.selectbox(key="history").set_value(None).run()
    assert "fit" not in at.query_params


def test_a_price_belongs_to_its_device(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, device="H100", hour_price="3")
    at.selectbox(key="device").set_value("H200").run()
    assert at.text_input(key="hour_price").value == ""
    at.text_input(key="hour_price").set_value("2").run()
    at.selectbox(key="device").set_value("H100").run()
    assert at.text_input(key="hour_price").value == "3"


def test_a_price_that_is_typed_before_the_device_stays(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets)
    at.text_input(key="hour_price").set_value("3").run()
    at.selectbox(key="device").set_value("H100").run()
    assert at.text_input(key="hour_price").value == "3"
    assert told(at) == ""


def test_pages_do_not_share_fields_that_only_have_one_name(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, question="Simulate or repeat")
    at.text_input(key="reach").set_value("0.5").run()
    at = go(at, "precision")
    assert at.text_input(key="reach").value == "1e-6"
    at = go(at, "recommender")
    assert at.selectbox(key="device").value == "H200"
    at = go(at, "plan")
    assert at.text_input(key="reach").value == "0.5"
    assert at.selectbox(key="device").value is None


def test_the_default_budget_follows_the_fit_and_a_typed_one_belongs_to_its_task(
    jets: str, demo: Database, open_page: Open
) -> None:
    own = fitted(demo, tables.add(demo, grid(), "grid.csv").id, "Own")
    at = open_page("plan", fit=jets)
    start = at.text_input(key="budget").value
    at.selectbox(key="fit_choice").set_value(own).run()
    assert at.text_input(key="budget").value != start
    at.text_input(key="budget").set_value("1e17").run()
    at.selectbox(key="fit_choice").set_value(jets).run()
    assert (at.text_input(key="budget").value, "budget" in at.query_params) == (start, False)
    at.selectbox(key="fit_choice").set_value(own).run()
    assert (at.text_input(key="budget").value, at.query_params["budget"]) == ("1e17", "1e17")
    at.text_input(key="budget").set_value("").run()
    assert at.query_params["budget"] == ""
    assert "Enter a number to see its plan." in [c.value for c in at.caption]


def test_a_target_loss_of_one_table_is_none_of_another(jets: str, demo: Database, open_page: Open) -> None:
    own = fitted(demo, tables.add(demo, grid(), "grid.csv").id, "Own")
    at = open_page("plan", fit=jets, ask="Target", target="0.5")
    at.selectbox(key="fit_choice").set_value(own).run()
    assert at.text_input(key="target").value not in ("", "0.5")
    at.selectbox(key="fit_choice").set_value(jets).run()
    assert at.text_input(key="target").value == "0.5"


def test_home_recommends_a_fit_that_can_be_planned(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    own = tables.add(demo, grid(), "grid.csv")
    law = fitted(demo, own.id, "My law")
    results.save_fit(demo, results.fit(demo, r_top), name="Map", table_id=own.id)
    at = open_page("home")
    assert any("**My law** is fitted" in str(m.value) for m in at.markdown)
    next(b for b in at.button if b.label == "Make a plan").click().run()
    assert at.query_params["fit"] == law
    assert told(at) == ""


def test_home_lists_what_it_counts(demo: Database, open_page: Open) -> None:
    for i in range(7):
        table = tables.add(demo, grid() + f"\n{i + 2}e6,1e9,{3 + i}".encode(), f"mine {i}.csv")
        fitted(demo, table.id, f"Fit {i}")
    at = open_page("home")
    assert told(at) == ""
    names = links(at)
    bundled = [t for t in tables.all(demo) if t.read_only]
    assert "Your run tables (7)" in labels(at)
    assert f"Run tables that come with Isoplan ({len(bundled)})" in labels(at)
    assert "Fits (7)" in labels(at)
    assert sorted(name for name in names if name.startswith("mine")) == [f"mine {i}.csv" for i in range(7)]
    assert sorted(name for name in names if name.startswith("Fit ")) == [f"Fit {i}" for i in range(7)]
    assert len([name for name in names if name in {t.name for t in bundled}]) == len(bundled)
    assert [e.label for e in at.expander] == ["2 older fits", "2 published run tables"]


def test_simulate_or_repeat_offers_laws_of_one_task_and_opens_without_an_error(
    jets: str, demo: Database, open_page: Open
) -> None:
    at = open_page("plan", question="Simulate or repeat", one_pass=jets)
    assert told(at) == ""
    offered = at.selectbox(key="repeated_choice").options
    assert offered
    assert all(name.startswith("Jet tagging: repeated jets") for name in offered)


def test_without_a_repeated_law_the_page_says_so(demo: Database, open_page: Open) -> None:
    mine = fitted(demo, tables.by_name(demo, OTHER).id, "Rec")
    at = open_page("plan", question="Simulate or repeat", one_pass=mine)
    assert told(at) == ""
    assert "This task has no law of repeated samples." in said(at)


def test_home_says_which_address_no_page_has(demo: Database, open_page: Open) -> None:
    at = open_page("home", unknown="presicion")
    assert told(at) == "Address: Isoplan has no page /presicion. Choose a page below."
    assert "Precision" in links(at)


def test_the_fit_page_opens_the_table_that_was_used_last(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("fit")
    assert (at.query_params["table"], at.query_params["fit"]) == (tables.by_name(demo, DEMOS[0].name).id, jets)
    mine = tables.add(demo, grid(), "grid.csv")
    assert open_page("fit").query_params["table"] == mine.id
    fitted(demo, tables.by_name(demo, OTHER).id, "Of another table")
    at = open_page("fit")
    assert at.query_params["table"] == tables.by_name(demo, OTHER).id
