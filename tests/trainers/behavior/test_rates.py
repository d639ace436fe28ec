"""Learning rates that a training run tries: the best one counts, and an interruption changes no digit of the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from isoplan.trainers.behavior.cell import BehaviorCell  # noqa: E402
from isoplan.trainers.behavior.training import cell_training  # noqa: E402
from isoplan.trainers.behavior.training.trainer import Trainer  # noqa: E402
from isoplan.trainers.cell import CellError, Stopped  # noqa: E402
from tests.trainers.behavior.cells import ONE, TWO, run  # noqa: E402

TRIED = {"rate": 0.01, "rates": 3}


@pytest.mark.parametrize(
    ("cell", "saved", "end"), [(ONE, 6, 7), (ONE, 28, 29), (TWO, 20, 40), (TWO, 30, 55), (TWO, 39, 40), (TWO, 54, 55)]
)
def test_a_cell_that_tries_rates_goes_on_to_the_same_digits(
    cell: BehaviorCell, saved: int, end: int, tmp_path: Path
) -> None:
    """A run that is stopped at step ``end`` resumes from its checkpoint at step ``saved``, and reads no other file."""
    cell = cell.model_copy(update=TRIED)
    whole, _ = run(cell, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(cell, tmp_path / "cut", end=end, saved=saved)
    assert {path.name for path in (tmp_path / "cut").iterdir()} <= {"checkpoint", "behavior", "backbones"}
    (tmp_path / "cut" / "checkpoint").rename(tmp_path / "checkpoint")
    torch.manual_seed(99)
    assert run(cell, tmp_path / "elsewhere", resume=tmp_path / "checkpoint")[0] == whole
    other = cell.model_copy(update={"negatives": 5}) if cell.stage == 2 else cell
    assert run(other, tmp_path / "elsewhere")[0] == run(other, tmp_path / "fresh")[0]


def test_the_rate_of_the_least_training_loss_is_kept(tmp_path: Path) -> None:
    cell = ONE.model_copy(update=TRIED)
    assert cell.tried_rates == (0.005, 0.01, 0.02)
    alone = [run(ONE.model_copy(update={"rate": rate}), tmp_path / str(rate))[0] for rate in cell.tried_rates]
    found, stream = run(cell, tmp_path / "tried")
    assert found == min(alone, key=lambda row: row["train_loss"])
    assert [step for step, _ in stream.said] == list(range(1, 37))
    assert [said["rate"] for _, said in stream.said[::12]] == list(cell.tried_rates)


def test_each_stage_tries_rates_from_where_it_begins(tmp_path: Path) -> None:
    cell = TWO.model_copy(update=TRIED)
    found, stream = run(cell, tmp_path / "tried")
    assert [step for step, _ in stream.said] == list(range(1, 73))
    first = run(ONE.model_copy(update=TRIED), tmp_path / "one")[0]
    assert (found["D_stage1"], found["C_stage1"]) == (first["D"], first["C"])
    tails = [np.mean([said["train"] for _, said in stream.said[k : k + 12]]) for k in (36, 48, 60)]
    assert found["train_loss"] == pytest.approx(min(tails), rel=1e-6)
    assert found["rate_used"] == cell.tried_rates[int(np.argmin(tails))]


def test_rates_that_diverge_are_left_out_and_all_of_them_end_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, worst = cell_training._said, 0.005

    def diverges(trainer: Trainer, recent: dict[str, list[Any]]) -> dict[str, float]:
        if trainer.optimiser.param_groups[0]["lr"] > worst:
            raise cell_training.Diverged("The training diverged.")
        return said(trainer, recent)

    monkeypatch.setattr(cell_training, "_said", diverges)
    cell = ONE.model_copy(update={**TRIED, "schedule": "constant"})
    found, _ = run(cell, tmp_path / "some")
    assert found["rate_used"] == 0.005
    worst = 0.0
    with pytest.raises(CellError, match="diverged"):
        run(cell, tmp_path / "all")


def test_looks_stay_beside_many_updates(tmp_path: Path) -> None:
    """The run reports fewer than 260 points, but all 30 validations (10 for each of 3 learning rates) are reported."""
    found = run(TWO.model_copy(update={"steps": 300, **TRIED, "looks": 10}), tmp_path)[1]
    said = [values for _, values in found.said if values]
    assert sum("loss" in values for values in said) == 30
    assert len(said) < 260
