"""The columns of the bundled tables equal the columns of a training run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("skdim")

from isoplan.trainers.amplitudes.cell import AmplitudeCell
from isoplan.trainers.amplitudes.family import COLUMNS
from isoplan.trainers.amplitudes.surrogate import training
from tests.trainers.jets.stream import Silent


def test_a_cell_fills_every_column(tmp_path: Path) -> None:
    cell = AmplitudeCell(
        data="toy", points=200, width=8, iterations=40, tests=200, dimension_points=100, objective="heteroscedastic"
    )
    found = training.train(tmp_path, cell, Silent(tmp_path))
    assert set(COLUMNS.measured) <= set(found)
    assert set(COLUMNS.fields) <= set(AmplitudeCell.model_fields)
    assert not set(COLUMNS.fields) & set(COLUMNS.measured)
