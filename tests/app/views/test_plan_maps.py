"""Maps from a loss to a metric on the page Plan: usable maps are applied, an unusable map gives one error sentence."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from isoplan.data.catalogue import DEMOS, path
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.plan.start import usual_target
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, grid, said, told


def test_a_map_that_turns_is_one_sentence(jets: str, demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, table.id)
    spec = FitSpec(law="log-parabola", y="R_top", axis="loss", objective="ols", bootstrap=60)
    turning = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    key = results.save_fit(demo, turning, table_id=table.id)
    at = open_page("plan", fit=jets, ask="Target", target="2000", map=key)
    assert "is not monotone: its slope changes sign at loss =" in told(at)
    assert len(at.error) == 1


def test_a_map_without_runs_is_one_sentence(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    mapped = results.fit(demo, r_top)
    printed = replace(mapped, n=0, data=replace(mapped.data, snapshot="elsewhere", ranges={}))
    key = results.save_fit(demo, printed, table_id=tables.by_name(demo, DEMOS[0].name).id)
    at = open_page("plan", fit=jets, ask="Target", target="2000", map=key)
    assert "The map of R_top contains no runs" in told(at)
    assert len(at.error) == 1


def test_a_metric_that_is_not_here_is_named(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="2000", map="0123456789ab")
    assert (
        "The map 0123456789ab does not belong to this fit. The target is loss now. No map of this metric is saved"
        in said(at)
    )


def test_a_published_law_says_that_its_map_is_not_and_takes_none(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    at = open_page("plan")
    names = at.selectbox(key="fit_choice").options
    at.selectbox(key="fit_choice").select(next(n for n in names if "Table 1" in n and "published" in n)).run()
    card = at.query_params["fit"]
    card = card[0] if isinstance(card, list) else card
    for query in ({}, {"ask": "Target", "target": "0.6"}, {"ask": "Target", "target": "0.6", "map": r_top}):
        at = open_page("plan", fit=card, **query)
        assert told(at) == ""
        assert any("published without a map from its loss to a metric" in str(c.value) for c in at.caption)
        assert "R_top" not in "".join(str(t.value) for t in at.table)
        assert "map_choice" not in at.session_state
        assert "maps_choice" not in at.session_state


def test_maps_of_other_runs_are_marked_and_those_of_another_task_left_out(
    jets: str, demo: Database, open_page: Open
) -> None:
    other = next(t for t in tables.all(demo) if t.name.startswith("Jets, rejection of QCD against loss"))
    recommender = next(t for t in tables.all(demo) if t.name.startswith("Recommender, iso-FLOP"))
    keys = []
    for table, y in ((other, "R_top"), (recommender, "recall@10")):
        snapshot = snapshots.take(demo, table.id)
        spec = FitSpec(law="metric-map", y=y, axis="loss", objective="ols", bootstrap=40)
        made = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
        keys.append(results.save_fit(demo, made, table_id=table.id))
    at = open_page("plan", fit=jets, budget="1e16", maps=keys[0])
    assert at.multiselect(key="maps_choice").options[:2] == ["R_top (of other runs)", "R_Hbb"]
    assert any("were fitted to different runs" in str(c.value) for c in at.caption)
    at = open_page("plan", fit=jets, budget="1e16", maps=keys[1])
    assert at.multiselect(key="maps_choice").value == []
    assert f"The map {keys[1]} does not belong to this law." in said(at)


def test_a_target_of_one_quantity_is_none_of_another(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="4000", map=r_top)
    assert "R_top 4000" in str(at.header[0].value)
    at.selectbox(key="map_choice").set_value("").run()
    start = f"{usual_target(results.fit(demo, jets)):g}"
    assert at.text_input(key="target").value == start
    assert f"To reach loss {start} " in str(at.header[0].value)
    at.text_input(key="target").set_value("").run()
    assert not [h for h in at.header if "reach" in str(h.value)]
    assert "Enter a number to see its plan." in [c.value for c in at.caption]


def test_a_target_of_a_map_that_is_not_here_is_not_read_as_a_loss(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="5000", map="deadbeef")
    assert "5000" not in str(at.header[0].value)
    assert at.text_input(key="target").value != "5000"
    assert "The map deadbeef does not belong to this fit" in told(at) + said(at)
    at.text_input(key="target").set_value("0.5").run()
    assert "To reach loss 0.5" in str(at.header[0].value)


def test_a_map_opens_on_the_law_of_its_table_with_its_metric_as_target(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    other = tables.add(demo, grid(), "grid.csv")
    snapshot = snapshots.take(demo, other.id)
    newer = fit(FitSpec(bootstrap=0), snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    results.save_fit(demo, newer, name="Newer law of another table", table_id=other.id)
    at = open_page("plan", fit=r_top)
    assert told(at) == ""
    assert (at.selectbox(key="fit_choice").value, at.segmented_control(key="ask").value) == (jets, "Target")
    assert at.selectbox(key="map_choice").value == r_top
    assert [at.query_params[name] for name in ("fit", "map", "ask")] == [jets, r_top, "Target"]
    rows = csv.DictReader(path("demo/jets_grid.csv").read_text(encoding="utf-8").splitlines())
    best = max(float(row["R_top"]) for row in rows)
    assert float(str(at.text_input(key="target").value)) == pytest.approx(best, rel=0.01)
    assert f"Best of your runs: {best:.4g}." in "".join(str(c.value) for c in at.caption)
    at.text_input(key="target").set_value("2000").run()
    assert "R_top 2000" in str(at.header[0].value)


def test_a_map_without_a_law_of_its_table_says_so_and_offers_the_fit(
    jets: str, demo: Database, open_page: Open
) -> None:
    mine = next(t for t in tables.all(demo) if t.name.startswith("Recommender, iso-FLOP"))
    snapshot = snapshots.take(demo, mine.id)
    spec = FitSpec(law="metric-map", y="recall@10", axis="loss", objective="ols", bootstrap=0)
    key = results.save_fit(demo, fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash), table_id=mine.id)
    at = open_page("plan", fit=key)
    assert "Fit a law of loss to the same table." in said(at)
    assert [link.label for link in cast(list[Any], at.main.get("page_link"))] == ["Fit a law of loss"]


def test_a_new_fit_of_the_table_keeps_the_metric_and_another_table_says_that_it_has_none(
    jets: str, r_top: str, demo: Database, open_page: Open
) -> None:
    table = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, table.id)
    again = fit(FitSpec(bootstrap=61), snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    fresh = results.save_fit(demo, again, name="Again", table_id=table.id)
    other = tables.add(demo, grid(), "grid.csv")
    runs = snapshots.runs(demo, snapshots.take(demo, other.id))
    elsewhere = results.save_fit(demo, fit(FitSpec(bootstrap=0), runs), name="Elsewhere", table_id=other.id)
    at = open_page("plan", fit=jets, ask="Target", target="2000", map=r_top)
    at.switch_page("views/fit.py").run()
    at.query_params["fit"] = fresh
    at.switch_page("views/plan.py").run()
    assert at.selectbox(key="map_choice").value == r_top
    assert at.text_input(key="target").value == "2000"
    at.selectbox(key="fit_choice").set_value(elsewhere).run()
    assert "R_top has no map for this fit. The target is loss now." in said(at)
    assert at.text_input(key="target").value == f"{usual_target(results.fit(demo, elsewhere)):g}"


def test_the_details_show_the_metric_against_the_loss(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="2000", map=r_top)
    mapped = results.fit(demo, r_top)
    runs = snapshots.runs(demo, snapshots.get(demo, mapped.data.snapshot))
    rms = float(np.sqrt(np.mean(np.log(runs["R_top"] / mapped.predict({"loss": runs["loss"]})) ** 2)))
    assert "R_top against loss" in [str(h.value).replace("\\", "") for h in at.subheader]
    assert any(f"Single runs scatter by {rms:.1%} (rms)" in str(c.value) for c in at.caption)
