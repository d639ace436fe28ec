"""Units, rows of one run and formulas in the terminal: what the options do, what is said, what the JSON keeps."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.store.usual.conftest import RUNS, history

FIT = ("--law", "chinchilla", "--bootstrap", 0)


def test_a_unit_is_refused_then_converted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame({"Params (M)": RUNS.N / 1e6, "D": RUNS.D, "loss": RUNS.loss}).to_csv(path, index=False)
    one_sentence(run("fit", path, *FIT), "--convert 'Params (M)' in the terminal")
    found = run("fit", path, *FIT, "--convert", "Params (M)", "--json")
    assert "N is read from column 'Params (M)' in millions." in found.err
    assert object_in(found.out)["data"]["roles"]["reading"] == "Params (M): millions"
    one_sentence(run("fit", path, *FIT, "--convert", "Params (M):smoots"), "'smoots' is unknown")


def test_a_formula_gives_samples(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame(
        {"N": RUNS.N, "steps": RUNS.D / 2**20, "batch_size": 2**9, "seq_len": 2**11, "loss": RUNS.loss}
    ).to_csv(path, index=False)
    one_sentence(run("fit", path, *FIT), "--derive 'D = steps * batch_size * seq_len'")
    found = run("fit", path, *FIT, "--derive", "D = steps * batch_size * seq_len", "--json")
    assert object_in(found.out)["data"]["roles"]["reading"] == "D = steps * batch_size * seq_len"
    assert "D is computed as steps * batch_size * seq_len." in found.err


def test_rows_of_a_run_are_chosen(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history().to_csv(path, index=False)
    found = run("fit", path, *FIT, "--json")
    assert object_in(found.out)["n"] == 36
    assert "180 rows are points of 36 runs (column 'run')" in found.err
    assert object_in(run("fit", path, *FIT, "--rows", "all", "--json").out)["n"] == 180
