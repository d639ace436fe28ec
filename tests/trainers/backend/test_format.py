"""Compatibility of the files of a queue: old folders can be read, and old programs can read new files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import launch, read_sweeps
from isoplan.trainers.backend.store.record import NEWER
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import parse_grid

PROGRAM = """
[earlier]
command = ["program-of-a-user"]
sizes = { N = "size", C = "6*size" }
fields.size = { kind = "integer", default = 1 }
"""
GRID = 'family = "earlier"\n\n[cell]\nsize = [8, 16]\n'
SWEEP, DONE, HELD = "4d238ee99c2039c8a60e", "bac14667057ac99e172c", "e84d3b02aaba9e43e63c"
SPEC = (
    '{"cell":{"deterministic":true,"seed":0,"size":%d,"threads":1},"created":"2026-09-01T10:00:00.000+00:00",'
    '"family":"earlier","schema":1,"sweep":"4d238ee99c2039c8a60e","version":"e92d59180f97"}'
)
WRITTEN = {
    f"cells/{DONE}/spec.json": SPEC % 8,
    f"cells/{DONE}/lease.json": '{"number": 1, "runner": "host-1", "given": "2026-09-01T10:00:01.000+00:00", '
    '"checkpoint": 0, "device": "cpu", "away": false}',
    f"cells/{DONE}/result-1.json": '{"number": 1, "state": "done", "metrics": {"loss": 0.5}, "seconds": 2.5, '
    '"device": "cpu", "steps": 5}',
    f"cells/{HELD}/spec.json": SPEC % 16,
    f"cells/{HELD}/order.json": '{"priority": 3, "held": true, "cancelled": false, "since": 0}',
    f"sweeps/{SWEEP}/spec.json": '{"schema": 1, "family": "earlier", "version": "e92d59180f97", "name": "", '
    '"grid": "family = \\"earlier\\"\\n\\n[cell]\\nsize = [8, 16]\\n", "created": "2026-09-01T10:00:00.000+00:00", '
    f'"cells": ["{DONE}", "{HELD}"], "flops": [48.0, 96.0], "before": [0, 0]}}',
    f"sweeps/{SWEEP}/order.json": '{"priority": 2, "held": false, "cancelled": false, "why": "", '
    '"cap": {"hours": 20.0, "price": 2.5, "currency": "EUR"}}',
    "programs.toml": PROGRAM,
}
"""Files of a workspace with one finished cell and one cell on hold, in the format of schema 1."""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """Return a workspace with the files of ``WRITTEN``."""
    for name, text in WRITTEN.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_queue_that_was_written_earlier_is_read(space: Path) -> None:
    cells = Queue(space).scan()
    assert {name: (cell.state, cell.damage, cell.cell["size"]) for name, cell in cells.items()} == {
        DONE: ("done", "", 8),
        HELD: ("held", "", 16),
    }
    assert (cells[DONE].result or {})["metrics"] == {"loss": 0.5}
    assert (cells[DONE].number, cells[HELD].order.priority) == (1, 3)
    (sweep,) = read_sweeps(space)
    assert (sweep.key, sweep.cells, sweep.flops, sweep.order.priority) == (SWEEP, (DONE, HELD), (48.0, 96.0), 2)
    assert sweep.order.cap.text == "50 EUR"


def test_the_same_grid_continues_the_earlier_sweep_without_new_cells(space: Path) -> None:
    sweep = launch(space, parse_grid(GRID, space, "grid.toml"), find_family("earlier", space))
    assert (sweep.key, sweep.cells) == (SWEEP, (DONE, HELD))
    assert {path.relative_to(space).as_posix() for path in space.rglob("*") if path.is_file()} == WRITTEN.keys()
    assert (space / "cells" / DONE / "spec.json").read_text() == SPEC % 8


def test_cells_and_sweeps_that_are_launched_now_can_be_read_by_earlier_programs(tmp_path: Path) -> None:
    """New files have schema 1, because old programs reject a cell with a higher schema."""
    (tmp_path / "programs.toml").write_text(PROGRAM)
    launch(tmp_path, parse_grid(GRID, tmp_path, "grid.toml"), find_family("earlier", tmp_path))
    for name in (f"cells/{DONE}/spec.json", f"sweeps/{SWEEP}/spec.json"):
        now, before = json.loads((tmp_path / name).read_text()), json.loads(WRITTEN[name])
        assert now | {"created": ""} == before | {"created": ""}


def test_a_cell_of_a_newer_program_is_not_trained(space: Path) -> None:
    place = space / "cells" / HELD / "spec.json"
    place.write_text(place.read_text().replace('"schema":1', '"schema":2'))
    assert (Queue(space).find(HELD).state, Queue(space).find(HELD).damage) == ("failed", NEWER)
