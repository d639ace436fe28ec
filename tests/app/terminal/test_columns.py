"""`isoplan columns`: the role of each column, and the reason."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.store.usual.conftest import RUNS, history


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Write a table with a prefix, units in names, two losses, a duration and a text, and return its path."""
    columns = {
        "config.n_params": RUNS.N,
        "tokens (B)": RUNS.D / 1e9,
        "summary/val_ce": RUNS.loss,
        "loss": RUNS.loss - 0.1,
        "wall_hours": 2.0,
        "lr": 1e-3,
        "top1_acc": 0.4,
        "remark [1]\nx": "a",
    }
    path = tmp_path / "odd table.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_each_column_has_its_role_and_the_rule(run: Run, odd: Path) -> None:
    found = object_in(run("columns", odd, "--json").out)
    uses = {one["name"]: (one["role"], one["why"]) for one in found["columns"]}
    assert uses["config.n_params"] == (
        "N",
        "The name suggests the number of parameters ('n_params' is a known name, without the prefix 'config.').",
    )
    role, why = uses["tokens (B)"]
    assert role == "unused"
    assert why.startswith(
        "Column 'tokens (B)' looks like D in billions; tick its conversion on the Data page (--convert"
    )
    assert uses["summary/val_ce"] == (
        "loss",
        "The name suggests a loss ('val' and 'ce' denote a held-out loss, without the prefix 'summary/').",
    )
    assert uses["wall_hours"] == ("time", "The name states the duration of a run in hours.")
    assert uses["lr"] == ("hyperparameter", "The name suggests a hyperparameter (it contains 'lr').")
    assert uses["top1_acc"][1] == "The name suggests a metric (it contains 'acc'); larger is better."
    assert uses["remark [1]\nx"] == ("unused", "Text for which no role is suggested.")
    assert (found["computed"], found["proposed"]) == ({}, {})
    assert "Column 'summary/val_ce' is read as the loss" in found["notes"][0]


def test_the_options_of_fit_change_roles_and_reasons(run: Run, odd: Path) -> None:
    options = ("--convert", "tokens (B)", "--map", "loss=loss", "--json")
    found = object_in(run("columns", odd, *options).out)
    uses = {one["name"]: (one["role"], one["why"], one["conversion"]) for one in found["columns"]}
    tokens = "The name suggests the samples seen ('tokens' is a known name). It is read in billions."
    assert uses["tokens (B)"] == ("D", tokens, "billions")
    assert uses["loss"][:2] == ("loss", "The mapping names this column.")
    assert uses["summary/val_ce"][0] == "unused"
    assert uses["summary/val_ce"][1].endswith("Column 'loss' is read instead.")
    assert found["computed"] == {"C": "6 N D"}


def test_the_text_is_a_table_and_the_roles_without_a_column(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    pd.DataFrame({"N": RUNS.N, "steps": RUNS.D, "batch_size": 8, "loss": RUNS.loss}).to_csv(path, index=False)
    lines = run("columns", path).out.splitlines()
    assert lines[0].split() == ["column", "kind", "example", "role", "reason"]
    assert [line.split()[0] for line in lines[1:5]] == ["N", "steps", "batch_size", "loss"]
    assert lines[-2] == "D: no column. Compute it with --derive 'D = steps * batch_size'."
    derived = run("columns", path, "--derive", "D = steps * batch_size").out
    assert "It is used in the formula D = steps * batch_size." in derived
    assert derived.splitlines()[-2:] == ["D: computed as steps * batch_size.", "C: computed as 6 N D."]


def test_rows_of_training_curves_name_their_run_and_their_step(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    history().to_csv(path, index=False)
    roles = {one["role"]: one["why"] for one in object_in(run("columns", path, "--json").out)["columns"]}
    assert roles["step"] == "It orders the rows of a run."


def test_a_wrong_column_is_one_sentence(run: Run, odd: Path) -> None:
    one_sentence(run("columns", odd, "--map", "N=parms"), "Column 'parms' for N is not in the table")
    one_sentence(run("columns", odd.with_name("none.csv")), "There is no file")
