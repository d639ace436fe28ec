"""The grids that our trainers ran: complete, reproducible, and with the floor that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.catalogue import TRAINED, path, records
from engine.fitting import FitSpec, fit
from tests.engine.fitting.tables import make_runs
from tests.trainers.conftest import workspace
from trainers.backend.queue import Queue
from trainers.backend.work import run_cell
from trainers.families import find_family
from trainers.grid import cells, parse_grid

ROWS = records("grids/teacher_student.csv")
FLOOR = 0.01


def test_the_table_has_every_cell_of_the_grid_and_what_it_costs(tmp_path: Path) -> None:
    family = find_family("teacher-student", tmp_path)
    grid = cells(parse_grid(path("grids/teacher_student.toml").read_text(encoding="utf-8"), tmp_path), family)
    assert len(grid) == len(ROWS) == 48
    for cell, row in zip(grid, ROWS, strict=True):
        sizes = family.sizes(cell)
        assert (sizes.N, sizes.D, sizes.C) == (float(row["N"]), float(row["D"]), float(row["C"]))
        assert float(row["loss"]) == pytest.approx(float(row["clean"]) + FLOOR, rel=1e-12)


def test_a_cell_gives_the_committed_loss_again(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    family = find_family("teacher-student", root)
    first = cells(parse_grid(path("grids/teacher_student.toml").read_text(encoding="utf-8"), root), family)[0]
    queue = Queue(root)
    (name,) = queue.add(family, [first])
    assert run_cell(str(queue.folder(name)), queue.lease(name, "test")) == "done"
    result = queue.find(name).result
    assert result is not None
    assert result["metrics"]["loss"] == pytest.approx(float(ROWS[0]["loss"]), rel=1e-6)


def test_the_known_floor_lies_in_the_interval_of_the_fit() -> None:
    runs = make_runs({key: np.array([float(row[key]) for row in ROWS]) for key in ("N", "D", "loss")})
    E = next(p for p in fit(FitSpec(law=TRAINED[0].law), runs).parameters if p.name == "E")
    assert E.ci95 is not None
    assert E.ci95[0] == pytest.approx(0.0082, abs=2e-4)
    assert E.ci95[1] == pytest.approx(0.0312, abs=1e-3)
    assert E.ci95[0] < FLOOR < E.ci95[1]
