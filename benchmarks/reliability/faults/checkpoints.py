"""Damaged checkpoints of the bundled families. The cell must start again and give the loss of an undisturbed cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.reliability.faults.cells import add, finish, workspace
from benchmarks.reliability.faults.damage import DAMAGES, MARK, Hostile
from benchmarks.reliability.faults.trial import Trial
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import CHECKPOINT, Record, log_of
from isoplan.trainers.backend.worker.attempt_process import Attempt, run_cell

EXPECTED = "begins again, says so, loss as undisturbed"
AMPLITUDES = {"points": 500, "iterations": 3000, "width": 16, "tests": 500, "dimension_points": 0}
CELLS: dict[str, dict[str, Any]] = {
    "teacher-student": {"width": 8, "samples": 200_000},
    "amplitudes": AMPLITUDES,
    "behavior": {"h": 8, "width": 16, "layers": 1, "steps": 200},
    "jets": {"data": "toy", "jets": 3000, "width": 4},
}


def poison_torch(place: Path) -> None:
    """Replace a checkpoint by a PyTorch file that runs a command when it is unpickled."""
    import torch

    with place.open("wb") as file:
        torch.save({"model": Hostile(place.parent / MARK)}, file)


HOSTILE: dict[str, Callable[[Path], None]] = {**DAMAGES, "a hostile PyTorch file": poison_torch}
del HOSTILE["removed"]
FEW = ("random bytes", "a hostile pickle", "a hostile PyTorch file")


def stopped(root: Path, family: str, cell: Mapping[str, Any]) -> Record:
    """Return a cell that was stopped during training and has a checkpoint.

    The stop is requested as soon as the training has reported a step, so the speed of the machine has no influence.
    """
    (name,) = add(root, [cell], family)
    queue = Queue(root)
    number = queue.lease(name, "test")
    report = Attempt.step

    def step_then_stop(attempt: Attempt, step: int, total: int | None = None, /, **values: float) -> None:
        report(attempt, step, total, **values)
        if step:
            queue.stop(name, number, "runner")

    with patch.object(Attempt, "step", step_then_stop):
        run_cell(str(queue.folder(name)), number)
    if not (queue.folder(name) / CHECKPOINT).exists():
        raise RuntimeError(f"the cell of {family} ended without a checkpoint after it was asked to stop")
    return queue.find(name)


def after(root: Path, family: str, cell: Mapping[str, Any], damage: Callable[[Path], None], expected: float) -> str:
    """Damage the checkpoint of a stopped cell, run the cell again, and return its result as text.

    Its loss is compared with ``expected``.
    """
    workspace(root)
    name = stopped(root, family, cell).name
    folder = Queue(root).folder(name)
    damage(folder / CHECKPOINT)
    record = finish(root, name)
    if (folder / MARK).exists():
        return "THE PICKLE RAN"
    if record.state != "done":
        return f"{record.state}: {(record.result or {}).get('why')}"
    said = b"begins again" in log_of(folder, 2).read_bytes()
    right = (record.result or {})["metrics"]["loss"] == expected
    return f"begins again{', says so' * said}, loss {'as undisturbed' if right else 'CHANGED'}"


def undisturbed(root: Path, family: str) -> float:
    """Return the loss of a cell of this family that is not disturbed."""
    (name,) = add(workspace(root), [CELLS[family]], family)
    record = finish(root, name)
    return float((record.result or {})["metrics"]["loss"])


def trials(place: Path) -> list[Trial]:
    """Run all kinds of damage for the two fastest families, and a few kinds for the other families."""
    found = []
    for family, cell in CELLS.items():
        expected = undisturbed(place / family, family)
        names = HOSTILE if family in ("teacher-student", "amplitudes") else FEW
        for i, name in enumerate(names):
            text = after(place / f"{family}{i}", family, cell, HOSTILE[name], expected)
            found.append(Trial(f"the checkpoint of a cell of `{family}`", name, EXPECTED, text))
    return found
