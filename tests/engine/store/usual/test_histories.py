"""Tables with several rows per run: the rows are a training curve, and the last or best row represents the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.table_files import read_curves, read_runs
from isoplan.engine.store.tables import snapshots, tables
from tests.engine.store.usual.conftest import RUNS, Write, check, history


@pytest.mark.parametrize("run", ["run", "run_id", "Run Name", "name"])
def test_rows_of_one_run_are_its_curve(run: str, write: Write, right: dict[str, float]) -> None:
    table = history().rename(columns={"run": run}).sample(frac=1, random_state=1)
    runs = read_runs(write(**table))
    assert any("180 rows are points of 36 runs" in note and "logged last" in note for note in runs.notes)
    check(runs, right)
    assert len(read_runs(write(**table), rows="all")) == 180


def test_the_rows_are_the_curves_of_the_runs_too(write: Write) -> None:
    table = history().rename(columns={"D": "Tokens (B)"})
    table["Tokens (B)"] /= 1e9
    path = write(**table)
    runs = read_runs(path, agreed=("Tokens (B)",))
    curves = read_curves(path, runs)
    assert (len(curves), len(curves.of)) == (36, 180)
    last = dict(zip(curves.names.tolist(), curves["D"][curves.starts[1:] - 1], strict=True))
    assert [last[name] for name in runs.labels["run"].tolist()] == pytest.approx(runs["D"])


def test_the_rows_of_an_upload_become_curves(workspace: Database) -> None:
    info = tables.add(workspace, history().to_csv(index=False).encode(), "history.csv")
    assert tables.roles(workspace, info.id).rows == "last"
    found = tables.curves_within(workspace, info.id)
    assert (found.kind, found.runs_id) == ("curves", info.id)
    assert tables.get(workspace, info.id).kind == "runs"
    runs = snapshots.runs(workspace, snapshots.take(workspace, info.id))
    assert len(snapshots.curves(workspace, snapshots.take(workspace, found.id), runs)) == len(runs) == 36


def test_the_best_row_of_a_run_can_be_chosen(write: Write) -> None:
    table = history()
    table.loc[table.step == 1000, "loss"] += 5
    runs = read_runs(write(**table), rows="best")
    assert runs["D"] == pytest.approx(RUNS.D * 0.8)
    assert any("with the smallest loss" in note for note in runs.notes)


def test_rows_without_a_loss_do_not_hide_the_last_loss(write: Write, right: dict[str, float]) -> None:
    late = history()
    late = pd.concat([late, late[late.step == 1000].assign(step=1001, loss=np.nan)])
    check(read_runs(write(**late)), right)


def test_a_grid_with_named_models_is_no_history(write: Write, right: dict[str, float]) -> None:
    steps = (RUNS.D / 1e6).round()
    table = RUNS.assign(model_name=[f"m{n:.0f}" for n in RUNS.N], steps=steps)
    check(read_runs(write(**table)), right)
    check(read_runs(write(**RUNS.assign(run=range(36), steps=steps))), right)


def test_a_history_by_epochs(write: Write, right: dict[str, float]) -> None:
    table = history().rename(columns={"step": "epoch"})
    check(read_runs(write(**table)), right)


def test_a_million_rows_of_history_are_read_in_one_pass(write: Write, tmp_path: Path) -> None:
    n, each = 1_000_000, 1000
    run = np.repeat(np.arange(n // each), each)
    table = pd.DataFrame({"run": run, "step": np.tile(np.arange(each), n // each), "N": 1e6 * (run % 7 + 1),
                          "Tokens (B)": np.tile(np.arange(1, each + 1) / 500, n // each), "loss": 3.0})  # fmt: skip
    path = tmp_path / "long.parquet"
    table.to_parquet(path)
    runs = read_runs(path, agreed=("Tokens (B)",))
    assert len(runs) == n // each
    assert set(runs["D"]) == {2e9}


@pytest.mark.parametrize("run", ["model", "config", "group", "job_id", "uid", "sweep", "ckpt_dir", "notes"])
def test_other_columns_may_tell_runs_apart(run: str, write: Write, right: dict[str, float]) -> None:
    table = history().rename(columns={"run": run}).sample(frac=1, random_state=1)
    runs = read_runs(write(**table))
    assert runs.roles.run == run
    assert any(f"180 rows are points of 36 runs (column '{run}')" in note for note in runs.notes)
    check(runs, right)


def test_numbers_that_name_jobs_tell_runs_apart(write: Write, right: dict[str, float]) -> None:
    table = history()
    table["job_id"] = table.pop("run").str.slice(1).astype(int) + 4711
    check(read_runs(write(**table)), right)


def test_runs_without_a_name_are_told_apart_by_their_size_and_final_samples(
    write: Write, right: dict[str, float]
) -> None:
    table = history().drop(columns="run")
    table["D"] = np.repeat(RUNS.D.to_numpy(), 5)
    runs = read_runs(write(**table))
    assert any("180 rows are points of 36 runs (equal N and D)" in note for note in runs.notes)
    check(runs, right)


@pytest.mark.parametrize("step", ["step", "epoch", "global_step", "iteration"])
def test_steps_without_a_name_of_runs_are_named(step: str, write: Write) -> None:
    runs = read_runs(write(**history().drop(columns="run").rename(columns={"step": step})))
    assert len(runs) == 180
    (note,) = [n for n in runs.notes if "training curves" in n]
    assert f"several rows without run names have the same N while '{step}' changes" in note
    assert "--map run=COLUMN" in note


@pytest.mark.parametrize("run", ["run", "trial", "run_name"])
def test_a_grid_whose_runs_are_named_by_their_size_is_no_history(
    run: str, write: Write, right: dict[str, float]
) -> None:
    names = [f"{n / 1e6:.0f}M" for n in RUNS.N]
    for more in ({}, {"steps": (RUNS.D / 1e6).round()}):
        runs = read_runs(write(**RUNS, **more, **{run: names}))
        (note,) = runs.notes
        assert note.startswith(
            f"Each row counts as a run, although several rows have the same name (column '{run}') while "
        )
        assert "--rows last" in note
        check(runs, right)
    assert len(read_runs(write(**RUNS, **{run: names}), rows="last")) == 6


def test_two_designs_on_one_grid_of_samples_are_no_history(write: Write) -> None:
    twice = pd.concat([RUNS.assign(run="a"), RUNS.assign(run="b")])
    twice["run"] += twice.N.astype(str)
    assert len(read_runs(write(**twice))) == 72


def test_a_sweep_of_batches_is_no_history(write: Write) -> None:
    rows = RUNS.loc[np.repeat(np.arange(36), 4)].reset_index(drop=True)
    batch = np.tile([64, 128, 256, 512], 36)
    table = rows.assign(batch_size=batch, step=(rows.D / batch).round(), loss=rows.loss * (1 + batch / 1e4))
    assert read_runs(write(**table)).roles.rows == "all"


def test_a_history_without_steps_is_still_one(write: Write, right: dict[str, float]) -> None:
    check(read_runs(write(**history().drop(columns="step"))), right)
