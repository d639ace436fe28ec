"""Decoding of trials of Optuna, and damaged storages."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.optuna import source as optuna
from isoplan.engine.trackers.optuna.trial import Trial, as_run
from isoplan.engine.trackers.reading import import_runs


def test_values_of_distributions() -> None:
    """Choices are decoded from positions, also from the short form of a distribution."""
    choices = '{"name": "CategoricalDistribution", "attributes": {"choices": ["a", true, 7, null]}}'
    short = '{"type": "categorical", "choices": ["x", "y"]}'
    params = {"one": (2.0, choices), "two": (1.0, choices), "none": (3.0, choices), "three": (1, short)}
    width = {"width": (64.0, '{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 99}}')}
    times = "2024-05-01T12:00:00.5+02:00"
    run = as_run("key", Trial("s", 3, "PRUNED", times, params | width, {}, [], {5: 0.25, 1: float("nan")}))
    assert run.config == {"one": 7.0, "two": True, "three": "y", "width": 64.0}
    assert (run.name, run.state, run.summary, str(run.created)) == ("s 3", "pruned", {}, "2024-05-01 10:00:00.500000")
    assert run.histories["value"].steps.tolist() == [1, 5]


def test_a_journal_that_is_being_written(tmp_path: Path) -> None:
    """The last line is left out if it is not complete. Another wrong line is named."""
    file = tmp_path / "trials.log"
    lines = [
        {"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]},
        {"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": None},
        {"op_code": 7, "worker_id": "w", "trial_id": 0, "step": 1, "intermediate_value": 0.5},
        {"op_code": 6, "worker_id": "w", "trial_id": 0, "state": 1, "values": [0.25]},
        {"op_code": 7, "worker_id": "w", "trial_id": 0, "step": 2, "intermediate_value": 9.0},
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    file.write_text(text + '{"op_code":7,"wor')
    (run,) = optuna.read(str(file), list(optuna.marks(str(file))))
    assert (run.state, run.summary, run.histories["value"].values.tolist()) == ("finished", {"value": 0.25}, [0.5])
    file.write_text(text + '{"op_code":5,"trial_id":[]}\n' + text)
    with pytest.raises(PlannerError, match=r"trials\.log: line 6 is not a record of Optuna\."):
        import_runs(str(file))
    file.write_text('{"op_code":' + "[" * 5_000_000)
    with pytest.raises(PlannerError, match="line 1 is not a record"):
        import_runs(str(file))


def test_damaged_storages(tmp_path: Path) -> None:
    """A wrong distribution, an old version and damaged pages are errors of one sentence."""
    file = tmp_path / "trials.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            """CREATE TABLE studies (study_id, study_name); INSERT INTO studies VALUES (1, 's');
            CREATE TABLE trials (trial_id, number, study_id, state, datetime_start);
            INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE', NULL), (2, 1, 1, 'WAITING', NULL);
            CREATE TABLE trial_params (param_id, trial_id, param_name, param_value, distribution_json);
            CREATE TABLE trial_user_attributes (trial_user_attribute_id, trial_id, key, value_json);
            CREATE TABLE study_system_attributes (study_id, key, value_json);
            CREATE TABLE trial_values (trial_id, objective, value, value_type);
            CREATE TABLE trial_intermediate_values (trial_id, step, intermediate_value);"""
        )
        with pytest.raises(
            PlannerError, match=r"Convert it with: optuna storage upgrade --storage sqlite:///trials\.db"
        ):
            import_runs(str(tmp_path))
        database.execute("ALTER TABLE trial_intermediate_values ADD COLUMN intermediate_value_type")
        assert import_runs(str(file)).tables.rows["run"].to_pylist() == ["s 0"]
        database.execute("INSERT INTO trial_params VALUES (1, 1, 'lr', 0.1, '{\"name\": [')")
        database.commit()
        with pytest.raises(PlannerError, match=r"trials\.db contains a damaged trial: delete the trial with Optuna\."):
            import_runs(str(file))
    file.write_bytes(file.read_bytes()[:4096] + b"\xff" * 40_000)
    with pytest.raises(PlannerError, match=r"trials\.db cannot be read \(.*\): check that"):
        import_runs(str(file), "optuna")
    with pytest.raises(PlannerError, match="contains no storage of Optuna"):
        import_runs(str(tmp_path / ".."), "optuna")
