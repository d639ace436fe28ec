"""Training curves and agreement of metrics on the pages: upload, figures and fits."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo
from tests.app.views.conftest import Open, said, told

SIZES = np.geomspace(1e6, 1e9, 8)
BATCHES = (64, 256, 1024)


def run_table() -> bytes:
    lines = ["run,N,batch_size,loss,recall"]
    lines += [f"n{i}b{b},{n:.6g},{b},{3 - 0.1 * i},{0.1 + 0.05 * i}" for i, n in enumerate(SIZES) for b in BATCHES]
    return "\n".join(lines).encode()


def curve_table() -> bytes:
    """Return loss curves of a Chinchilla law. After S training steps with batch size B, D is ``1000 * B * S``.

    The losses of the largest models rise at the end.
    """
    lines = ["run,step,tokens,val_loss"]
    for i, n in enumerate(SIZES):
        for b in BATCHES:
            for step in np.geomspace(100, 20_000, 40):
                D = 1000 * b * step
                rise = 0.3 * max(step / 10_000 - 1, 0) * (i >= 5)
                lines.append(f"n{i}b{b},{step:.6g},{D:.8g},{1.7 + 400 * n**-0.34 + 2000 * D**-0.37 + rise:.8g}")
    lines += ["gone,1,1000,9"]
    return "\n".join(lines).encode()


@pytest.fixture
def tied(db: Database) -> tuple[TableInfo, TableInfo]:
    table = tables.add(db, run_table(), "runs.csv")
    return table, tables.add(db, curve_table(), "curves.csv", curves_of=table.id)


def test_curves_are_uploaded_to_their_runs(db: Database, open_page: Open) -> None:
    table = tables.add(db, run_table(), "runs.csv")
    at = open_page("data", table=table.id, show="Curves")
    assert "need training curves: one row per point" in said(at)
    box = next(u for u in at.file_uploader if "one row per point" in u.label)
    box.upload("curves.csv", curve_table(), "text/csv").run()
    assert told(at) == ""
    (info,) = tables.curves_of(db, table.id)
    assert (info.kind, tables.roles(db, info.id).step) == ("curves", "step")
    assert [t.name for t in tables.all(db)] == ["runs.csv"]


def test_the_curves_that_are_left_out_are_named(tied: tuple[TableInfo, TableInfo], open_page: Open) -> None:
    at = open_page("data", table=tied[0].id, show="Curves")
    assert told(at) == ""
    assert "25 curves in 961 points; 1 left out." in [c.value for c in at.caption]
    assert "1 curve of runs that are not in the run table or are removed by its filter is left out." in said(at)
    left_out = next(d.value for d in at.dataframe if "Left out" in d.value)
    assert left_out["Run"].tolist() == ["gone"]


def pressed(at: AppTest) -> AppTest:
    next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    return at


@pytest.mark.parametrize(
    ("law", "tab"), [("envelope", "Envelope"), ("threshold", "Cells"), ("critical-batch", "Training steps")]
)
def test_laws_of_curves_are_fitted_and_drawn(
    db: Database, tied: tuple[TableInfo, TableInfo], open_page: Open, law: str, tab: str
) -> None:
    at = open_page("fit", table=tied[0].id, read="curves", law=law, refits="30")
    assert told(at) == ""
    at = pressed(at)
    (saved,) = results.fits(db)
    fitted = results.fit(db, saved.hash)
    assert (saved.law, saved.hash, fitted.data.curves != "") == (law, fitted.hash, True)
    assert tab in [t.label for t in at.tabs]
    assert results.rebuild(db, saved.hash).endswith("to the last digit.")
    assert told(open_page("explore", fit=saved.hash)) == ""
    earlier = open_page("fit", fit=saved.hash, part="Updates" if tab == "Training steps" else tab)
    assert told(earlier) == ""
    assert earlier.session_state["part"] == tab


def test_without_curves_nothing_is_asked(demo: Database, open_page: Open) -> None:
    at = open_page("fit")
    assert "Data to fit" not in [b.label for b in at.segmented_control]


def test_metric_agreement_has_its_tab(tied: tuple[TableInfo, TableInfo], open_page: Open) -> None:
    at = open_page("data", table=tied[0].id, show="Agreement")
    assert told(at) == ""
    assert any("rank correlation" in c.value for c in at.caption)
    at.segmented_control(key="agree_by").set_value("group").run()
    assert "No column gives the group of a run" in told(at)


def test_a_column_of_labels_gives_a_threshold_without_curves(db: Database, open_page: Open) -> None:
    lines = [f"{n:.6g},{d:.6g},{int(n > 300 * d**0.47)}" for n in SIZES / 500 for d in np.geomspace(1e3, 1e6, 6)]
    table = tables.add(db, "\n".join(["N,D,over_score", *lines]).encode(), "cells.csv")
    at = pressed(open_page("fit", table=table.id, law="threshold", refits="30"))
    (saved,) = results.fits(db)
    assert saved.law == "threshold"
    assert "Cells" in [t.label for t in at.tabs]
    assert float(results.fit(db, saved.hash).values["lambda"]) == pytest.approx(0.47, abs=0.1)
