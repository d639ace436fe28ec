"""Events from a user's file: disjoint sets, sizes before training, and one sentence for each error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.cell import AmplitudeCell, calibration_cell, check, memory, sizes
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files import write_events
from isoplan.trainers.amplitudes.source import SHUFFLE, Facts, Source, facts_of, make_toy_events, open_events
from isoplan.trainers.amplitudes.surrogate import training
from isoplan.trainers.families import find_family, read_cell
from tests.trainers.jets.stream import Silent

MINE = Source("mine.npz", "Zg", 0)


def place(root: Path, process: str = "ttH", n: int = 1000, sqrt_s: float = 0.0, **changed: object) -> Path:
    (root / "amplitudes").mkdir(exist_ok=True)
    write_events(root / "amplitudes" / "mine.npz", replace(make_toy_events(process, n, 5, sqrt_s), **changed))  # type: ignore[arg-type]
    return root


@pytest.mark.parametrize("sqrt_s", [0.0, 900.0])
def test_facts_are_those_of_the_file(tmp_path: Path, sqrt_s: float) -> None:
    assert facts_of(place(tmp_path, sqrt_s=sqrt_s), MINE) == Facts((0, 1, 2, 3, 4), not sqrt_s, 1000)


def test_larger_training_sets_hold_smaller_ones_and_nothing_is_shared(tmp_path: Path) -> None:
    root = place(tmp_path)
    few, many = (open_events(root, MINE, (n, n // 4, 200), Silent(tmp_path)) for n in (100, 600))
    np.testing.assert_array_equal(few.test.amplitude, many.test.amplitude)
    np.testing.assert_array_equal(few.train.amplitude, many.train.amplitude[:100])
    found = [events.amplitude for events in (many.train, many.validation, many.test)]
    assert [len(one) for one in found] == [600, 150, 200]
    assert len(np.unique(np.concatenate(found))) == 950


def test_toy_events_share_nothing_either(tmp_path: Path) -> None:
    data = open_events(tmp_path, Source("toy", "WZ", 0), (300, 75, 200), Silent(tmp_path))
    assert len(np.unique(np.concatenate([data.train.amplitude, data.validation.amplitude, data.test.amplitude]))) == 575


def test_a_cell_trains_on_a_file(tmp_path: Path) -> None:
    root = place(tmp_path)
    cell = AmplitudeCell(data="mine.npz", points=400, tests=300, width=16, layers=2, iterations=60, dimension_points=0)
    found = training.train(root, cell, Silent(tmp_path))
    assert (found["d"], found["N"]) == (5, sizes(root, cell).N)
    assert found["loss"] < 0.5
    assert calibration_cell(root, cell).data == "mine.npz"


def test_a_small_file_is_estimated_on_what_it_holds(tmp_path: Path) -> None:
    """For a file of 900 events, a calibration run requests only 200 training, 50 validation and 100 test events."""
    root = place(tmp_path, n=900)
    cell = AmplitudeCell(data="mine.npz", points=200, tests=100, width=16, layers=1, iterations=5, dimension_points=0)
    few = calibration_cell(root, cell)
    check(root, few)
    assert few.counts == (200, 50, 100)
    assert training.train(root, few, Silent(tmp_path))["updates"] == 5


def test_the_memory_of_a_file_is_that_of_all_its_events(tmp_path: Path) -> None:
    cell = AmplitudeCell(data="mine.npz", points=100, tests=100, width=16, layers=1, dimension_points=0)
    rest = 28 * 192 + 12 * 16 * 8192
    assert memory(place(tmp_path, n=230), cell) == rest + 225 * (32 * 5 + 40 * 10)
    assert memory(place(tmp_path, n=3000), cell) == rest + 3 * 8 * 3000 * (4 * 5 + 2)


def test_amplitudes_that_are_not_positive_have_no_logarithm_but_may_be_learned_raw(tmp_path: Path) -> None:
    fields = {"data": "mine.npz", "points": 500, "tests": 300, "width": 16, "layers": 2, "iterations": 400,
              "dimension_points": 0, "objective": "relative"}  # fmt: skip
    good = make_toy_events("ttH", 1000, 5).amplitude
    for value, log, raw in (
        (-2.5, "-2.5, which has no logarithm: leave such rows out, or set target to raw.", ""),
        (0.0, "0, which has no logarithm: leave such rows out.",
         "0, which has no relative error: leave such rows out."),
    ):  # fmt: skip
        root = place(tmp_path, amplitude=np.where(np.arange(1000) == 7, value, good))
        for target, why in (("log", log), ("raw", raw)):
            cell = AmplitudeCell.model_validate(fields | {"target": target})
            if not why:
                check(root, cell)
                continue
            with pytest.raises(PlannerError) as caught:
                check(root, cell)
            assert str(caught.value) == f"amplitudes/mine.npz: Row 7 (counted from 0) has the amplitude {why}"


def test_collinear_particles_are_refused_with_the_row_of_the_file_where_logarithms_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event with massless particles along the beams is valid, but an MLP needs the logarithms of its invariants.

    One of 1,000 rows contains such an event.
    """
    rng = np.random.default_rng(2)
    axes = rng.standard_normal((1000, 3))
    axes[7] = [0, 0, 1]
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    sides = np.stack([np.tile([0.0, 0, 1], (1000, 1)), np.tile([0.0, 0, -1], (1000, 1)), axes, -axes], axis=1)
    half = rng.uniform(100, 500, (1000, 1, 1))
    momenta = half * np.concatenate([np.ones((1000, 4, 1)), sides], axis=2)
    (tmp_path / "amplitudes").mkdir()
    path = tmp_path / "amplitudes" / "mine.npz"
    write_events(path, Events(momenta, np.arange(1.0, 1001), np.ones(1000)))
    cell = AmplitudeCell(data="mine.npz", points=20, tests=100, width=16, layers=1, dimension_points=0)
    with pytest.raises(PlannerError) as caught:
        check(tmp_path, cell)
    assert str(caught.value) == (
        "amplitudes/mine.npz: Row 7 (counted from 0): p_i . p_j of particles 0 and 2 is 0 GeV^2 and has no logarithm: "
        "leave out events with collinear or soft particles."
    )
    monkeypatch.setattr("isoplan.trainers.amplitudes.surrogate.networks.find_spec", lambda name: name)
    check(tmp_path, cell.model_copy(update={"network": "lloca", "parametrization": "standard"}))
    write_events(path, Events(momenta[8:], np.arange(1.0, 993), np.ones(992)))
    check(tmp_path, cell)


@pytest.mark.parametrize("objective", ["mse", "relative"])
def test_amplitudes_of_both_signs_are_learned_raw(tmp_path: Path, objective: str) -> None:
    """Networks learn amplitudes that are all negative, and amplitudes of which one fifth is negative."""
    cell = AmplitudeCell(data="mine.npz", points=500, tests=300, width=16, layers=2, iterations=400, target="raw",
                         objective=objective, dimension_points=0)  # type: ignore[arg-type]  # fmt: skip
    amplitude = make_toy_events("ttH", 1000, 5).amplitude
    root = place(tmp_path, amplitude=-amplitude)
    found = training.train(root, cell, Silent(tmp_path))
    assert found["loss"] < 0.1
    assert 0 < found["epsilon"] < 0.2
    root = place(tmp_path, amplitude=amplitude - np.quantile(amplitude, 0.2))
    found = training.train(root, cell.model_copy(update={"objective": "mse"}), Silent(tmp_path))
    assert found["loss"] < 0.1
    assert 0 < found["epsilon"] < 0.5


@pytest.mark.parametrize("target", ["log", "raw"])
@pytest.mark.parametrize(("which", "said"), [("train", "400 points to train on"), ("test", "300 points to test on")])
def test_amplitudes_that_are_all_the_same_are_one_sentence(tmp_path: Path, target: str, which: str, said: str) -> None:
    cell = AmplitudeCell(data="mine.npz", points=400, tests=300, width=16, layers=2, iterations=60, dimension_points=0)
    cell = cell.model_copy(update={"target": target})
    order = np.random.default_rng(SHUFFLE).permutation(1000)
    amplitude = make_toy_events("ttH", 1000, 5).amplitude
    same = order[300:700] if which == "train" else order[:300]
    amplitude[same] = 3 * (1 + 1e-15 * np.arange(len(same)) / len(same))
    root = place(tmp_path, amplitude=amplitude)
    with pytest.raises(PlannerError) as caught:
        training.train(root, cell, Silent(tmp_path))
    assert str(caught.value) == (
        f"The amplitude is 3 at all {said}, so there is nothing to learn: give events whose amplitudes differ."
    )


@pytest.mark.parametrize("objective", ["mse", "relative", "heteroscedastic"])
@pytest.mark.parametrize("power", [-1000, -40, 990])
def test_raw_amplitudes_are_learned_in_any_unit(tmp_path: Path, power: int, objective: str) -> None:
    """The results do not depend on the unit of the amplitudes, from 1e-301 to 1e298.

    The units differ by a power of two, so no digit of the dimensionless results changes.
    """
    cell = AmplitudeCell(data="mine.npz", points=400, tests=300, width=16, layers=2, iterations=60, target="raw",
                         objective=objective, dimension_points=0)  # type: ignore[arg-type]  # fmt: skip
    amplitude = make_toy_events("ttH", 1000, 5).amplitude
    plain = training.train(place(tmp_path), cell, plainly := Silent(tmp_path))
    found = training.train(place(tmp_path, amplitude=np.ldexp(amplitude, power)), cell, scaled := Silent(tmp_path))
    assert found["spread"] == np.ldexp(plain["spread"], power)
    assert {**found, "spread": 0} == {**plain, "spread": 0}
    assert scaled.said == plainly.said
    assert found["loss"] < 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"data": "yours.h5"},
            "There is no event file 'yours.h5': put a file with this name into the folder amplitudes of the workspace",
        ),
        (
            {"data": "mine.npz"},
            "amplitudes/mine.npz contains 1,000 events, but the training run needs 10,000 for training, 2,500 for",
        ),
        ({"data": "mine.txt"}, "mine.txt"),
    ],
)
def test_what_a_file_does_not_hold_is_one_sentence(tmp_path: Path, fields: dict[str, object], sentence: str) -> None:
    root = place(tmp_path)
    (root / "amplitudes" / "mine.txt").write_text("no events")
    with pytest.raises(PlannerError) as caught:
        read_cell(find_family("amplitudes", root), fields)
    assert sentence in str(caught.value)
