"""Training curves: stored in their own table, linked to runs by name, in training order, with bad points marked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Curves, Metric, Roles, Runs
from isoplan.engine.store.database.database import Database, memory, open_workspace
from isoplan.engine.store.files.table_files import read_curves, read_runs
from isoplan.engine.store.tables import snapshots, tables

RUNS = "run,N,D,loss,weight,status\na,1e6,1e8,3,1,finished\nb,4e6,2e8,2.5,1,finished\nc,4e6,2e8,2.6,0,finished\n"
RUNS += "d,4e6,1e8,9,1,diverged\ne,1e6,1e8,3,1,crashed\n"
POINTS = "run,step,val_loss\n" + "".join(f"{r},{s},{5 - s / 100}\n" for s in (100, 50, 200) for r in "abcdef")


def tied(points: str, runs: str = RUNS, roles: Roles | None = None) -> Curves:
    with memory() as db:
        table = tables.add(db, runs.encode(), "runs.csv")
        info = tables.add(db, points.encode(), "curves.csv", curves_of=table.id)
        of_table = snapshots.runs(db, snapshots.take(db, table.id))
        return snapshots.curves(db, snapshots.take(db, info.id, roles), of_table)


def test_points_are_gathered_by_run_in_the_order_of_training() -> None:
    curves = tied(POINTS)
    assert curves.names.tolist() == list("abcdef")
    assert curves.of.tolist() == [i for i in range(6) for _ in range(3)]
    assert curves["step"][:6].tolist() == [50, 100, 200] * 2
    assert curves["loss"][:3].tolist() == [4.5, 4.0, 3.0]
    assert curves.starts.tolist() == [0, 3, 6, 9, 12, 15, 18]


def test_runs_say_n_d_and_c_along_their_curves() -> None:
    curves = tied(POINTS)
    assert curves["N"][:6].tolist() == [1e6] * 3 + [4e6] * 3
    assert curves["D"][:6].tolist() == [2.5e7, 5e7, 1e8, 5e7, 1e8, 2e8]
    assert curves["C"][:3].tolist() == [6 * 1e6 * d for d in (2.5e7, 5e7, 1e8)]
    assert any("D is proportional to step" in note for note in curves.notes)


def test_runs_say_of_which_data_set_their_curves_are() -> None:
    head, *rows = RUNS.strip().splitlines()
    sets = [f"{row},{'books' if row[0] == 'a' else 'games'}" for row in rows]
    (category,) = [
        c for name, c in tied(POINTS, "\n".join([f"{head},corpus", *sets])).categories.items() if name == "corpus"
    ]
    assert category.kind == "dataset"
    assert [([*category.values, ""])[code] for code in category.codes] == ["books", "games", "", "", "", ""]


def test_bad_runs_are_marked_and_counted() -> None:
    curves = tied(POINTS)
    assert curves.marks.tolist() == [
        "",
        "",
        "with zero weight",
        "that diverged",
        "that did not finish",
        "of runs that are not in the run table or are removed by its filter",
    ]
    assert "1 curve with zero weight is left out." in curves.notes


def test_a_curve_that_stops_short_of_what_its_run_was_to_train_did_not_finish() -> None:
    runs = "run,N,D,loss,epochs\na,1e6,1e8,3,10\nb,1e6,1e8,3,10\n"
    points = "run,epoch,loss\na,5,4\na,10,3\nb,5,4\nb,9,3\n"
    assert tied(points, runs).marks.tolist() == ["", "that did not finish"]


def test_a_written_nan_is_divergence_and_an_empty_cell_is_not_measured() -> None:
    curves = tied("run,step,loss,acc\na,1,3,\na,2,nan,0.5\nb,1,,0.1\nb,2,inf,0.2\n")
    assert curves["loss"].tolist()[:2] == [3, np.inf]
    assert np.isnan(curves["loss"][2])
    assert np.isinf(curves["loss"][3])
    assert np.isnan(curves["acc"][0])


def test_of_points_at_one_step_the_last_counts() -> None:
    curves = tied("run,step,loss\na,1,3\na,2,2.5\na,2,2.4\na,,1\n")
    assert curves["loss"].tolist() == [3, 2.4]
    assert "1 point was left out: if a run has several points at one step, only the last one is used." in curves.notes
    assert "1 point was left out, because the step is missing." in curves.notes


def test_curves_without_names_are_told_apart_by_what_does_not_change(shared: Path) -> None:
    file = shared / "runs" / "teacher_student_double_descent_epochs.csv"
    nobody = Runs(np.empty(0, np.int64), {}, Roles(), {})
    curves = read_curves(file, nobody, {"metric": "excess"})
    assert curves.names.tolist() == [
        "seed = 0, D = 5000",
        "seed = 1, D = 5000",
        "seed = 0, D = 10000",
        "seed = 1, D = 10000",
    ]
    assert np.diff(curves.starts).tolist() == [204] * 4
    assert "D" not in curves
    assert np.unique(curves["U"]).tolist() == [5000, 10000]
    assert curves.roles.metrics == (Metric(column="excess", direction="min"),)


def test_a_constant_d_is_the_unique_samples_unless_the_table_has_them() -> None:
    note = "D does not change along the curves, so it is used as U, the unique samples of each run."
    points = "run,step,D,loss\na,1,500,4\na,2,500,3\nb,1,800,4\nb,2,800,3\n"
    curves = tied(points, "run,N,loss\na,1e6,3\nb,1e6,3\n")
    assert curves["U"].tolist() == [500, 500, 800, 800]
    assert "D" not in curves
    assert curves.notes[0] == note
    both = tied(points.replace("\n", ",100\n").replace("loss,100", "loss,U"), "run,N,loss\na,1e6,3\nb,1e6,3\n")
    assert (both["U"].tolist(), both["D"].tolist()) == ([100] * 4, [500, 500, 800, 800])
    assert note not in both.notes
    grows = tied(points.replace("2,500", "2,600"), "run,N,loss\na,1e6,3\nb,1e6,3\n")
    assert grows["D"].tolist() == [500, 600, 800, 800]


def test_what_cannot_be_tied_is_said() -> None:
    with pytest.raises(PlannerError, match=r"no column of runs.csv is mapped to run: map its column of run names"):
        tied(POINTS, "N,D,loss\n1e6,1e8,3\n")
    with pytest.raises(PlannerError, match=r"Run 'a' is in more than one row of runs.csv"):
        tied(POINTS, "run,N,D,loss\na,1e6,1e8,3\na,2e6,1e8,3\nb,2e6,1e8,3\n")
    with pytest.raises(PlannerError, match=r"No column of curves.csv measures the training progress"):
        tied("run,loss\na,3\na,2\n")


def test_a_curve_table_is_no_run_table_and_belongs_to_one(db: Database) -> None:
    table = tables.add(db, RUNS.encode(), "runs.csv")
    info = tables.add(db, POINTS.encode(), "curves.csv", curves_of=table.id)
    assert (info.kind, info.runs_id) == ("curves", table.id)
    assert [t.name for t in tables.all(db)] == ["runs.csv"]
    assert [t.name for t in tables.curves_of(db, table.id)] == ["curves.csv"]
    assert tables.roles(db, info.id).step == "step"
    again = tables.add(db, POINTS.encode(), "curves.csv")
    assert (again.kind, again.runs_id, again.known) == ("runs", "", True)
    assert tables.curves_of(db, table.id) == []
    assert tables.roles(db, info.id).step is None
    assert tables.tie(db, again, table.id).kind == "curves"
    with pytest.raises(PlannerError, match="is the run table itself"):
        tables.tie(db, table, table.id)


def test_a_workspace_of_the_first_layout_gets_curves(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as db:
        own = tables.add(db, RUNS.encode(), "runs.csv")

        def age(cursor: object) -> None:
            for table, column in (("tables", "kind"), ("tables", "runs_id"), ("fits", "note")):
                cursor.execute(f"ALTER TABLE {table} DROP COLUMN {column}")  # type: ignore[attr-defined]
            for later in ("actuals", "answers", "cells", "logged", "imports"):
                cursor.execute(f"DROP TABLE {later}")  # type: ignore[attr-defined]
            cursor.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")  # type: ignore[attr-defined]

        db.write(age)
    with open_workspace(tmp_path) as db:
        assert [(t.id, t.kind, t.runs_id) for t in tables.all(db)] == [(own.id, "runs", "")]
        assert tables.add(db, POINTS.encode(), "curves.csv", curves_of=own.id).kind == "curves"


def test_files_are_read_as_curves(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(RUNS)
    (tmp_path / "curves.csv").write_text(POINTS.replace("step", "when").replace("run", "name"))
    runs = read_runs(tmp_path / "runs.csv")
    curves = read_curves(tmp_path / "curves.csv", runs, {"step": "when", "run": "name"})
    assert curves.names.tolist() == list("abcdef")
    assert curves["D"][2] == 1e8
