"""Estimates of durations from bundled training runs, scaled by measurements on this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isoplan.app.sweep_costs import bundled_cells
from isoplan.data.files import path, records
from isoplan.trainers.backend.cluster.machine import Machine, devices
from isoplan.trainers.backend.estimate.calibration import Earlier, Measured, seconds_of
from isoplan.trainers.backend.estimate.forecast import estimate, typical
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import result_of
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import find_family, read_cell
from isoplan.trainers.grid import cells as grid_cells
from isoplan.trainers.grid import parse_grid
from isoplan.trainers.jets.data import STREAMS, chunks
from isoplan.trainers.jets.features import NAMES
from tests.trainers.conftest import workspace

ONE = Machine(1, 8e9)


@pytest.fixture(autouse=True)
def _a_core_of_the_usual_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoplan.trainers.backend.estimate.forecast.core_speed", lambda: 1.0)


def bundled_grid(root: Path, name: str) -> tuple[Family[Any], list[Cell]]:
    """Return the family and the cells (training runs) of a bundled grid."""
    grid = parse_grid(path(f"grids/{name}.toml").read_text(encoding="utf-8"), root, name)
    family = find_family(grid.family, root)
    return family, list(grid_cells(grid, family))


def took(name: str) -> float:
    """Return the total device hours of a bundled grid."""
    return sum(float(row["seconds"]) for row in records(f"grids/{name}.csv")) / 3600


def smallest(family: Family[Any], times: float = 1.0) -> Any:
    """Return a replacement for the measurement function. The replacement measures only the smallest calibration cell.

    The measured speed is the speed of the most similar bundled cell divided by ``times``.
    """

    def measure(root: Path, found: Family[Any], short: Sequence[Cell], machine: Machine) -> list[Measured]:
        size = family.sizes(short[0])
        near = min(bundled_cells(family.name), key=lambda one: (abs(math.log(one.N / (size.N or 1.0))), one.C))
        return [Measured(short[0], near.C / near.seconds / times, 0.0, 1000.0)]

    return measure


@pytest.mark.parametrize("name", ["jets_one_pass", "behavior_negatives", "behavior_share", "behavior_allocation"])
def test_one_short_cell_of_the_smallest_gives_the_seconds_of_the_bundled_grid(root: Path, name: str) -> None:
    family, cells = bundled_grid(root, name)
    family = replace(family, simulation=lambda _: None)
    earlier = bundled_cells(family.name)
    found = estimate(root, family, cells, ONE, smallest(family), earlier)
    assert found.hours is not None
    per = devices(ONE, family.needs(cells[0]))
    assert 1 / 3 < found.hours / per / took(name) < 3
    assert found.basis.startswith(
        f"Estimated from the training times of {len(earlier)} cells of this family on another"
    )
    assert "according to one short cell here." in found.basis
    slow = estimate(root, family, cells, ONE, smallest(family, 4.0), earlier)
    assert slow.hours == pytest.approx(4 * found.hours)


def test_one_tiny_finished_cell_does_not_set_the_rate(root: Path) -> None:
    family, cells = bundled_grid(root, "jets_one_pass")
    family = replace(family, simulation=lambda _: None)
    first, _ = typical(family, cells)
    tiny = first.model_copy(update={"jets": 100, "data": "toy"})
    queue = Queue(root)
    (name,) = queue.add(family, [tiny])
    queue.lease(name, "test")
    files.write_json(result_of(queue.folder(name), 1), {"number": 1, "state": "done", "metrics": {}, "seconds": 2.0})
    found = estimate(root, family, cells, ONE, lambda *_: [], bundled_cells("jets"))
    assert found.hours is not None
    assert 1 / 3 < found.hours / took("jets_one_pass") < 3


def test_finished_cells_scale_those_of_another_machine(root: Path) -> None:
    family, cells = bundled_grid(root, "jets_one_pass")
    family = replace(family, simulation=lambda _: None)
    earlier = [Earlier(1e3 * 4**k, 1e10 * 8**k, 10.0 * 3**k) for k in range(6)]
    size = family.sizes(cells[0])
    queue = Queue(root)
    (name,) = queue.add(family, cells[:1])
    queue.lease(name, "test")
    seconds = 5 * seconds_of(size.N, size.C, earlier) + 5
    result = {"number": 1, "state": "done", "metrics": {}, "seconds": seconds}
    files.write_json(result_of(queue.folder(name), 1), result)
    with_one = estimate(root, family, cells, ONE, lambda *_: [], earlier)
    without = estimate(workspace(root / "other"), family, cells[1:], ONE, lambda *_: [], earlier)
    assert with_one.hours is not None
    assert without.hours is not None
    assert 2.5 < with_one.hours / without.hours < 12
    assert "according to 1 cell that finished here." in with_one.basis


def test_jets_that_are_not_there_are_part_of_the_estimate(root: Path) -> None:
    """The estimate includes the simulation of missing jets, at 35 jets per second.

    The jets of each class are simulated in parts. The 100 training jets of a class need parts of 50 and 100 jets, and
    the 50 validation jets of a class need one part of 50 jets. There are ten classes.
    """
    family = find_family("jets", root)
    cells = [read_cell(family, {"jets": 1000, "validation": 500, "seed": seed}) for seed in (0, 1)]
    found = estimate(root, family, cells, ONE, lambda *_: [], bundled_cells("jets"))
    alone = estimate(root, replace(family, simulation=lambda _: None), cells, ONE, lambda *_: [], bundled_cells("jets"))
    assert found.seconds is not None
    assert alone.seconds is not None
    jets = 10 * (50 + 100) + 10 * 50
    assert found.seconds - alone.seconds == pytest.approx(jets / 35)
    assert found.basis.endswith("The time includes 57 s of one core to simulate the missing samples.")
    for name, parts in (("train", 2), ("validation", 1)):
        folder = root / "jets" / "simulated" / name
        folder.mkdir(parents=True)
        counts = dict.fromkeys(NAMES, 100 if parts == 2 else 50)
        for chunk in chunks(counts, STREAMS[name]):
            (folder / chunk.name).touch()
    assert estimate(root, family, cells, ONE, lambda *_: [], bundled_cells("jets")).seconds == alone.seconds


def test_the_cells_of_the_games_log_are_read() -> None:
    assert len(bundled_cells("behavior")) == sum(
        len(records(f"grids/{folder}behavior_{name}.csv"))
        for folder in ("", "games/")
        for name in ("share", "batch", "allocation", "negatives")
    )
