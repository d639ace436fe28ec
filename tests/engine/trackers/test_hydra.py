"""Import of jobs of Hydra."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.plain.hydra import SOURCE, resolved
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import Scalar, TrackedRun
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.event_files import event, scalar
from tests.engine.trackers.event_files import write as write_events
from tests.engine.trackers.known import KNOWN, check_known, check_law


def test_a_multirun(make_store: MakeStore) -> None:
    """Settings with plain references, names from overrides, and losses from the files of each job."""
    place = make_store("write_hydra.py")
    imported = import_runs(str(place))
    assert imported.title == "Hydra"
    rows, points = imported.tables.rows, imported.tables.points
    check_known(rows, points, states=False, names=False)
    check_law(rows)
    table = {row["run"]: row for row in rows.to_pylist()}
    assert list(table) == [f"run=r{i}, tag=a b" for i in range(40)]
    job = table["run=r7, tag=a b"]
    assert job["config.size"] == job["config.run.params"] == KNOWN[7]["params"]
    assert job["config.title"] == "lr 0.001"
    assert [job[f"config.{name}"] for name in ("home", "copy", "directory")] == [
        "${oc.env:HOME}",
        "${run}",
        "${hydra:runtime.cwd}",
    ]
    assert job["config.seconds"] == 3.5
    assert "config.seed" not in rows.column_names
    assert points.column_names[2:] == ["val_loss", "lr"]

    assert SOURCE.marks(str(place)) == imported.marks
    (file,) = place.glob("multirun/*/*/7/metrics.csv")
    with file.open("a") as opened:
        opened.write("100,1.5,0.1\r\n")
    changed = import_runs(str(place), known=imported.marks).tables
    assert changed.rows["run_id"].to_pylist() == [file.parent.relative_to(place).as_posix()]
    assert changed.points["val_loss"].to_pylist()[-1] == 1.5


def write_job(folder: Path, config: str, overrides: str = "[]") -> None:
    """Write the files of a job of Hydra."""
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra/config.yaml").write_text(config)
    (folder / ".hydra/overrides.yaml").write_text(overrides)
    (folder / ".hydra/hydra.yaml").write_text("hydra: {loss: 1}\n")


def runs(place: Path) -> dict[str, TrackedRun]:
    """Return the runs in ``place`` by run id."""
    return {run.id: run for run in SOURCE.read(str(place), list(SOURCE.marks(str(place))))}


def test_metrics_in_event_files(tmp_path: Path) -> None:
    """The settings are those of Hydra, and the losses are those that TensorBoard logged in the folder of the job."""
    write_job(tmp_path / "0", "size: 8\n", "['size=8']")
    write_job(tmp_path / "1", "size: 9\n", "['size=9']")
    losses = [event(step, scalar("val_loss", 4.0 - step)) for step in range(4)]
    write_events(tmp_path / "0/tb", *losses[:3])
    before = SOURCE.marks(str(tmp_path))
    found = runs(tmp_path)
    assert found["0"].name == "size=8"
    assert found["0"].config == {"size": 8.0}
    assert found["0"].histories["val_loss"].values.tolist() == [4.0, 3.0, 2.0]
    assert found["1"].histories == {}
    write_events(tmp_path / "0/tb", *losses)
    assert {key for key, mark in SOURCE.marks(str(tmp_path)).items() if mark != before[key]} == {"0"}


def test_files_of_a_job(tmp_path: Path) -> None:
    """Files in inner folders belong to the nearest job; hydra.yaml and files that are not metrics do not count."""
    write_job(tmp_path / "outputs/a", "lr: 1\n", "- +lr=1\n- model=b/c\n")
    write_job(tmp_path / "outputs/a/0", "lr: 2\n")
    contents = {
        "csv/version_0/metrics.csv": "epoch,step,val/loss\n0,1,3.0\n",
        "csv/version_0/hparams.yaml": "lr: 9\nmodel/params/total: 5\n",
        "vocabulary.json": "{",
        "predictions.csv": "id,loss\n1,2\n",
        "0/train_log.jsonl": '{"step": 4, "loss": 2.5}\n',
        "0/app.log": "[2026-11-01][main][INFO] - started\n",
    }
    for name, content in contents.items():
        (tmp_path / "outputs/a" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "outputs/a" / name).write_text(content)
    assert find_source(str(tmp_path)) is SOURCE
    found = runs(tmp_path)
    assert {key: (run.name, dict(run.config), list(run.histories)) for key, run in found.items()} == {
        "outputs/a": ("lr=1, model=b/c", {"lr": 1, "model/params/total": 5}, ["epoch", "val/loss"]),
        "outputs/a/0": ("outputs/a/0", {"lr": 2}, ["loss"]),
    }
    assert list(runs(tmp_path / "outputs/a/0")) == ["0"]


def test_references() -> None:
    """Chains are followed; loops, missing settings, escaped references and resolvers stay text."""
    config: dict[str, Scalar] = {
        "a": "${b.c}",
        "b.c": "${d}",
        "d": 2.5,
        "e": "${a}x${d}",
        "f": "${g}",
        "g": "y${f}",
        "h": "${z}",
    }
    texts: dict[str, Scalar] = {
        "i": "${oc.env:d}",
        "j": "\\${d}",
        "k": "${.d}",
        "l": "${oc.decode:${d}}",
        "on": True,
        "m": "${on}",
    }
    assert resolved({**config, **texts}) == {
        **config,
        **texts,
        **{"a": 2.5, "b.c": 2.5, "e": "2.5x2.5", "m": True, "l": "${oc.decode:2.5}"},
    }
    growing = {f"a{i}": f"${{a{i + 1}}}" * 40 for i in range(200)}
    found = resolved({**growing, "a200": "x" * 400})
    assert (found["a0"], found["a199"]) == (growing["a0"], "x" * 500)
    assert max(len(str(value)) for value in found.values()) == 500


def test_damaged_and_hostile_jobs(tmp_path: Path) -> None:
    """Tags of YAML are not executed, and damaged files are named."""
    write_job(tmp_path / "0", "a: !!python/object/apply:os.system ['touch hacked']\n", "lr: 1\n")
    assert runs(tmp_path)["0"].config == {"a": '["touch hacked"]'}
    assert runs(tmp_path)["0"].name == "0"
    (tmp_path / "0/metrics.json").write_text('{"loss": ')
    with pytest.raises(PlannerError, match=r"metrics\.json is not valid JSON"):
        runs(tmp_path)
    (tmp_path / "0/.hydra/config.yaml").write_bytes(b"a: [" + os.urandom(100))
    with pytest.raises(PlannerError, match=r"config\.yaml is not valid YAML"):
        runs(tmp_path)
    assert SOURCE.marks(str(tmp_path / "0/.hydra")) == {}
    assert not SOURCE.recognises(str(tmp_path / "0/.hydra"))
