"""Attempts of cells in this process: the result of each kind of end, learning curves, checkpoints and stop requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import CHECKPOINT, beat_of, events_of, result_of
from isoplan.trainers.backend.worker import attempt_process
from isoplan.trainers.backend.worker.attempt_process import POINTS, Attempt, run_cell
from isoplan.trainers.cell import Cell, Died, RunContext, Stopped
from tests.trainers.series import families

Train = Callable[[Any, RunContext], Mapping[str, float]]
(SERIES,) = families(Path())


def folder_of(root: Path, **cell: Any) -> Path:
    """Return the folder of a cell of the family ``series`` with a lease for attempt 1."""
    (name,) = Queue(root).add(SERIES, [SERIES.cell(**cell)])
    Queue(root).lease(name, "test")
    return Queue(root).folder(name)


def attempted(monkeypatch: pytest.MonkeyPatch, folder: Path, train: Train = SERIES.train) -> dict[str, Any]:
    """Train the cell in ``folder`` with ``train`` and return the result file."""
    monkeypatch.setattr(attempt_process, "find_family", lambda *_: replace(SERIES, train=train, version="7"))
    state = run_cell(str(folder), 1, "cuda:1")
    result: dict[str, Any] = json.loads(result_of(folder, 1).read_text())
    assert result["state"] == state
    return result


def test_a_finished_cell_has_a_result_and_no_checkpoint(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(root, size=16, terms=4)
    (folder / CHECKPOINT).write_text("[2, 0.5]")
    result = attempted(monkeypatch, folder)
    assert (result["number"], result["state"], result["device"], result["steps"]) == (1, "done", "cuda:1", 4)
    assert result["metrics"] == {"loss": pytest.approx(1 + 16**-0.5 + 0.5 + 4**-0.4 - 2**-0.4)}
    assert (result["version"], result["loss"], result["directions"]) == ("7", "loss", {})
    assert result["sizes"] == {"N": 16.0, "D": 4.0, "C": 384.0}
    assert "why" not in result
    assert not (folder / CHECKPOINT).exists()


def _raise(error: BaseException, checkpoint: bool = False) -> Train:
    def train(cell: Cell, stream: RunContext) -> dict[str, float]:
        if checkpoint:
            stream.save(lambda place: place.touch())
        raise error

    return train


@pytest.mark.parametrize(
    ("train", "state", "why"),
    [
        (_raise(PlannerError("No data.")), "failed", "No data."),
        (_raise(ValueError("odd")), "failed", "The training ended with ValueError: odd."),
        (
            _raise(MemoryError()),
            "failed",
            "The training ran out of memory: make the cell smaller, or provide more memory.",
        ),
        (_raise(files.DiskFull("full")), "stopped", files.FULL),
        (lambda *_: {"accuracy": 1.0}, "failed", "The training ended without a loss: it must return one."),
        (lambda *_: {"loss": 1.0, "auc": float("nan")}, "failed", "The training diverged: its auc is nan."),
    ],
)
def test_each_end_has_a_state_and_a_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch, train: Train, state: str, why: str
) -> None:
    folder = folder_of(root)
    (folder / CHECKPOINT).write_text("[1, 1.0]")
    result = attempted(monkeypatch, folder, train)
    assert (result["state"], result["why"], result["metrics"]) == (state, why, {})
    assert (folder / CHECKPOINT).exists()


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_death_counts_unless_a_checkpoint_was_saved(
    root: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: bool
) -> None:
    result = attempted(monkeypatch, folder_of(root), _raise(Died("killed"), checkpoint))
    assert (result["state"], result["why"], result["counts"]) == ("died", "killed", not checkpoint)


def test_an_attempt_that_is_not_the_leased_one_does_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_process, "find_family", lambda *_: SERIES)
    folder = folder_of(root)
    assert run_cell(str(folder), 2) == run_cell(str(folder.with_name("missing")), 1) == "stale"
    beat_of(folder, 1).touch()  # a worker that died had begun this attempt
    assert run_cell(str(folder), 1) == "stale"
    assert not list(folder.glob("result-*"))
    beat_of(folder, 1).unlink()
    assert run_cell(str(folder), 1) == "done"
    beat_of(folder, 1).unlink()
    assert run_cell(str(folder), 1) == "stale"


def test_a_lease_that_is_lost_during_the_training_leaves_no_result(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(root)

    def train(cell: Cell, stream: RunContext) -> dict[str, float]:
        Queue(root).lease(folder.name, "another runner")
        return {"loss": 1.0}

    monkeypatch.setattr(attempt_process, "find_family", lambda *_: replace(SERIES, train=train))
    monkeypatch.setattr(attempt_process, "BEAT", 60.0)
    assert run_cell(str(folder), 1) == "stale"
    assert not list(folder.glob("result-*"))


def test_the_steps_of_a_learning_curve_become_sparser(root: Path) -> None:
    folder = folder_of(root)
    with Attempt(folder, 1, "cpu") as attempt:
        for step in range(1, 4 * POINTS + 1):
            attempt.step(step, 4 * POINTS, loss=1 / step)
        attempt.step(4 * POINTS + 1)
        attempt.step(4 * POINTS + 4, loss=float("inf"))
    points = [json.loads(line) for line in events_of(folder, 1).read_text().splitlines()]
    every = [*range(1, POINTS + 1), *range(POINTS + 2, 3 * POINTS + 1, 2), *range(3 * POINTS + 4, 4 * POINTS + 1, 4)]
    assert [point["step"] for point in points] == [*every, 4 * POINTS + 4]
    assert points[1].items() >= {"total": 4 * POINTS, "loss": 0.5}.items()
    assert points[-1].keys() == {"step", "at", "loss"}
    assert points[-1]["loss"] == "inf"
    assert attempt.steps == 4 * POINTS + 4


def test_a_checkpoint_is_due_after_a_while_and_before_a_stop(root: Path) -> None:
    folder = folder_of(root)
    with Attempt(folder, 1, "cpu") as attempt:
        assert (attempt.checkpoint_due, attempt.further, attempt.resume) == (False, False, None)
        attempt._saved -= attempt_process.CHECKPOINT_EVERY + 1
        assert attempt.checkpoint_due
        attempt.save(lambda place: place.touch())
        assert (attempt.checkpoint_due, attempt.further, attempt.resume) == (False, True, folder / CHECKPOINT)
        Queue(root).stop(folder.name, 2, "another attempt")
        attempt.step(1)
        assert (attempt.stopping, attempt.checkpoint_due, attempt.why) == (False, False, "")
        Queue(root).stop(folder.name, 1, "hold")
        assert (attempt.checkpoint_due, attempt.why) == (True, "hold")
        with pytest.raises(Stopped):
            attempt.step(2)
    assert Attempt(folder, 1, "cpu").further is False
