"""Quantities of a jet training run before training: sizes, batch, learning rate, needs, and invalid fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.cell import cell_name
from isoplan.trainers.families import find_family, read_cell
from isoplan.trainers.jets.cell import JetCell, calibration_cell, memory, needs, sizes


def cell(**fields: object) -> JetCell:
    return JetCell.model_validate({"data": "toy", **fields})


def test_parameters_are_those_of_the_paper() -> None:
    for width in (4, 8, 16, 32, 64, 96, 128, 256, 512):
        assert sizes(cell(width=width)).N == 48 * width**2 + 87 * width + 10
    assert sizes(cell(width=8, inputs="3x40")).N == 48 * 64 + 87 * 8 + 10 - 18 * 8


def test_samples_seen_are_said_where_they_are_known() -> None:
    once = sizes(cell(jets=5000))
    assert (once.U, once.D) == (5000, 5000)
    assert (sizes(cell(jets=5000, epochs=30)).U, sizes(cell(jets=5000, epochs=30)).D) == (5000, None)


def test_compute_is_that_of_the_paper_plus_attention() -> None:
    wide, narrow = sizes(cell(width=512, jets=1000)), sizes(cell(width=4, jets=1000))
    assert wide.C is not None
    assert narrow.C is not None
    assert wide.C / (6 * 42 * wide.N * 1000) == pytest.approx(1.07, abs=0.06)  # type: ignore[operator]
    assert narrow.C / (6 * 40 * narrow.N * 1000) > 2  # type: ignore[operator]


@pytest.mark.parametrize(
    ("jets", "epochs", "batch"),
    [(10, 1, 1), (900, 1, 3), (10_000, 1, 12), (10_000, 100, 67), (300_000, 1, 68), (10**8, 1, 128)],
)
def test_a_batch_goes_by_the_root_of_the_jets_where_that_leaves_250_updates(jets: int, epochs: int, batch: int) -> None:
    found = cell(jets=jets, epochs=epochs)
    assert found.jets_a_batch == batch
    assert found.updates_a_pass * epochs >= min(250, jets)
    assert cell(jets=jets, epochs=epochs, batch=64).jets_a_batch == 64


def test_a_pass_that_does_not_divide_has_a_smaller_last_batch() -> None:
    assert cell(jets=1000, batch=128).updates_a_pass == 8


def test_a_rate_is_taken_as_it_is_and_else_falls_with_the_width() -> None:
    assert cell(rate=1e-4).peak_rate == 1e-4
    assert cell(width=64).peak_rate < cell(width=8).peak_rate <= 0.02


def test_memory_grows_with_what_takes_it() -> None:
    assert memory(cell(width=64)) > 2.5 * memory(cell(width=16))
    assert memory(cell(inputs="21x10")) < memory(cell(inputs="21x128")) / 10
    assert needs(cell(threads=2)).cores == 2
    assert needs(cell(device="cpu")).gpu_memory == 0 < needs(cell()).gpu_memory


def test_the_short_cell_is_the_same_model_without_simulation() -> None:
    found = calibration_cell(cell(data="simulated", width=32, jets=300_000, epochs=50, tests=500_000))
    assert (found.width, found.data, found.epochs, found.tests) == (32, "toy", 1, 0)
    assert sizes(found).C < 1e12  # type: ignore[operator]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"width": 0}, "The field width of the family jets cannot be 0: input should be greater than or equal to 1."),
        ({"inputs": "5x5"}, "The field inputs of the family jets cannot be '5x5'"),
        ({"data": "../secret"}, "The field data of the family jets cannot be '../secret'"),
        ({"data": "mine"}, "There are no jets 'mine': put JetClass files into jets/mine/train"),
        ({"width": 100, "heads": 3}, "Width 100 cannot be split over 3 heads"),
        ({"schedule": "cosine", "epochs": 2}, "use constant if there is more than one epoch"),
    ],
)
def test_a_cell_that_cannot_be_is_one_sentence(fields: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(PlannerError) as caught:
        read_cell(find_family("jets", tmp_path), fields)
    assert sentence in str(caught.value)


def test_a_folder_of_files_in_the_workspace_is_a_choice(tmp_path: Path) -> None:
    (tmp_path / "jets" / "mine" / "train").mkdir(parents=True)
    family = find_family("jets", tmp_path)
    assert cell_name(family, read_cell(family, {"data": "mine"})) != cell_name(family, read_cell(family, {}))
