"""Training of surrogates: identical results after a stop, selection of the best weights, pulls for known noise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from isoplan.trainers.amplitudes.cell import AmplitudeCell  # noqa: E402
from isoplan.trainers.amplitudes.phase_space import sampler as adapting  # noqa: E402
from isoplan.trainers.amplitudes.source import Data  # noqa: E402
from isoplan.trainers.amplitudes.surrogate import training  # noqa: E402
from isoplan.trainers.amplitudes.surrogate.shape import Shape  # noqa: E402
from isoplan.trainers.amplitudes.surrogate.trainer import Points, Trainer  # noqa: E402
from isoplan.trainers.amplitudes.surrogate.training import fit, looked_every  # noqa: E402
from isoplan.trainers.cell import CellError, Stopped  # noqa: E402
from tests.trainers.jets.stream import Silent  # noqa: E402

SMALL = AmplitudeCell(data="toy", points=400, width=16, layers=2, iterations=300, tests=400, dimension_points=0)


@pytest.fixture(scope="module", autouse=True)
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a workspace whose events all tests share, and disable deterministic algorithms after the tests."""
    yield tmp_path_factory.mktemp("space")
    torch.use_deterministic_algorithms(False)


def run(root: Path, cell: AmplitudeCell, folder: Path, **stream: object) -> tuple[dict[str, float], Silent]:
    folder.mkdir(exist_ok=True)
    watched = Silent(folder, **stream)  # type: ignore[arg-type]
    return dict(training.train(root, cell, watched)), watched


def test_the_loss_falls_by_decades(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "POINTS", 4000)
    cell = AmplitudeCell(points=5000, iterations=1500, tests=3000, dimension_points=1000)
    found, stream = run(shared, cell, tmp_path)
    curve = [said["loss"] for _, said in stream.said if "loss" in said]
    assert len(curve) == 20
    assert found["loss"] < 1e-4
    assert found["loss"] < curve[0] / 30
    assert found["loss"] == pytest.approx(min(curve), rel=1)
    assert found["relative_median"] < 0.01
    assert (found["d"], found["N"], found["D"]) == (2, 7 * 64 + 2 * (64 * 64 + 64) + 64, 5000)
    assert found["dimension"] == pytest.approx(2, abs=0.3)
    assert found["dimension_inputs"] == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize(("end", "before"), [(100, 90), (250, 240), (300, 285)])
@pytest.mark.parametrize("points", [400, 100])
def test_a_stopped_cell_goes_on_to_the_same_digits(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], end: int, before: int, points: int
) -> None:
    cell = SMALL.model_copy(update={"points": points})
    whole, _ = run(shared, cell, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(shared, cell, tmp_path / "cut", end=end, saved=before + 1)
    rest, stream = run(shared, cell, tmp_path / "cut", resume=tmp_path / "cut" / "checkpoint")
    assert rest == whole
    assert "begins again" not in capsys.readouterr().out
    assert [step for step, _ in stream.said][-1:] == ([300] if end < 300 else [])


def test_checkpoints_that_did_not_keep_the_training_loss_still_load(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training that is stopped and resumed gives the same results, although old checkpoints lack the training loss.

    Training resumes from an intermediate checkpoint. If the only checkpoint is the last one, training starts again,
    because otherwise there would be no training loss to report.
    """
    whole, _ = run(shared, SMALL, tmp_path / "whole")
    for end, before, first in ((100, 90, 105), (300, 285, 15)):
        with pytest.raises(Stopped):
            run(shared, SMALL, tmp_path / "cut", end=end, saved=before + 1)
        place = tmp_path / "cut" / "checkpoint"
        held = torch.load(place, weights_only=True)
        del held["state"]["trained"]
        torch.save(held, place)
        rest, stream = run(shared, SMALL, tmp_path / "cut", resume=place)
        assert rest == whole
        assert stream.said[0][0] == first
    assert "cannot be read" not in capsys.readouterr().out


def test_another_seed_gives_other_digits(shared: Path, tmp_path: Path) -> None:
    first, again = (run(shared, SMALL, tmp_path)[0] for _ in range(2))
    assert first == again
    assert run(shared, SMALL.model_copy(update={"seed": 1}), tmp_path)[0]["loss"] != first["loss"]


def test_events_that_changed_begin_again(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Stopped):
        run(shared, SMALL, tmp_path, end=100, saved=91)
    other = SMALL.model_copy(update={"process": "WZ"})
    rest, stream = run(shared, other, tmp_path, resume=tmp_path / "checkpoint")
    assert "(the events have changed since it was saved). The cell begins again" in capsys.readouterr().out
    assert rest == run(shared, other, tmp_path / "whole")[0]
    assert stream.said[-1][0] == 300


def test_a_budget_is_spent_to_half_an_iteration(shared: Path, tmp_path: Path) -> None:
    found, _ = run(shared, SMALL.model_copy(update={"budget": 1e7}), tmp_path)
    step = found["C"] / found["updates"]
    assert abs(found["C"] - 1e7) <= step / 2
    assert found["seen"] == found["updates"] * 128
    assert found["epochs"] == found["seen"] / 400


def test_the_weights_that_validate_best_are_tested(shared: Path, tmp_path: Path) -> None:
    """Eight points are overfitted, so the validation loss decreases and then increases.

    The results are those of the iteration with the smallest validation loss.
    """
    cell = SMALL.model_copy(update={"points": 8, "process": "ttH", "iterations": 2000, "width": 64, "rate": 0.03})
    found, stream = run(shared, cell, tmp_path)
    looks = {step: said["validation"] for step, said in stream.said if "validation" in said}
    assert found["best_iteration"] == min(looks, key=lambda step: looks[step])
    assert found["validation"] == min(looks.values())
    assert found["train"] < 1e-3 < found["validation"]


def test_batches_hold_every_point_once_a_pass() -> None:
    cell = SMALL.model_copy(update={"batch": 96})
    found = list(training._batches(cell, 0, 25, torch.device("cpu")))
    assert {len(chosen) for chosen in found if chosen is not None} == {96}
    order = torch.cat([chosen for chosen in found if chosen is not None]).numpy()
    for epoch in range(6):
        assert sorted(order[400 * epoch : 400 * (epoch + 1)]) == list(range(400))
    assert not np.array_equal(order[:400], order[400:800])
    late = list(training._batches(cell, 20, 25, torch.device("cpu")))
    assert all(torch.equal(a, b) for a, b in zip(late, found[20:], strict=True))
    assert list(training._batches(cell.model_copy(update={"points": 50}), 0, 3, torch.device("cpu"))) == [None] * 3


def test_looks_are_those_of_the_paper_unless_they_cost_too_much() -> None:
    assert looked_every(AmplitudeCell(points=10_000), 100_000) == 1000
    assert looked_every(AmplitudeCell(points=10_000), 4000) == 200
    assert looked_every(AmplitudeCell(points=10**6), 10**6) == 6511
    assert looked_every(AmplitudeCell(), 3) == 1


def test_there_are_twenty_looks_whatever_they_cost() -> None:
    """There are 20 validations although they cost 65 % of the FLOPs of the training steps.

    The training run has 250,000 validation points and 20,000 iterations.
    """
    cell, total = AmplitudeCell(points=10**6), 20_000
    every = looked_every(cell, total)
    assert every == 1000
    assert total / every * cell.validation / (3 * total * cell.points_a_batch) == pytest.approx(0.651, abs=1e-3)


def toy(count: int, seed: int) -> Points:
    """Return points of y = sin(3 x) plus noise of standard deviation 0.05 + 0.2 x^2, with x in [-1, 1]."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 1))
    return Points(x, np.sin(3 * x) + noise(x) * rng.standard_normal((count, 1)))


def noise(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.05 + 0.2 * x**2)


def test_pulls_have_width_one_where_the_noise_is_known(tmp_path: Path) -> None:
    cell = SMALL.model_copy(update={"points": 8000, "objective": "heteroscedastic", "target": "raw"})
    found = fit(cell, Shape(1, 32, 2, 2), 1500, Data(toy(8000, 0), toy(2000, 1), toy(8000, 2)), Silent(tmp_path))
    assert found["pull_width"] == pytest.approx(1, abs=0.1)
    assert found["pull_mean"] == pytest.approx(0, abs=0.1)
    assert found["within_1"] == pytest.approx(0.683, abs=0.03)
    assert found["within_2"] == pytest.approx(0.954, abs=0.02)
    test = toy(8000, 2)
    assert found["sigma_mean"] == pytest.approx(noise(test.x).mean() / test.y.std(), rel=0.1)
    assert found["loss"] == pytest.approx((noise(test.x) ** 2).mean() / test.y.var(), rel=0.1)
    assert (tmp_path / "pulls.csv").read_text().startswith("low,high,points,gaussian\n")


@pytest.mark.parametrize(("objective", "target"), [("relative", "log"), ("relative", "raw"), ("mse", "raw")])
def test_other_objectives_and_targets_learn(shared: Path, tmp_path: Path, objective: str, target: str) -> None:
    fields = {"objective": objective, "target": target, "process": "ttH", "points": 1000, "iterations": 500}
    found, _ = run(shared, SMALL.model_copy(update=fields), tmp_path)
    assert found["relative_median"] < 0.1
    assert found["loss"] < 0.1


def test_divergence_is_one_sentence() -> None:
    trainer = Trainer(SMALL, Shape(1, 4, 1), toy(400, 0), "cpu")
    points = trainer.tensors(toy(10, 1))
    trainer.model.theta.fill_(np.nan)
    with pytest.raises(CellError, match="diverged after 0 iterations: use a smaller learning rate"):
        training._look(trainer, points, 1)


def test_a_cell_larger_than_the_memory_is_one_sentence(shared: Path, tmp_path: Path) -> None:
    with pytest.raises(CellError, match=r"takes about [\d,]+ GB of memory"):
        run(shared, SMALL.model_copy(update={"points": 10**8, "process": "Zgggg", "width": 16384}), tmp_path)
