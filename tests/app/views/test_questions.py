"""Tables that mix datasets, splits, flags or copies of runs: the page asks, and the next fit uses the answer."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, grid, said, told, written
from tests.app.views.test_pages import upload
from tests.engine.fitting.mixtures import DATASETS, three_datasets

THREE = three_datasets().replace("config.dataset", "dataset").encode()
ASKED = "Column 'dataset' has 3 values: comma 85, dclm 85, nemotron 88 runs."


def press(at: AppTest, label: str) -> AppTest:
    next(b for b in at.button if b.label == label).click().run()
    assert told(at) == ""
    return at


def fitted(at: AppTest) -> AppTest:
    at.number_input(key="refits").set_value(0)
    return press(at, "Fit law")


def flagged(name: str, values: str) -> bytes:
    """Return the runs of ``grid`` with an additional column ``name``.

    ``values`` is a text such as "yes/no": its first value is in the first three rows, its second value in all others.
    """
    head, *rows = grid().decode().splitlines()
    first, rest = values.split("/")
    return "\n".join([f"{head},{name}", *(f"{r},{first if i < 3 else rest}" for i, r in enumerate(rows))]).encode()


def test_data_sets_are_asked_about_after_the_upload_until_there_is_an_answer(db: Database, open_page: Open) -> None:
    at = upload(open_page("data"), THREE, "three.csv")
    assert told(at) == ""
    assert ASKED in written(at)
    assert {"One law each", "Only comma", "Only dclm", "Only nemotron", "All as one"} <= {b.label for b in at.button}
    assert ASKED in written(open_page("data"))
    (table,) = tables.all(db)
    press(at, "All as one")
    assert ASKED not in written(at)
    assert tables.roles(db, table.id).pooled == ("dataset",)
    press(at, "Ask again")
    assert ASKED in written(at)


def test_one_press_on_data_fits_one_law_to_each_data_set(db: Database, open_page: Open) -> None:
    at = press(press(upload(open_page("data"), THREE, "three.csv"), "One law each"), "Fit law")
    assert at.title[0].value == "Fit"
    assert sorted(one.name.rpartition(", ")[2] for one in results.fits(db)) == sorted(DATASETS)
    assert at.query_params["fit"] in {one.hash for one in results.fits(db)}


def test_only_one_data_set_is_a_filter_of_the_link(db: Database, open_page: Open) -> None:
    at = press(upload(open_page("data"), THREE, "three.csv"), "Only dclm")
    assert at.query_params["where"] == "dataset = 'dclm'"
    assert ASKED not in written(at)


def test_one_law_each_saves_a_fit_of_each_and_shows_them_side_by_side(db: Database, open_page: Open) -> None:
    table = tables.add(db, THREE, "three.csv")
    at = open_page("fit", table=table.id)
    assert ASKED in written(at)
    assert "One law is fitted to all runs" in said(fitted(at))
    press(at, "One law each")
    fitted(at)
    assert "One law is fitted to all runs" not in said(at)
    saved = [f for f in results.fits(db) if f.name.endswith(tuple(DATASETS))]
    found = {results.fit(db, f.hash).data.group: results.fit(db, f.hash) for f in saved}
    for name, (_, truth) in DATASETS.items():
        assert float(found[name].values["E"]) == pytest.approx(truth["E"], abs=0.03)
    shown = next(t.value for t in at.table if "nemotron" in t.value)
    assert list(shown.columns)[1:] == list(DATASETS)
    assert list(shown.iloc[0])[1:] == ["85", "85", "88"]
    assert str(shown.iloc[1, 1]).startswith(f"{found['comma'].values['E']:.2f}"[:4])
    assert [t.label for t in at.tabs][:2] == ["All groups", "Runs and law"]
    at = open_page("fit", fit=found["nemotron"].hash, table=table.id)
    assert told(at) == ""
    assert next(c for c in at.segmented_control if c.key == "group_choice").value == "nemotron"


def test_pressing_fit_again_opens_what_is_saved(db: Database, open_page: Open) -> None:
    table = tables.add(db, THREE, "three.csv")
    at = fitted(press(open_page("fit", table=table.id), "One law each"))
    before = len(results.fits(db))
    press(at, "Fit law")
    assert len(results.fits(db)) == before == 3


@pytest.mark.parametrize(
    ("name", "values", "button", "reason"),
    [
        ("outlier", "true/false", "Leave out 3 runs", "flagged outlier = true"),
        ("is_outlier", "1/0", "Leave out 3 runs", "flagged is_outlier = 1"),
        ("best_lr_per_N_D", "0/1", "Leave out 3 runs", "flagged best_lr_per_N_D = 0"),
    ],
)
def test_flagged_runs_are_left_out_with_a_reason(
    name: str, values: str, button: str, reason: str, db: Database, open_page: Open
) -> None:
    at = upload(open_page("data"), flagged(name, values), "flags.csv")
    assert f"3 of 25 runs have {name}" in written(at)
    press(at, button)
    (table,) = tables.all(db)
    assert [(row, why) for row, why, _ in tables.withdrawn(db, table.id)] == [(i, reason) for i in range(3)]
    assert button not in {b.label for b in at.button}
    at = open_page("data", table=table.id, show="Runs")
    press(at, "Bring all back")
    assert tables.withdrawn(db, table.id) == []
    assert button in {b.label for b in at.button}


def test_a_split_is_fitted_on_train_alone(db: Database, open_page: Open) -> None:
    at = upload(open_page("data"), flagged("split", "test/train"), "split.csv")
    press(at, "Fit on split = train")
    assert at.query_params["where"] == "split = 'train'"


def test_copies_are_left_out_with_a_reason(db: Database, open_page: Open) -> None:
    head, *rows = grid().decode().splitlines()
    at = upload(open_page("data"), "\n".join([head, *rows, *rows[:7]]).encode(), "copies.csv")
    press(at, "Leave out 7 copies")
    (table,) = tables.all(db)
    assert [(row, why) for row, why, _ in tables.withdrawn(db, table.id)] == [
        (i, "copy of another run") for i in range(25, 32)
    ]


def test_copies_are_kept_and_no_longer_asked_about(db: Database, open_page: Open) -> None:
    head, *rows = grid().decode().splitlines()
    at = upload(open_page("data"), "\n".join([head, *rows, *rows[:7]]).encode(), "copies.csv")
    press(at, "Keep all")
    (table,) = tables.all(db)
    assert tables.withdrawn(db, table.id) == []
    assert not [b for b in at.button if b.label == "Leave out 7 copies"]
    assert "Each copy of a run counts as a run." in written(at)
    assert "open question" not in written(at)
    press(at, "Ask again")
    assert [b for b in at.button if b.label == "Leave out 7 copies"]
    press(press(at, "Keep all"), "Fit law")
    (saved,) = results.fits(db)
    assert results.fit(db, saved.hash).n == 32


def test_a_table_of_one_law_is_asked_nothing(db: Database, open_page: Open) -> None:
    at = upload(open_page("data"), grid(), "one.csv")
    assert not [b for b in at.button if (b.key or "").startswith(("each_", "out_", "pool_", "drop_", "keep_"))]


def test_another_column_by_which_the_residuals_differ_is_asked_about_after_the_fit(
    db: Database, open_page: Open
) -> None:
    """Runs with the two values of the column ``optimiser`` differ by 3 % in their loss. The noise is 0.5 %.

    The name of the column does not suggest a dataset, so only the residuals of the fit show the difference.
    """
    rng = np.random.default_rng(4)
    lines = ["run,N,D,loss,optimiser"]
    for i, (N, D) in enumerate((N, D) for N in np.geomspace(1e6, 1e9, 8) for D in np.geomspace(1e8, 1e11, 8)):
        which = ("adam", "lion")[int(rng.integers(2))]
        loss = (1.8 + 400 / N**0.34 + 2000 / D**0.37) * np.exp(0.005 * rng.normal()) * (1.03 if which == "lion" else 1)
        lines.append(f"r{i},{N:.6g},{D:.6g},{loss:.6f},{which}")
    table = tables.add(db, "\n".join(lines).encode(), "mixed.csv")
    at = open_page("fit", table=table.id)
    assert "optimiser" not in written(at)
    fitted(at)
    assert "'optimiser'" in said(at)
    assert {"One law each", "Only adam", "Only lion", "All as one"} <= {b.label for b in at.button}
    press(at, "All as one")
    assert tables.roles(db, table.id).pooled == ("optimiser",)
    fitted(at)
    assert "Only lion" not in {b.label for b in at.button}


def test_a_sweep_of_another_setting_is_left_out_by_a_filter(db: Database, open_page: Open) -> None:
    rows = "".join(f"{n:g},{d:g},64,{3 + n**-0.1 + d**-0.1:.5g}\n" for n in (1e6, 4e6, 1e7) for d in (1e8, 4e8, 1e9))
    rows += "".join(f"4e6,4e8,{k},{3.1 - k / 1e4:.5g}\n" for k in (16, 32, 128))
    at = upload(open_page("data"), f"N,D,negatives,loss\n{rows}".encode(), "sweep.csv")
    asked = "3 of 12 runs vary negatives at fixed sizes. The other runs have negatives = 64."
    assert asked in written(at)
    press(at, "Fit on negatives = 64")
    assert at.query_params["where"] == "negatives = 64"
    assert asked not in written(at)
    assert any("9 of 12 runs" in str(m.value) for m in at.markdown)
