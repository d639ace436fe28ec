"""The page Plan with maps from a loss to a metric: those that can be used, and sentences for those that cannot."""

from __future__ import annotations

from dataclasses import replace

from data.catalogue import DEMOS
from engine.fitting import FitSpec, fit
from engine.store import results, snapshots, tables
from engine.store.database import Database
from tests.app.views.conftest import Open, grid, said, told


def test_a_map_that_turns_is_one_sentence(jets: str, demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, table.id)
    spec = FitSpec(law="log-parabola", y="R_top", axis="loss", objective="ols", bootstrap=60)
    turning = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    key = results.save_fit(demo, turning, table_id=table.id)
    at = open_page("plan", fit=jets, ask="Target", target="2000", map=key)
    assert "is not monotone: it turns at loss =" in told(at)
    assert len(at.error) == 1


def test_a_map_without_runs_is_one_sentence(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    mapped = results.fit(demo, r_top)
    printed = replace(mapped, n=0, data=replace(mapped.data, snapshot="elsewhere", ranges={}))
    key = results.save_fit(demo, printed)
    at = open_page("plan", fit=jets, ask="Target", target="2000", map=key)
    assert "The metric R_top has no runs behind its map" in told(at)
    assert len(at.error) == 1


def test_a_metric_that_is_not_here_is_named(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="2000", map="0123456789ab")
    assert "The map 0123456789ab does not go with this law. No such map is saved" in said(at)


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


def test_maps_of_other_runs_are_marked(jets: str, demo: Database, open_page: Open) -> None:
    other = tables.add(demo, grid(), "grid.csv")
    snapshot = snapshots.take(demo, other.id)
    runs = snapshots.runs(demo, snapshot)
    made = fit(FitSpec(law="power", axis="N", bootstrap=0), runs, snapshot=snapshot.hash)
    results.save_fit(demo, made, table_id=other.id)
    mine = next(t for t in tables.all(demo) if t.name.startswith("Recommender, iso-FLOP"))
    snapshot = snapshots.take(demo, mine.id)
    spec = FitSpec(law="metric-map", y="recall@10", axis="loss", objective="ols", bootstrap=40)
    key = results.save_fit(demo, fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash), table_id=mine.id)
    at = open_page("plan", fit=jets, budget="1e16", maps=key)
    assert at.multiselect(key="maps_choice").options == ["recall@10 (of other runs)"]
    assert any("was fitted to other runs" in str(c.value) for c in at.caption)


def test_a_target_of_one_quantity_is_none_of_another(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="4000", map=r_top)
    assert "R\\_top 4000" in str(at.header[0].value)
    at.selectbox(key="map_choice").set_value("").run()
    assert at.text_input(key="target").value == ""
    assert not [h for h in at.header if "reach" in str(h.value)]
    assert "Type a number to see its plan." in [c.value for c in at.caption]


def test_a_target_of_a_map_that_is_not_here_is_not_read_as_a_loss(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, ask="Target", target="5000", map="deadbeef")
    assert not at.header
    assert "The map deadbeef does not go with this law" in told(at) + said(at)
    at.text_input(key="target").set_value("0.5").run()
    assert "To reach loss 0.5" in str(at.header[0].value)


def test_a_map_points_to_the_law_that_it_goes_with(jets: str, r_top: str, open_page: Open) -> None:
    at = open_page("plan", fit=r_top)
    assert "what it costs is said by a law of loss" in told(at) + said(at)
    at = open_page("plan", fit=jets, ask="Target", map=r_top)
    assert str(at.text_input(key="target").placeholder).startswith("best run ")
