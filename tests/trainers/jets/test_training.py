"""Training of jet models: identical results after a stop, the best of several epochs, and the final result."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from isoplan.trainers.cell import CellError, Stopped  # noqa: E402
from isoplan.trainers.jets import training  # noqa: E402
from isoplan.trainers.jets.cell import JetCell, training_flops  # noqa: E402
from isoplan.trainers.jets.data import STREAMS, open_jets  # noqa: E402
from tests.trainers.jets.stream import Silent  # noqa: E402

ONCE = JetCell(data="toy", width=8, jets=600, batch=20, rate=0.01, validation=200, schedule="cosine")
AGAIN = JetCell(data="toy", width=16, jets=100, epochs=60, batch=20, rate=0.02, validation=300)


def run(cell: JetCell, folder: Path, **stream: object) -> tuple[dict[str, float], Silent]:
    folder.mkdir(exist_ok=True)
    watched = Silent(folder, **stream)  # type: ignore[arg-type]
    return dict(training.train(folder, cell, watched)), watched


@pytest.mark.parametrize(("cell", "end"), [(ONCE, 17), (AGAIN, 23), (AGAIN, 25)])
def test_a_stopped_cell_goes_on_to_the_same_digits(cell: JetCell, end: int, tmp_path: Path) -> None:
    whole, _ = run(cell, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(cell, tmp_path / "cut", end=end)
    torch.manual_seed(99)
    rest, stream = run(cell, tmp_path / "cut", resume=tmp_path / "cut" / "checkpoint")
    assert rest == whole
    assert stream.said[0][0] <= end + 1


def test_one_pass_sees_every_jet_once_and_counts_itself_exactly(tmp_path: Path) -> None:
    found, stream = run(ONCE, tmp_path)
    lengths = open_jets(tmp_path, ONCE, stream).train.lengths
    assert (found["N"], found["U"], found["D"]) == (48 * 64 + 87 * 8 + 10, 600, 600)
    assert found["C"] == training_flops(ONCE.shape, lengths).sum()
    assert found["n_p"] == lengths.mean()
    assert stream.said[-1][0] == 30
    assert "best_epoch" not in found


def test_the_batches_of_a_pass_hold_every_jet_once() -> None:
    cell = AGAIN.model_copy(update={"batch": 30})
    first, second = (np.concatenate(list(training._batches(cell, epoch, 0))) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(100))
    assert not np.array_equal(first, second)
    rest = np.concatenate(list(training._batches(cell, 1, 2)))
    assert list(rest) == list(second[60:])


def test_repeated_jets_overfit_and_the_best_pass_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "STALL", 60)
    found, stream = run(AGAIN, tmp_path)
    curve = [(step, said["loss"]) for step, said in stream.said if "loss" in said]
    best = min(curve, key=lambda point: point[1])
    assert found["loss"] == pytest.approx(best[1], rel=1e-6)
    assert found["best_epoch"] == best[0] / AGAIN.updates_a_pass
    assert found["D"] == 100 * found["best_epoch"]
    losses = [loss for _, loss in curve]
    medians = [np.median(losses[i : i + 5]) for i in range(len(losses) - 4)]
    assert found["rise"] == pytest.approx(medians[-1] / min(medians) - 1)
    assert (found["overfits"], found["censored"]) == (1, 0)
    assert found["rise"] > 0.01
    assert found["best_epoch"] < curve[-1][0] / AGAIN.updates_a_pass < 60


def test_what_is_left_is_said_as_if_the_loss_got_no_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "STALL", 60)
    _, stream = run(AGAIN, tmp_path)
    totals = [total for total in stream.totals if total is not None]
    assert len(totals) == len(stream.said)
    assert totals[0] == 60
    assert totals == sorted(totals)
    assert totals[-1] == stream.said[-1][0] < 300
    assert set(run(ONCE, tmp_path)[1].totals) == {30}


def test_one_lucky_look_is_no_turn() -> None:
    assert training.rise([2.0, 1.5]) == 0
    assert training.rise([3.0, 2.0, 1.0, 1.1]) == 0
    # if there are few values, each pair of neighbouring values is averaged
    assert training.rise([1.4, 1.2, 1.3, 1.4, 1.5]) == pytest.approx(1.45 / 1.25 - 1)
    level = [1.5, 1.02, 1.0, 1.01, 0.9, 1.0, 1.01, 1.02, 1.0, 1.0, 1.01, 1.0, 1.02]
    assert training.rise(level) == 0
    assert training.rise([*level, 1.1, 1.15, 1.2, 1.2, 1.3]) == pytest.approx(0.2 / 1.0, abs=0.02)


def test_a_cell_whose_epochs_run_out_says_so(tmp_path: Path) -> None:
    found, _ = run(AGAIN.model_copy(update={"epochs": 2}), tmp_path)
    assert found["censored"] == 1


def test_a_cosine_warms_up_and_ends_at_zero() -> None:
    rates = [training._rate(ONCE, update, 1000) for update in (0, 49, 500, 999)]
    assert rates[0] == pytest.approx(0.01 / 50)
    assert rates[1] == pytest.approx(0.01, rel=0.01)
    assert rates[2] == pytest.approx(0.005)
    assert rates[3] == pytest.approx(0, abs=1e-6)
    assert training._rate(AGAIN, 77, 1000) == 0.02


def test_a_cell_that_learned_nothing_says_so(tmp_path: Path) -> None:
    found, _ = run(ONCE.model_copy(update={"rate": 1e-9}), tmp_path)
    assert found["loss"] > math.log(10) - 0.1
    assert found["untrained"] == 1


def test_rejections_come_from_the_test_jets(tmp_path: Path) -> None:
    found, _ = run(ONCE.model_copy(update={"tests": 2000, "jets": 60, "validation": 100}), tmp_path)
    assert 1 / found["R_top"] == found["R_top_survivors"] / 2000
    assert not [name for name in found if f"{name}_above" in found]  # 10 QCD validation jets give only limits
    assert (tmp_path / "roc.csv").read_text().startswith("class,signal_efficiency,qcd_efficiency\n")


def test_divergence_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CellError, match=r"diverged after .* training steps: use a smaller learning rate"):
        training._say(training.Trainer(ONCE, "cpu"), [torch.tensor(math.nan)], Silent(tmp_path))


def test_a_cell_larger_than_the_memory_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CellError, match=r"takes about [\d,]+ GB of memory, but there are only [\d,]+ GB"):
        run(ONCE.model_copy(update={"width": 4096, "batch": 65_536}), tmp_path)


def test_other_jets_than_before_begin_the_cell_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ONCE.model_copy(update={"jets": 60})
    with pytest.raises(Stopped):
        run(short, tmp_path / "cut", end=3)
    monkeypatch.setitem(STREAMS, "train", 7)
    whole, _ = run(short, tmp_path / "whole")
    rest, _ = run(short, tmp_path / "cut", resume=tmp_path / "cut" / "checkpoint")
    assert rest == whole
    assert "the jets have changed since it was saved" in capsys.readouterr().out


def test_a_damaged_checkpoint_is_passed_over_and_the_log_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ONCE.model_copy(update={"jets": 60})
    whole, _ = run(short, tmp_path / "whole")
    (tmp_path / "checkpoint").write_bytes(b"no checkpoint")
    found, _ = run(short, tmp_path / "damaged", resume=tmp_path / "checkpoint")
    assert found == whole
    assert "The checkpoint cannot be used" in capsys.readouterr().out
