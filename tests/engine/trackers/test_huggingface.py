"""Import of runs of the Trainer of Hugging Face."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.plain.huggingface import SOURCE
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import KNOWN, check_known, check_law


def test_runs_of_the_trainer(make_store: MakeStore) -> None:
    """One run per folder, with its newest state. Runs that reached their last step are finished."""
    place = make_store("write_huggingface.py")
    imported = import_runs(str(place))
    names = [name.replace("num_parameters", "params") for name in imported.tables.rows.column_names]
    rows = imported.tables.rows.rename_columns(names)
    assert imported.title == "Hugging Face"
    finished = {run["name"] for run in KNOWN if run["state"] == "finished"}
    states = dict(zip(rows["run"].to_pylist(), rows["status"].to_pylist(), strict=True))
    assert states == {run["name"]: "finished" if run["name"] in finished else "unknown" for run in KNOWN}
    unknown = rows.set_column(rows.column_names.index("status"), "status", pa.array(["unknown"] * len(rows)))
    renamed = unknown.drop_columns(["summary.loss", "summary.train_loss"])
    check_known(renamed, imported.tables.points.drop_columns(["loss"]), states=False)
    check_law(rows)
    first = rows.to_pylist()[0]
    assert first["config.n_layer"] == 2
    assert first["config.max_steps"] == 100
    assert first["config.learning_rate"] == 1e-3
    assert first["summary.total_flos"] == 1e14
    assert not (place / "hacked").exists()

    assert SOURCE.marks(str(place)) == imported.marks
    run = next(key for key in imported.marks if key not in finished)
    (checkpoint,) = (place / run).glob("checkpoint-50")
    write_state(checkpoint, 51, [{"loss": 2.0, "step": 51}])
    changed = import_runs(str(place), known=imported.marks)
    assert changed.tables.rows["run"].to_pylist() == [run]
    assert changed.tables.rows["summary.global_step"].to_pylist() == [51]


def write_state(folder: Path, step: int, log: list[Any], most: int = 100) -> None:
    """Write the state of a run at ``step`` of ``most`` steps."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {"global_step": step, "max_steps": most, "log_history": log, "total_flos": 0, "train_batch_size": None}
    (folder / "trainer_state.json").write_text(json.dumps(state))


def only_run(place: Path) -> TrackedRun:
    """Return the only run in ``place``."""
    (run,) = SOURCE.read(str(place), list(SOURCE.marks(str(place))))
    return run


def test_the_newest_state_counts(tmp_path: Path) -> None:
    """Checkpoint 100 is newer than 90, and newer than the state of the folder; a damaged one is left out."""
    write_state(tmp_path / "a/checkpoint-90", 90, [{"loss": 3.0, "step": 90}])
    write_state(tmp_path / "a/checkpoint-100", 100, [{"loss": 2.0, "step": 100}], most=0)
    write_state(tmp_path / "a", 50, [{"loss": 4.0, "step": 50}])
    assert find_source(str(tmp_path)) is SOURCE
    run = only_run(tmp_path)
    assert (run.id, run.state, run.histories["loss"].values.tolist()) == ("a", "unknown", [2.0])
    assert run.summary == {"global_step": 100.0}
    assert run.config == {"max_steps": 0.0}

    file = tmp_path / "a/checkpoint-100/trainer_state.json"
    file.write_text(file.read_text()[:30])
    run = only_run(tmp_path)
    assert run.histories["loss"].values.tolist() == [3.0]
    assert only_run(tmp_path / "a").id == "a"
    assert only_run(tmp_path / "a/checkpoint-90").id == "checkpoint-90"


def test_hostile_states(tmp_path: Path) -> None:
    """Links, pipes and files that are no states: one sentence, or no run."""
    file = tmp_path / "a/trainer_state.json"
    file.parent.mkdir()
    for content, message in (
        (b'{"log_his', "is not valid JSON: correct it"),
        (b"[" * 100_000, "is not valid JSON"),
        (os.urandom(5000), "is not valid JSON"),
        (b'{"log_history": 1}', "has no log_history, so it is not a state of the Trainer"),
    ):
        file.write_bytes(content)
        with pytest.raises(PlannerError, match=message):
            only_run(tmp_path)
    write_state(file.parent, 10, ["text", {"loss": "2", "step": 5}, {"step": None}, {"loss": 1, "lr": "a"}], most=10)
    run = only_run(tmp_path)
    assert (list(run.histories), run.state) == (["loss"], "finished")
    assert (run.histories["loss"].steps.tolist(), run.histories["loss"].values.tolist()) == ([5], [1])
    file.unlink()
    os.mkfifo(file)
    assert SOURCE.marks(str(tmp_path)) == {}
