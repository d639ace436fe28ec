"""A saved fit that is opened fills the form: law, column, objective, parameters, table, filter and curves."""

from __future__ import annotations

import pytest

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo
from tests.app.views.conftest import Open, grid, told
from tests.app.views.test_curves import tied
from tests.app.views.test_one_axis import sweep

__all__ = ["sweep", "tied"]


def saved(db: Database, table: TableInfo, spec: FitSpec, where: str = "") -> str:
    snapshot = snapshots.take(db, table.id, filter=snapshots.Filter(where=where))
    made = fit(spec, snapshots.runs(db, snapshot), snapshot=snapshot.hash, where=where)
    return results.save_fit(db, made, name="Kept", table_id=table.id)


@pytest.mark.parametrize(
    "spec",
    [
        FitSpec(law="power", axis="share", objective="ols-log", bootstrap=30, seed=3, fixed={"K": 0.5}),
        FitSpec(law="starvation", axis="share", realised=0.005, bootstrap=0, relative_error=0.01),
        FitSpec(law="power", axis="D", bootstrap=0, prior={"alpha": (0.3, 0.1)}, delta=0.01),
        FitSpec(law="metric-map", axis="loss", y="R", objective="ols", bootstrap=0, interval="percentile"),
    ],
    ids=lambda spec: f"{spec.law}-{spec.axis}",
)
def test_the_form_says_how_the_fit_was_made(db: Database, sweep: TableInfo, open_page: Open, spec: FitSpec) -> None:
    other = tables.add(db, grid(), "grid.csv")
    made = saved(db, sweep, spec, where="share < 0.4")
    at = open_page("fit", table=other.id)
    at.selectbox(key="history").set_value(made).run()
    assert told(at) == ""
    assert (at.query_params["table"], at.query_params["where"]) == (sweep.id, "share < 0.4")
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    assert at.query_params["fit"] == made


def test_what_was_in_the_form_before_is_cleared(db: Database, sweep: TableInfo, open_page: Open) -> None:
    held = saved(db, sweep, FitSpec(law="power", axis="D", bootstrap=0, fixed={"K": 0.5}))
    free = saved(db, sweep, FitSpec(law="power", axis="D", bootstrap=0))
    at = open_page("fit", table=sweep.id)
    box = f"known_{sweep.id}_power-D_K"
    at.selectbox(key="history").set_value(held).run()
    assert at.text_input(key=box).value == "0.5"
    at.selectbox(key="history").set_value(free).run()
    assert at.text_input(key=box).value == ""


def test_a_typed_formula_comes_back_with_its_bounds(db: Database, open_page: Open) -> None:
    table = tables.add(db, grid(), "grid.csv")
    spec = FitSpec(law="formula", formula="E + A/N^alpha", bounds={"E": (0.1, None)}, bootstrap=0)
    made = saved(db, table, spec)
    at = open_page("fit", table=table.id)
    at.selectbox(key="history").set_value(made).run()
    assert at.text_input(key="formula").value == "E + A/N^alpha"
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    assert at.query_params["fit"] == made


def test_a_fit_of_curves_opens_the_curves(db: Database, tied: tuple[TableInfo, TableInfo], open_page: Open) -> None:
    at = open_page("fit", table=tied[0].id, read="curves", law="critical-batch", refits="20")
    next(b for b in at.button if b.label == "Fit law").click().run()
    made = at.query_params["fit"]
    at = open_page("fit", table=tied[0].id)
    at.selectbox(key="history").set_value(made).run()
    assert told(at) == ""
    assert at.segmented_control(key="read").value == "curves"
    assert at.selectbox(key="law_choice").value == "critical-batch"
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert at.query_params["fit"] == made
