"""Laws over a column that the user chose: the pages offer, fit and draw these laws, and open them from a link."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.schema import Metric, Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo
from tests.app.views.conftest import Open, said, told

ROLES = Roles(
    D="D", loss="loss", metrics=(Metric(column="R", direction="max"), Metric(column="updates", direction="min")),
    hyper=("share", "batch"),
)  # fmt: skip


@pytest.fixture
def sweep(db: Database) -> TableInfo:
    """Return a table of twelve runs with different embedder shares.

    The table also has a metric, and the number of training steps to a target. The first run was made with a share of
    0.005, but the table contains a share of 0.
    """
    share, batch, D = np.geomspace(0.005, 0.5, 12), np.geomspace(64, 4096, 12), np.geomspace(1e3, 1e6, 12)
    noise = 1 + 0.001 * np.sin(5 * np.arange(12))
    loss = (2 + 1.5 * share**0.8 + 0.02 * share**-0.6) * noise
    lines = ["share,batch,D,loss,R,updates"]
    shown = np.r_[0.0, share[1:]]
    for row in zip(shown, batch, D, loss, 5e4 * np.exp(-3 * loss) + 2, 1200 + 4e5 / batch, strict=True):
        lines.append(",".join(f"{v:.8g}" for v in row))
    table = tables.add(db, "\n".join(lines).encode(), "sweep.csv")
    tables.set_roles(db, table.id, ROLES)
    return table


@pytest.mark.parametrize(
    ("law", "axis", "y", "words"),
    [
        ("starvation", "share", "loss", "best share is inside the sweep"),
        ("log-parabola", "share", "loss", "best share is"),
        ("critical-batch", "batch", "updates", "critical batch"),
        ("metric-map", "loss", "R", ""),
        ("repetition", "D", "loss", ""),
        ("dimension-bound", "D", "loss", "intrinsic dimension"),
        ("power-D", "", "loss", ""),
    ],
)
def test_a_law_over_a_column_is_fitted_and_drawn(
    db: Database, sweep: TableInfo, open_page: Open, law: str, axis: str, y: str, words: str
) -> None:
    query = {"axis": axis} if axis else {}
    at = open_page("fit", table=sweep.id, law=law, y=y, refits="25", objective="ols-log", **query)
    assert told(at) == ""
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    fit = results.fit(db, at.query_params["fit"])
    assert (fit.law.name, fit.law.axis) == (law.removesuffix("-D"), axis or "D")
    shown = "\n".join(str(m.value) for m in at.markdown) + "\n".join(str(t.value) for t in at.table)
    assert words in shown
    for name in ("explore", "plan"):
        page = open_page(name, fit=at.query_params["fit"])
        assert not page.exception
        assert "Something went wrong" not in "\n".join(str(e.value) for e in page.error)
    assert told(open_page("explore", fit=at.query_params["fit"])) == ""


def test_runs_at_zero_are_fitted_where_the_page_is_told(db: Database, sweep: TableInfo, open_page: Open) -> None:
    at = open_page("fit", table=sweep.id, law="starvation", axis="share", refits="0", objective="ols-log")
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert results.fit(db, at.query_params["fit"]).n == 11
    assert "1 run has share = 0" in said(at)
    at.number_input(key="realised").set_value(0.005).run()
    next(b for b in at.button if b.label == "Fit law").click().run()
    placed = results.fit(db, at.query_params["fit"])
    assert placed.n == 12
    assert placed.spec.realised == 0.005


def test_the_list_says_which_columns_a_law_may_be_over(db: Database, sweep: TableInfo, open_page: Open) -> None:
    at = open_page("fit", table=sweep.id, law="starvation")
    assert at.selectbox(key="axis").options == ["share", "batch", "D"]
    at = open_page("fit", table=sweep.id, law="metric-map", y="R")
    assert at.selectbox(key="axis").options == ["loss", "updates"]
    at = open_page("fit", table=sweep.id, law="chinchilla")
    assert "Loss over size and data (Chinchilla) cannot be fitted to this table" in said(at)


def test_a_rejection_is_fitted_with_the_error_of_each_run(db: Database, open_page: Open) -> None:
    loss = np.linspace(0.45, 0.95, 14)
    rejection = 4e5 * np.exp(-9 * loss) + 20
    error = 0.01 * np.sqrt(rejection / 100)
    cells = [f"{x:.6g},{r * (1 + e * s):.6g},{e:.4g}" for x, r, e, s in zip(
        loss[1:], rejection[1:], error[1:], np.sin(5 * loss[1:] * 99), strict=True
    )]  # fmt: skip
    # The first row contains a loss but no rejection.
    lines = ["loss,R_top,R_top_error", f"{loss[0]},,", *cells]
    table = tables.add(db, "\n".join(lines).encode(), "jets.csv")
    metric = Metric(column="R_top", direction="max")
    tables.set_roles(db, table.id, Roles(loss="loss", metrics=(metric,), hyper=("R_top_error",)))
    query = {"law": "metric-map", "axis": "loss", "y": "R_top", "objective": "ols-log", "relative_error": "R_top_error"}
    at = open_page("fit", table=table.id, refits="25", **query)
    next(b for b in at.button if b.label == "Fit law").click().run()
    made = results.fit(db, at.query_params["fit"])
    assert (made.n, made.spec.relative_error) == (13, "R_top_error")
    assert "1 run has no R_top and cannot be fitted." in said(at)
    for part in ("Residuals", "Runs and law", "Validation"):
        assert "Something went wrong" not in told(open_page("fit", fit=made.hash, part=part))
