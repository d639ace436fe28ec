"""Import of JSON objects with the settings and results of runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.formats.objects import describe
from isoplan.engine.trackers.plain.json_results import SOURCE
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import KNOWN, check_known, check_law


def test_results_of_scripts(make_store: MakeStore) -> None:
    """Settings, losses, curves and the law are those that were written. A file without metrics is no run."""
    place = make_store("write_json_results.py")
    imported = import_runs(str(place))
    assert imported.title == "JSON results"
    rows = imported.tables.rows
    check_known(rows.drop_columns(["summary.val_loss"]), imported.tables.points, states=False)
    check_law(rows.drop_columns(["summary.val_loss"]))
    check_law(rows)
    first = rows.to_pylist()[0]
    assert first["config.model.layers"] == "[2, 4]"
    assert first["config.optimizer.lr"] == 1e-3
    assert first["summary.top1_acc"] == 0.5
    assert set(imported.marks) == {"package.json", *(f"{run['name']}.json" for run in KNOWN)}

    assert SOURCE.marks(str(place)) == imported.marks
    (file,) = place.glob("*/run 07*.json")
    file.write_text(json.dumps({"N": 1e6, "loss": 2.5}))
    changed = import_runs(str(place), known=imported.marks).tables.rows
    assert changed["run"].to_pylist() == [KNOWN[7]["name"]]
    assert changed["summary.loss"].to_pylist() == [2.5]


def test_parts_of_an_object() -> None:
    """Settings, metrics and curves by the names of objects, by names of values, and by the lengths of lists."""
    found = describe(
        {
            "model": {"params": 1e6, "z_loss_weight": 0.1, "name": "a"},
            "hparams": {"loss": "mse", "map": 3, "betas": [0.9, 0.95]},
            "eval": {"c4": {"ppl": 9.5}, "seconds": 4},
            "results": {"loss": 2, "ok": True, "none": None},
            "acc": 0.5,
            "tokens": [1, 2, 3, 4],
            "curves": {"val": {"loss": [4, 3, None, 2]}, "grad": [1, 1, 1, 1]},
            "train_losses": [5, 4, 3],
            "seeds": [1, 2, 3],
            "log": [{"epoch": 1, "val_bpb": 1.5}, {"epoch": 2, "val_bpb": 1.25}],
            "embedding": [0.5] * 1000,
        }
    )
    assert found.config == {
        "model.params": 1e6,
        "model.z_loss_weight": 0.1,
        "model.name": "a",
        "loss": "mse",
        "map": 3,
        "betas": "[0.9, 0.95]",
        "seeds": "[1, 2, 3]",
    }
    assert found.summary == {"eval.c4.ppl": 9.5, "eval.seconds": 4, "loss": 2, "ok": True, "acc": 0.5}
    assert {name: (h.steps.tolist(), h.values.tolist()) for name, h in found.histories.items()} == {
        "val.loss": ([1, 2, 4], [4, 3, 2]),
        "grad": ([1, 2, 3, 4], [1, 1, 1, 1]),
        "tokens": ([1, 2, 3, 4], [1, 2, 3, 4]),
        "train_losses": ([0, 1, 2], [5, 4, 3]),
        "val_bpb": ([1, 2], [1.5, 1.25]),
        "epoch": ([1, 2], [1, 2]),
    }


def test_values_without_content() -> None:
    """Empty and deep objects, numbers that a float cannot represent, and losses that are not finite."""
    deep: dict[str, Any] = {"loss": 1}
    for _ in range(500):
        deep = {"a": deep}
    found = describe({"a": deep, "b": {}, "c": [], "n": 10**400, "loss": math.nan, "history": [1, "a", {}]})
    assert found.config == {"n": math.inf, "history": '[1, "a", {}]'}
    assert math.isnan(float(found.summary["loss"]))
    assert describe({}).summary == {}


def runs(place: Path) -> dict[str, TrackedRun]:
    """Return the runs in ``place`` by name."""
    return {run.name: run for run in SOURCE.read(str(place), list(SOURCE.marks(str(place))))}


def test_a_folder_for_each_run(tmp_path: Path) -> None:
    """A folder with config.json and results.json is one run; files with other names are runs of their own."""
    contents = {
        "runs/a/config.json": {"N": 1, "label_smoothing_loss": 3},
        "runs/a/results.json": {"loss": 2.0},
        "runs/a/eval_results.json": {"val_loss": 2.5},
        "runs/results_1.json": {"loss": 3.0},
        "runs/results_1_args.json": {"lr": 1},
        "runs/results_2.json": {"loss": 4.0},
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(json.dumps(content))
    assert find_source(str(tmp_path)) is SOURCE
    found = {name: (dict(run.config), dict(run.summary)) for name, run in runs(tmp_path).items()}
    assert found == {
        "runs/a": ({"N": 1, "label_smoothing_loss": 3}, {"loss": 2.0, "val_loss": 2.5}),
        "runs/results_1": ({"lr": 1}, {"loss": 3.0}),
        "runs/results_2": ({}, {"loss": 4.0}),
    }


def test_other_folders_are_not_recognised(tmp_path: Path) -> None:
    """Settings of packages and models contain no loss, and damaged or huge files are not searched."""
    contents = {
        "package.json": {"name": "a", "version": 1, "scripts": {"test": "x"}},
        "config.json": {"hidden_size": 8, "router_aux_loss_coef": 0.01, "loss": 1.0},
        "notebook.json": {"cells": [{"source": ["loss"]}], "nbformat": 4},
        "model.json": {"loss": "mse", "router_aux_loss_coef": 0.01, "loss_weights": [1, 2, 3]},
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "huge.json").write_text('{"loss": 1, "a": "' + "a" * 5_000_000 + '"}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "cut.json").write_text('{"loss": 2')
    with pytest.raises(PlannerError, match="contains no runs of a known tracker"):
        find_source(str(tmp_path))
    with pytest.raises(PlannerError, match=r"cut\.json is not valid JSON: correct it"):
        runs(tmp_path)
