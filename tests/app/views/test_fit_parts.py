"""The tabs below a fit: each tab opens from a link, names missing data, and shows its results."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.widgets.markdown import escape_markdown
from isoplan.data.catalogue import DEMOS
from isoplan.engine.fitting import FitSpec, fit, read_fit, to_json
from isoplan.engine.laws import get_law
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.app.views.conftest import Open, said, told


def press(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def text(at: AppTest) -> str:
    """Return the Markdown, captions, subheaders and tables of the page as one text."""
    groups = (at.markdown, at.caption, at.subheader, at.table)
    return "\n".join(str(e.value) for group in groups for e in group)


@pytest.fixture
def sweep(demo: Database) -> str:
    """Fit a law to the iso-FLOP minima of the recommender table, save the fit and return the hash of the fit."""
    table = next(t for t in tables.all(demo) if t.name.startswith("Recommender, iso-FLOP"))
    snapshot = snapshots.take(demo, table.id)
    made = fit(FitSpec(law="isoflop", bootstrap=30), snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    return results.save_fit(demo, made, name="Sweep", table_id=table.id)


PARTS = ["Runs and law", "Residuals", "Correlations", "Validation", "Compare laws", "Another fit"]


def test_every_part_opens_from_a_link(jets: str, open_page: Open) -> None:
    at = open_page("fit", fit=jets)
    assert [t.label for t in at.tabs] == PARTS
    for part in PARTS[1:]:
        assert told(open_page("fit", fit=jets, part=part)) == ""


def test_validation_is_made_once_and_kept(jets: str, open_page: Open) -> None:
    at = press(open_page("fit", fit=jets, part="Validation"), "Validate")
    assert told(at) == ""
    assert "runs are left out in turn" in text(at)
    again = open_page("fit", fit=jets, part="Validation")
    assert "runs are left out in turn" in text(again)
    assert not [b for b in again.button if b.label == "Validate"]


def test_a_sweep_shows_the_bias_of_its_parabolas(sweep: str, open_page: Open) -> None:
    at = open_page("fit", fit=sweep)
    assert told(at) == ""
    assert "Bias of the parabolas" in text(at)
    assert "Parabolas through these losses give a =" in text(at)


def test_laws_are_compared(sweep: str, open_page: Open) -> None:
    at = press(open_page("fit", fit=sweep, part="Compare laws"), "Compare laws")
    assert told(at) == ""
    ranking = next(e.proto.body for e in at.get("html") if "isoplan-table" in e.proto.body)
    for title in (get_law("isoflop").title, get_law("chinchilla").title, "Loss over compute (power law)"):
        assert f"<td>{title}</td>" in ranking
    assert "<td>Baseline: nearest run</td>" in ranking
    assert 'title="Law isoflop describes minima, so it has no likelihood' in ranking


def test_the_best_law_is_adopted_in_one_click(sweep: str, demo: Database, open_page: Open) -> None:
    at = press(open_page("fit", fit=sweep, part="Compare laws"), "Compare laws")
    best = next(str(m.value) for m in at.markdown if "predicts the largest runs best" in str(m.value))
    press(at, "Use this law")
    assert told(at) == ""
    made = results.fit(demo, at.query_params["fit"])
    assert best.startswith(escape_markdown(made.law.title))
    assert len(made.resamples) == 30
    assert at.selectbox(key="law_choice").value == made.law.key


def test_two_fits_share_a_figure(jets: str, sweep: str, open_page: Open) -> None:
    at = open_page("fit", fit=jets, part="Another fit")
    at.selectbox(key=f"beside_{jets}").select(sweep).run()
    assert told(at) == ""
    assert "Tints are the 68 %" in text(at)


def test_fits_of_different_things_are_not_drawn_together(jets: str, demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, table.id)
    spec = FitSpec(y="R_top", objective="ols", bootstrap=0)
    other = results.save_fit(demo, fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash), name="R")
    at = open_page("fit", fit=jets, part="Another fit")
    at.selectbox(key=f"beside_{jets}").select(other).run()
    assert "describes loss and the second fit R_top" in told(at)


def test_a_table_too_small_to_validate_says_so(db: Database, open_page: Open) -> None:
    few = b"N,D,loss\n1e6,1e8,6\n2e6,3e8,5\n3e6,2e8,4.4\n4e6,4e8,3.1\n5e6,6e8,2.6\n6e6,9e8,2.2\n"
    table = tables.add(db, few, "small.csv")
    at = press(open_page("fit", table=table.id, refits="0", law="chinchilla"), "Fit law")
    at = press(open_page("fit", fit=at.query_params["fit"], part="Validation"), "Validate")
    assert "The largest runs of this table cannot be predicted from the others" in told(at)
    assert "correlations need refits" in text(open_page("fit", fit=results.fits(db)[0].hash, part="Correlations"))


def test_a_fit_whose_runs_are_elsewhere_says_so(db: Database, jets: str, demo: Database, open_page: Open) -> None:
    away = json.loads(json.dumps(to_json(results.fit(demo, jets), resamples=False, covariance=True)))
    away["data"]["snapshot"] = "0" * 12
    key = results.save_fit(demo, read_fit(away), name="Away")
    for part in ("Residuals", "Validation", "Compare laws"):
        assert "not in this workspace" in text(open_page("fit", fit=key, part=part))
    for part in ("Runs and law", "Correlations"):
        assert told(open_page("fit", fit=key, part=part)) == ""
    assert told(open_page("plan", fit=key, budget="1e15")) == ""
    assert "no interval" not in said(open_page("plan", fit=key, budget="1e15"))


def test_notes_are_kept_with_the_fit(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("fit", fit=jets)
    at.text_area(key=f"note_{jets}").set_value("Left out the diverged runs.").run()
    assert told(at) == ""
    assert [f.note for f in results.fits(demo)] == ["Left out the diverged runs."]
    again = open_page("fit", fit=jets)
    assert again.text_area(key=f"note_{jets}").value == "Left out the diverged runs."
    assert "Left out the diverged runs." in again.dataframe[0].value["Notes"].tolist()


def test_a_card_without_refits_is_loaded_and_planned_with(jets: str, demo: Database, open_page: Open) -> None:
    card = to_json(results.fit(demo, jets), resamples=False, covariance=True)
    card["data"]["snapshot"] = ""
    card["data"]["sha256"] = "1" * 64
    at = open_page("fit")
    at.file_uploader(key="card").upload("jets.json", json.dumps(card).encode(), "application/json").run()
    press(at, "Open jets.json")
    assert told(at) == ""
    plan = open_page("plan", fit=at.query_params["fit"], budget="1e15")
    assert told(plan) == ""
    assert "no interval" not in said(plan)
