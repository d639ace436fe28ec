"""Import of logs of JSON objects."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.catalogue import find_source
from isoplan.engine.trackers.plain.json_lines import SOURCE
from isoplan.engine.trackers.reading import import_runs
from isoplan.engine.trackers.run import TrackedRun
from tests.engine.trackers.conftest import MakeStore
from tests.engine.trackers.known import KNOWN, check_known, check_law


@pytest.mark.parametrize("layout", ["logs", "folders"])
def test_logs_of_scripts(make_store: MakeStore, layout: str) -> None:
    """One run per log with its settings inside, or per folder with settings and results in other files."""
    place = make_store("write_json_lines.py", layout)
    imported = import_runs(str(place))
    assert imported.title == "JSON lines"
    rows, points = imported.tables.rows, imported.tables.points
    check_known(rows, points, states=False)
    check_law(rows)
    first = rows.to_pylist()[0]
    assert first["config.bf16"] is True
    assert points.column_names[2:] == (["val.loss", "lr"] if layout == "logs" else ["val_loss"])
    assert first.get("summary.eval.top1_acc") == (None if layout == "logs" else 0.5)

    assert SOURCE.marks(str(place)) == imported.marks
    file = next(place.glob("*/*.log" if layout == "logs" else "*/*/metrics.jsonl"))
    with file.open("a") as opened:
        opened.write('{"step": 500, "loss": 1.5}\n')
    changed = import_runs(str(place), known=imported.marks)
    assert changed.tables.rows["run"].to_pylist() == [
        run["name"] for run in KNOWN if run["name"] in str(file.relative_to(place))
    ]
    assert changed.tables.rows["summary.loss"].to_pylist() == [1.5]


def runs(place: Path) -> dict[str, TrackedRun]:
    """Return the runs in ``place`` by name."""
    return {run.name: run for run in SOURCE.read(str(place), list(SOURCE.marks(str(place))))}


def test_which_files_belong_to_a_run(tmp_path: Path) -> None:
    """Settings beside a log, logs with general names in one folder, and logs without runs."""
    record = json.dumps({"step": 1, "loss": 2.0}) + "\n"
    contents = {
        "flat/a.jsonl": record,
        "flat/a.json": json.dumps({"args": {"lr": 1}, "final": {"val_loss": 1.9}}),
        "flat/b.jsonl": record,
        "flat/b_config.json": json.dumps({"lr": 2}),
        "flat/config.json": json.dumps({"lr": 9}),
        "flat/server.log": "2026-11-01 INFO started\n",
        "lr0.1/train_log.jsonl": record,
        "lr0.1/val.jsonl": record.replace("2.0", "2.5"),
        "lr0.1/args.json": json.dumps({"lr": 3, "steps": 7}),
        "alone/c.jsonl": record,
        "alone/params.txt": "lr: 4\nnote: a: b\nempty:\n",
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert find_source(str(tmp_path)) is SOURCE
    found = runs(tmp_path)
    assert {name: dict(run.config) for name, run in found.items()} == {
        "alone/c": {"lr": 4, "note": "a: b"},
        "flat/a": {"lr": 1},
        "flat/b": {"lr": 2},
        "lr0.1": {"lr": 3, "steps": 7},
    }
    assert found["flat/a"].summary == {"val_loss": 1.9}
    assert {name: history.values.tolist() for name, history in found["lr0.1"].histories.items()} == {
        "train_log_loss": [2.0],
        "val_loss": [2.5],
    }


def test_settings_and_results_inside_a_log(tmp_path: Path) -> None:
    """The first objects are settings, although they contain a number of steps; a last object without a step counts."""
    lines = [
        {"level": "INFO", "message": "start"},
        {"lr": 0.1, "steps": 100, "params": 1e6, "message": "settings"},
        {"step": 1, "loss": 3},
        {"level": "INFO", "message": "saved", "seconds": 4},
        {"step": 2, "loss": 2},
        {"summary": {"final_loss": 1.5, "best": "yes"}},
    ]
    (tmp_path / "a b.jsonl").write_text("\n".join(map(json.dumps, lines)))
    run = runs(tmp_path)["a b"]
    assert run.config == {"lr": 0.1, "steps": 100, "params": 1e6}
    assert {name: (h.steps.tolist(), h.values.tolist()) for name, h in run.histories.items()} == {
        "loss": ([1, 2], [3, 2]),
        "final_loss": ([2], [1.5]),
    }


def test_other_folders_are_not_recognised(tmp_path: Path) -> None:
    """Logs of servers, data sets of texts, and random bytes contain no losses at steps."""
    (tmp_path / "server.log").write_text('{"step": 1, "error": 3}\n{"level": "error", "code": 5}\n' * 50)
    (tmp_path / "data.jsonl").write_text(json.dumps({"text": "a", "loss": 1.0}) + "\n")
    (tmp_path / "random.jsonl").write_bytes(os.urandom(100_000))
    (tmp_path / "deep.jsonl").write_text('{"a":' * 900 + "1" + "}" * 900)
    with pytest.raises(PlannerError, match="contains no runs of a known tracker"):
        find_source(str(tmp_path))
    assert set(runs(tmp_path)) == {"data", "server"}


def test_hostile_settings(tmp_path: Path) -> None:
    """YAML with tags is not executed, and damaged settings are named."""
    (tmp_path / "run 1.jsonl").write_text('{"step": 1, "loss": 2}\n')
    (tmp_path / "config.yaml").write_text("a: !!python/object/apply:os.system ['touch hacked']\n")
    assert runs(tmp_path)["run 1"].config == {"a": '["touch hacked"]'}
    (tmp_path / "config.yaml").write_text("a: [")
    with pytest.raises(PlannerError, match=r"config\.yaml is not valid YAML"):
        runs(tmp_path)
