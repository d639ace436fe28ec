"""Events of a user's file: split so that nothing is shared, known before a cell runs, and refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import PlannerError
from tests.trainers.jets.stream import Silent
from trainers.amplitudes.cell import AmplitudeCell, short, sizes
from trainers.amplitudes.files import write_events
from trainers.amplitudes.source import Facts, Source, facts_of, open_events
from trainers.amplitudes.surrogate import training
from trainers.amplitudes.toy import toy
from trainers.families import find_family, read_cell

MINE = Source("mine.npz", "Zg", 0)


def place(root: Path, process: str = "ttH", n: int = 1000, sqrt_s: float = 0.0) -> Path:
    (root / "amplitudes").mkdir()
    write_events(root / "amplitudes" / "mine.npz", toy(process, n, 5, sqrt_s))
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
    assert short(root, cell).data == "mine.npz"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"data": "yours.h5"},
            "There are no events 'yours.h5': put a file of that name into amplitudes of the workspace",
        ),
        (
            {"data": "mine.npz"},
            "amplitudes/mine.npz holds 1,000 events, and the cell asks for 10,000 to train, 2,500 to",
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
