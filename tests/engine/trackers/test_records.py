"""Logged values in plain files: steps, damaged rows and lines, metrics of several files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from isoplan.engine.trackers.formats.folders import read_lines
from isoplan.engine.trackers.formats.records import (
    csv_records,
    histories,
    is_loss,
    is_metric,
    json_objects,
    merged,
    numbers,
)
from isoplan.engine.trackers.run import History


def points(history: History) -> list[tuple[float, float]]:
    """Return the points of a history as pairs of step and value."""
    return list(zip(history.steps.tolist(), history.values.tolist(), strict=True))


def test_damaged_rows_of_csv_files(tmp_path: Path) -> None:
    """Rows that are cut, repeated headers and rows of another length are left out. Later rows may have a new header."""
    file = tmp_path / "metrics.csv"
    file.write_text(
        "epoch,step,val_loss\r\n0,1,3.0\r\n0,2\r\n0,3,\r\nepoch,step,val_loss\r\n0,4,nan\r\n0,5,2.5,9,9\r\n"
        'epoch,lr,step,val_loss\r\n1,0.1,6,2.25\r\n1,"0.1,7,2.2\r\n1,x,8,2.0\r\n1,0.1,9,1.'
    )
    found = histories(csv_records(file))
    assert points(found["lr"]) == [(6, 0.1)]
    assert [step for step, _ in points(found["val_loss"])] == [1, 4, 6, 8]
    assert found["val_loss"].values[[0, 2, 3]].tolist() == [3.0, 2.25, 2.0]
    assert math.isnan(found["val_loss"].values[1])
    assert "step" not in found


def test_lines_of_logs(tmp_path: Path) -> None:
    """The object at the end of a line counts. Lines without an object, cut lines and too deep objects do not."""
    file = tmp_path / "out.log"
    lines = [
        '\ufeff2026-11-01 INFO {"step": 1, "loss": 2}',
        "no object",
        '{"step": 2, "lo',
        '{shape} {"step": 3}',
        "{}",
    ]
    file.write_text("\n".join([*lines, '{"a":' * 5000 + "1" + "}" * 5000, '{"step": 4, "loss": NaN}']), "utf-8")
    found = list(json_objects(read_lines(file)))
    assert found[:3] == [{"step": 1, "loss": 2}, {"step": 3}, {}]
    assert math.isnan(found[-1]["loss"])
    assert len(found) == 4


def test_steps() -> None:
    """A record without the step belongs to the step before it; a step that occurs again has its last value."""
    records = [{"loss": 9.0}, {"step": 2.0, "loss": 3.0}, {"epoch": 1.0, "val_loss": 2.5}, {"step": 1.0, "loss": 4.0}]
    found = histories([*records, {"step": 2.0, "loss": 2.0}, {"step": math.inf, "loss": 1.0}])
    assert points(found["loss"]) == [(1, 4), (2, 1)]
    assert points(found["val_loss"]) == [(2, 2.5)]
    assert points(found["epoch"]) == [(2, 1)]
    assert points(histories([{"tokens": 5.0, "epoch": 1.0, "loss": 1.0}])["tokens"]) == [(5, 5)]
    assert histories([{"loss": 1.0}]) == histories([]) == {}


def test_numbers_of_records() -> None:
    """Nested metrics, the part of the data, and values that are not numbers."""
    assert numbers({"step": 1, "metrics": {"loss": 2, "ok": True}, "val": {"loss": 3.5}, "name": "a"}) == {
        "step": 1,
        "loss": 2,
        "val.loss": 3.5,
    }
    assert numbers({"step": 1, "split": "val", "loss": 2, "lr": 10**400}) == {"step": 1, "val_loss": 2, "lr": math.inf}


def test_metrics_of_two_files() -> None:
    """A metric of two files has the name of its file."""
    one = histories([{"step": 1.0, "loss": 2.0, "lr": 1.0}])
    two = histories([{"step": 1.0, "loss": 3.0}])
    assert {name: points(history) for name, history in merged({"train": one, "val": two}).items()} == {
        "train_loss": [(1, 2)],
        "lr": [(1, 1)],
        "val_loss": [(1, 3)],
    }


@pytest.mark.parametrize("name", ["loss", "eval/loss", "val_losses", "bpb", "c4.perplexity", "cross_entropy"])
def test_names_of_losses(name: str) -> None:
    """Names of losses are names of metrics too."""
    assert is_loss(name)
    assert is_metric(name)


@pytest.mark.parametrize("name", ["loss_weight", "router_aux_loss_coef", "lr", "version", "error", "steps"])
def test_other_names(name: str) -> None:
    """Settings and counts of errors are no losses."""
    assert not is_loss(name)
