"""Small training runs of both stages, and functions that execute them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.training import cell_training
from tests.trainers.jets.stream import Silent

ONE = BehaviorCell(
    users=80, items=60, user_events=8, steps=12, batch=16, h=8, width=16, layers=1, length=12, pool=32, rate=0.01,
    dropout=0.1, looks=2,
)  # fmt: skip
TWO = ONE.model_copy(update={"stage": 2, "negatives": 20})


def run(cell: BehaviorCell, folder: Path, **stream: object) -> tuple[dict[str, float], Silent]:
    folder.mkdir(exist_ok=True)
    watched = Silent(folder, **stream)  # type: ignore[arg-type]
    return dict(cell_training.train(folder, cell, watched)), watched
