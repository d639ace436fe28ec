"""Quantities of an amplitude cell before training: sizes, iterations, resources, and errors for invalid cells."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes import cell as of_cell
from isoplan.trainers.amplitudes.cell import AmplitudeCell, calibration_cell, memory, needs, sizes
from isoplan.trainers.amplitudes.processes import PROCESSES
from isoplan.trainers.families import find_family, read_cell

ROOT = Path("nowhere")


def cell(**fields: object) -> AmplitudeCell:
    return AmplitudeCell.model_validate(fields)


def test_every_built_in_process_can_be_asked_for() -> None:
    assert get_args(AmplitudeCell.model_fields["process"].annotation) == tuple(PROCESSES)


@pytest.mark.parametrize(("process", "invariants"), [("Zg", 6), ("ttH", 10), ("Zgggg", 21)])
def test_sizes_are_those_counted_by_hand(process: str, invariants: int) -> None:
    found = sizes(ROOT, cell(process=process, width=32, layers=2, points=700, iterations=50, batch=64))
    assert found.N == invariants * 32 + 32 + 32 * 32 + 32 + 32
    assert (found.D, found.seen, found.passed) == (700, 3200, 3200)
    assert found.C == 3200 * (4 * invariants * 32 + 6 * (32 * 32 + 32))
    fixed = sizes(ROOT, cell(process=process, width=32, layers=2, sqrt_s=1000))
    assert found.N - (fixed.N or 0) == (64 if process == "Zg" else 32)
    both = sizes(ROOT, cell(process=process, width=32, layers=2, objective="heteroscedastic"))
    assert (both.N or 0) - found.N == 32


def test_a_budget_gives_the_iterations_and_parameters_the_width() -> None:
    found = sizes(ROOT, cell(parameters=1e5, layers=0, budget=1e13))
    assert found.N == pytest.approx(1e5, rel=0.02)
    assert found.C == pytest.approx(1e13, rel=1e-3)
    assert found.C / found.seen / found.N == pytest.approx(6, rel=0.05)  # type: ignore[operator]


def test_a_batch_is_at_most_all_points() -> None:
    found = cell(points=50)
    assert (found.points_a_batch, found.validation) == (50, 12)
    assert cell(points=2).validation == 1


def test_needs_grow_with_what_takes_them() -> None:
    assert memory(ROOT, cell(points=10**6)) > 10 * memory(ROOT, cell(points=1000, tests=1000, dimension_points=0))
    assert needs(ROOT, cell(threads=2)).cores == 2
    assert needs(ROOT, cell(device="cpu")).gpu_memory == 0 < needs(ROOT, cell()).gpu_memory


def test_the_short_cell_is_the_same_model_without_simulation() -> None:
    whole = cell(process="ttH", parameters=1e5, layers=0, points=10**6, budget=1e15)
    few = calibration_cell(ROOT, whole)
    assert sizes(ROOT, few).N == sizes(ROOT, whole).N
    assert (few.points, few.iterations, few.batch, few.dimension_points) == (1000, 66, 128, 0)
    assert (few.data, few.process) == ("toy", "ttH")
    assert calibration_cell(ROOT, cell()).iterations == 765
    assert calibration_cell(ROOT, cell(iterations=20)).iterations == 20


def test_the_short_cell_asks_for_no_more_tests_than_the_cell() -> None:
    assert calibration_cell(ROOT, cell(tests=100)).tests == 100
    assert calibration_cell(ROOT, cell(tests=20_000)).tests == 1000


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"process": "gg"}, "The field process of the family amplitudes cannot be 'gg'"),
        ({"data": "../secret"}, "The field data of the family amplitudes cannot be '../secret'"),
        ({"layers": 0}, "Layers is 0, so it is computed from N, but N is 0: set Parameters N, or set Layers."),
        ({"parameters": 5}, "N = 5 is too small for an MLP with 6 invariants and 3 layers"),
        ({"budget": 1e4}, "The budget of 1e+04 FLOPs is less than one iteration of 6.54e+06 FLOPs"),
        ({"process": "ttH", "sqrt_s": 400}, "470"),
        ({"dimension_points": 50}, "The intrinsic dimension of 50 points is too uncertain"),
        (
            {"tests": 5000},
            "dimension_points is 5,000 and tests is 5,000, so random subsets would contain nearly the same "
            "points: set tests to 10,000 or more, or dimension_points to 2,500 or less.",
        ),
        ({"tests": 150, "dimension_points": 100}, "set tests to 200 or more, or dimension_points to 0."),
    ],
)
def test_a_cell_that_cannot_be_is_one_sentence(fields: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(PlannerError) as caught:
        read_cell(find_family("amplitudes", tmp_path), fields)
    assert sentence in str(caught.value)
    assert str(caught.value).count(". ") == str(caught.value).count("p_i . p_j")


def test_half_of_the_test_points_are_enough_for_the_dimension(tmp_path: Path) -> None:
    family = find_family("amplitudes", tmp_path)
    for tests, points in ((10_000, 5_000), (200, 100)):
        found = read_cell(family, {"tests": tests, "dimension_points": points})
        assert isinstance(found, AmplitudeCell)
        assert found.tests == 2 * found.dimension_points
    with pytest.raises(PlannerError, match="dimension_points is 5,001 and tests is 10,001, so random subsets would"):
        read_cell(family, {"tests": 10_001, "dimension_points": 5_001})


def test_the_dimension_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.trainers.amplitudes.surrogate.accuracy.find_spec", lambda name: None)
    family = find_family("amplitudes", tmp_path)
    with pytest.raises(PlannerError, match="needs scikit-dimension"):
        read_cell(family, {})
    assert isinstance(read_cell(family, {"dimension_points": 0}), of_cell.AmplitudeCell)
