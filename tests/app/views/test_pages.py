"""Tests of every page (empty, with demo tables, from a link), and of all steps from an upload to a plan."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.widgets.inputs import compute_steps
from isoplan.app.views.widgets.stories import bundled_parts
from isoplan.data.catalogue import DEMOS
from isoplan.data.stories import DEMO, DOMAINS, read_fits
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.plan.start import largest_inside
from isoplan.engine.quantities import power10
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, grid, said, told
from tests.stored import add_rows

PAGES = ("home", "story", "data", "fit", "explore", "plan", "recommender", "amplitude")
TITLES = {"home": "Isoplan", "story": DOMAINS[0].story, "amplitude": "Precision"}


@pytest.mark.parametrize("name", PAGES)
def test_an_empty_workspace_has_no_error_and_says_what_to_do(open_page: Open, name: str) -> None:
    at = open_page(name)
    assert told(at) == ""
    assert at.title[0].value == TITLES.get(name, name.capitalize())


@pytest.mark.parametrize("name", PAGES)
def test_the_bundled_tables_open_on_every_page(demo: Database, open_page: Open, name: str) -> None:
    assert told(open_page(name)) == ""


@pytest.mark.parametrize("name", ["fit", "explore", "plan"])
def test_a_link_opens_its_fit(jets: str, open_page: Open, name: str) -> None:
    at = open_page(name, fit=jets)
    assert told(at) == ""
    assert at.query_params["fit"] == jets


def test_the_demo_is_one_click(demo: Database, open_page: Open) -> None:
    at = open_page("home")
    next(b for b in at.button if b.label == "Open the demo").click().run()
    assert told(at) == ""
    assert at.title[0].value == "Plan"
    map, saved = results.fits(demo)
    asked = {"fit": saved.hash, "map": map.hash, "ask": "Target", "target": "5000", **DEMO.prices}
    assert {name: at.query_params[name] for name in asked} == asked
    sentence = at.header[0].value.replace("\N{NO-BREAK SPACE}", " ")
    assert sentence == bundled_parts(demo, DEMO.key).plan.sentence
    assert saved.table_id == tables.by_name(demo, DEMO.demo.name).id
    pictured, _ = read_fits(DEMO)
    found = results.fit(demo, saved.hash)
    assert found.spec == pictured.spec
    assert {name: float(x) for name, x in found.values.items()} == pytest.approx(
        {name: float(x) for name, x in pictured.values.items()}, rel=1e-6
    )


@pytest.mark.parametrize("name", ["data", "fit"])
def test_a_link_whose_table_is_missing_says_so_and_offers_a_box(demo: Database, open_page: Open, name: str) -> None:
    at = open_page(name, table="0123456789ab")
    assert "0123456789ab of this link is not in this workspace" in told(at)
    assert at.file_uploader


@pytest.mark.parametrize("name", ["explore", "plan"])
def test_a_link_whose_fit_is_missing_says_so(demo: Database, open_page: Open, name: str) -> None:
    assert "0123456789ab of this link is not in this workspace" in told(open_page(name, fit="0123456789ab"))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [("plan", "ask", "Nonsense"), ("explore", "figure", "Nonsense"), ("explore", "C", "cheap"), ("fit", "seed", "x")],
)
def test_an_invalid_value_of_a_link_is_named(jets: str, open_page: Open, name: str, key: str, value: str) -> None:
    at = open_page(name, fit=jets, **{key: value})
    assert f"{key} = `{value}`" in said(at)
    assert told(at) == ""


def upload(at: AppTest, content: bytes, name: str) -> AppTest:
    """Upload a file on the page Data."""
    return at.file_uploader[0].upload(name, content, "text/csv").run()


def test_upload_map_fit_plan(db: Database, open_page: Open) -> None:
    at = upload(open_page("data"), grid().replace(b"loss", b"quality"), "mine.csv")
    assert told(at) == ""
    (table,) = tables.all(db)
    assert (table.name, table.rows) == ("mine.csv", 25)
    assert at.query_params["table"] == table.id

    at.selectbox(key=f"role_{table.id}_loss").set_value("quality").run()
    assert told(at) == ""
    assert tables.roles(db, table.id).loss == "quality"

    at = open_page("fit", table=table.id)
    at.number_input(key="refits").set_value(80).run()
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    (saved,) = results.fits(db)
    assert at.query_params["fit"] == saved.hash
    direct = fit(results.fit(db, saved.hash).spec, snapshots.runs(db, snapshots.get(db, saved.snapshot_hash)))
    assert direct.theta.tolist() == results.fit(db, saved.hash).theta.tolist()
    assert direct.values["E"] == pytest.approx(1.5, abs=0.05)

    at = open_page("plan", fit=saved.hash, budget="1e18")
    assert told(at) == ""
    assert "10¹⁸ FLOPs" in sentence(at)
    next(b for b in at.button if b.label == "Save the plan").click().run()
    assert [p.fit_hash for p in results.plans(db)] == [saved.hash]


def sentence(at: AppTest) -> str:
    """Return the sentence with which the page Plan answers."""
    return str(at.header[0].value)


def predicted(at: AppTest) -> float:
    found = re.search(r"expected loss ([\d.]+)", sentence(at))
    assert found, sentence(at)
    return float(found[1])


def test_a_larger_budget_predicts_a_lower_loss(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e14")
    small = predicted(at)
    at.text_input(key="budget").set_value("30 PFLOP").run()
    assert told(at) == ""
    assert predicted(at) < small


def test_a_budget_in_hours_says_how_it_was_read(jets: str, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="2 H200 hours")
    assert told(at) == ""
    assert any("H200" in str(c.value) and "40 %" in str(c.value) for c in at.caption)


def test_explore_moves_with_its_slider(jets: str, open_page: Open) -> None:
    at = open_page("explore", fit=jets)
    before = {m.label: m.value for m in at.metric}
    slider = at.select_slider(key="C")
    slider.set_value(slider.options[2 * len(slider.options) // 3]).run()
    after = {m.label: m.value for m in at.metric}
    assert told(at) == ""
    assert before.keys() == after.keys()
    assert float(after["L* [loss]"]) < float(before["L* [loss]"])


@pytest.mark.parametrize("view", ["Surface", "Iso-FLOP", "Frontier"])
def test_every_view_of_explore_answers_a_budget_and_a_target(jets: str, open_page: Open, view: str) -> None:
    for at, missing in (("Budget", "Compute C [FLOPs]"), ("Target", "L* [loss]")):
        page = open_page("explore", fit=jets, figure=view, at=at)
        assert told(page) == ""
        given = {"Compute C [FLOPs]", "Best size N* [parameters]", "Best data D* [samples]", "L* [loss]", "D* / N*"}
        assert {m.label for m in page.metric} == given - {missing}


def test_published_laws_plan_without_intervals(demo: Database, open_page: Open) -> None:
    at = open_page("plan")
    names = at.selectbox(key="fit_choice").options
    chosen = next(n for n in names if "Table 1" in n and "published" in n)
    at.selectbox(key="fit_choice").select(chosen).run()
    assert told(at) == ""
    assert "without the correlations of its parameters" in said(at)


@pytest.mark.parametrize("law", ["power-N", "power-D", "power-C", "isoflop"])
def test_every_law_fits_shows_and_plans(demo: Database, open_page: Open, law: str) -> None:
    table = next(t for t in tables.all(demo) if t.name.startswith("Recommender, iso-FLOP"))
    at = open_page("fit", table=table.id, law=law, refits="30")
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    fit_hash = at.query_params["fit"]
    for name in ("explore", "plan"):
        assert told(open_page(name, fit=fit_hash)) == ""
    ask = open_page("plan", fit=fit_hash, ask="Target", target="9.9")
    assert "FLOPs" in sentence(ask) or "parameters" in sentence(ask) or "samples" in sentence(ask)


def test_a_metric_where_larger_is_better_is_fitted(demo: Database, open_page: Open) -> None:
    at = open_page("fit", table=tables.by_name(demo, DEMOS[0].name).id, y="R_top", objective="ols", refits="30")
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    assert results.fit(demo, at.query_params["fit"]).data.direction == "max"


def test_a_fit_is_rebuilt_after_rows_were_appended(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, refits="40")
    next(b for b in at.button if b.label == "Fit law").click().run()
    add_rows(db, table.id, pd.DataFrame({"N": [1e7] * 10, "D": [1e9] * 10, "loss": [2.5] * 10}))
    (saved,) = results.fits(db)
    assert "to the last digit" in results.rebuild(db, saved.hash)
    assert told(open_page("fit", table=table.id, fit=saved.hash)) == ""


def test_the_page_fits_what_the_terminal_fits(jets: str, demo: Database) -> None:
    saved = results.fit(demo, jets)
    runs = snapshots.runs(demo, snapshots.get(demo, saved.data.snapshot))
    assert fit(FitSpec(bootstrap=60), runs).theta.tolist() == saved.theta.tolist()


def test_fits_and_plans_are_renamed_deleted_and_restored(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e15")
    next(b for b in at.button if b.label == "Save the plan").click().run()
    (plan,) = results.plans(demo)
    at = open_page("plan", fit=jets)
    form = next(t for t in at.text_input if t.label == "Name")
    form.set_value("For the review")
    next(b for b in at.button if b.label == "Rename").click().run()
    assert [p.name for p in results.plans(demo)] == ["For the review"]
    at.button(key=f"delete_{plan.hash}").click().run()
    assert results.plans(demo) == []
    at.button(key=f"restore_{plan.hash}").click().run()
    assert told(at) == ""
    assert [p.hash for p in results.plans(demo)] == [plan.hash]

    at = open_page("fit", fit=jets)
    at.button(key=f"rebuild_{jets}").click().run()
    assert "to the last digit" in str(at.success[0].value)
    at.button(key=f"delete_{jets}").click().run()
    assert results.fits(demo) == []
    assert "fit" not in at.query_params
    at.button(key=f"restore_{jets}").click().run()
    assert told(at) == ""
    assert [f.hash for f in results.fits(demo)] == [jets]


def test_a_link_with_a_fit_alone_opens_its_table(jets: str, demo: Database, open_page: Open) -> None:
    tables.add(demo, grid(), "newer.csv")
    at = open_page("fit", fit=jets)
    assert at.query_params["table"] == next(f.table_id for f in results.fits(demo))


def test_explore_starts_inside_the_runs(demo: Database, jets: str, open_page: Open) -> None:
    at = open_page("explore", fit=jets)
    fit = results.fit(demo, jets)
    start = compute_steps(fit)[1]
    assert 0.85 * largest_inside(fit) <= start <= largest_inside(fit)
    assert at.select_slider(key="C").value == power10(start, 2)
    assert not [c for c in at.caption if "below each number; beyond the runs" in str(c.value)]
