"""Finished cells (training runs) as bundled tables: one row per cell, thinned curves, and no unfinished cells."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest

from isoplan.trainers import bundle
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.families import find_family, read_cell
from isoplan.trainers.grid import cells, read_grid
from tests.app.test_cells import finish

GRIDS = Path(__file__).parents[2] / "data" / "grids"


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """Return a workspace with three cells of the one-pass grid. Two of the cells are finished."""
    family, queue = find_family("jets", tmp_path), Queue(tmp_path)
    three = cells(read_grid(GRIDS / "jets_one_pass.toml", tmp_path), family)[:3]
    for i, name in enumerate(queue.add(family, three)[:2]):
        metrics = {"loss": 1.5 + i, "accuracy": 0.25, "N": 1126.0, "R_top_error": 0.123456789, "untrained": 0.0}
        finish(tmp_path, name, metrics=metrics, sizes={"N": 1.0, "U": 1000.0})
        points = [f'{{"step": {k}, "at": 0.0, "loss": {2 - k / 1000}, "samples": {4.0 * k}}}' for k in range(1, 301)]
        (tmp_path / "cells" / name / "events-1.jsonl").write_text("\n".join(points) + "\n")
    return tmp_path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder that contains the grid files of the family ``jets`` but no tables."""
    folder = tmp_path / "out"
    folder.mkdir()
    for path in GRIDS.glob("jets_*.toml"):
        shutil.copy(path, folder)
    return folder


def test_finished_cells_become_rows_in_the_order_of_their_grid(space: Path, out: Path) -> None:
    bundle.main("jets", space, out)
    rows = read(out / "jets_one_pass.csv")
    assert [(row["width"], row["loss"], row["N"]) for row in rows] == [("4", "1.5", "1126"), ("8", "2.5", "1126")]
    assert rows[0]["R_top_error"] == "0.1234568"
    assert "R_top" not in rows[0]
    assert sorted(path.name for path in out.glob("*.csv")) == ["jets_curves.csv", "jets_one_pass.csv"]
    before = (out / "jets_one_pass.csv").read_bytes()
    bundle.main("jets", space, out)
    assert (out / "jets_one_pass.csv").read_bytes() == before


def test_curves_keep_their_first_and_last_point_and_few_between(space: Path, out: Path) -> None:
    bundle.main("jets", space, out)
    points = read(out / "jets_curves.csv")
    first = [point for point in points if point["run"] == points[0]["run"]]
    assert 20 < len(first) <= bundle.POINTS
    assert (first[0]["update"], first[-1]["update"], first[-1]["samples"]) == ("1", "300", "1200")


def test_rows_that_are_there_stay_until_their_cell_finishes_here(space: Path, out: Path) -> None:
    bundle.main("jets", space, out)
    table, curves = (out / f"jets_{name}.csv" for name in ("one_pass", "curves"))
    before, lines = read(table), read(curves)
    finish(space, before[1]["run"], metrics={"loss": 9.5}, sizes={})
    Queue(space).delete([before[0]["run"]])
    bundle.main("jets", space, out)
    after = read(table)
    assert after[0] == before[0]
    assert after[1]["loss"] == "9.5"
    assert read(curves) == lines


def test_grids_that_differ_after_a_hyphen_share_a_table(space: Path, out: Path) -> None:
    """Grids whose names differ only after a hyphen write to one shared table.

    The shared table has each cell once, in the order of the grids. No grid has a table of its own.
    """
    bundle.main("jets", space, out)
    rows = read(out / "jets_one_pass.csv")
    text = (out / "jets_one_pass.toml").read_text()
    for path in out.glob("jets_*"):
        path.unlink()
    for name in ("jets_one_pass-a.toml", "jets_one_pass-b.toml"):
        (out / name).write_text(text)
    bundle.main("jets", space, out)
    assert sorted(path.name for path in out.glob("*.csv")) == ["jets_curves.csv", "jets_one_pass.csv"]
    assert read(out / "jets_one_pass.csv") == rows


def test_every_grid_of_jets_can_be_read_and_has_the_cells_that_it_says(tmp_path: Path) -> None:
    family = find_family("jets", tmp_path)
    found = {path.stem: cells(read_grid(path, tmp_path), family) for path in GRIDS.glob("jets_*.toml")}
    counts = {name: len(made) for name, made in found.items()}
    assert counts["jets_one_pass"] >= 40
    assert counts["jets_repeated"] >= 25
    assert counts["jets_inputs"] == 16
    assert {cell.rate for cell in found["jets_paper_rate"]} == {1e-4}  # type: ignore[attr-defined]
    assert all(cell.tests >= 500_000 for cell in found["jets_rejection"])  # type: ignore[attr-defined]
    for made in found.values():
        assert all(read_cell(family, cell.model_dump()) == cell for cell in made)


def test_every_grid_of_amplitudes_can_be_read_and_has_the_cells_that_it_says(tmp_path: Path) -> None:
    family = find_family("amplitudes", tmp_path)
    found = {path: cells(read_grid(path, tmp_path), family) for path in GRIDS.glob("amplitudes_*.toml")}
    for path, made in found.items():
        assert re.search(rf"^# {len(made)} cells?, about ", path.read_text(), re.MULTILINE)
        assert all(read_cell(family, cell.model_dump()) == cell for cell in made)
    data = [cell.model_dump() for path, made in found.items() for cell in made if "_data" in path.stem]
    assert len({tuple(c.values()) for c in data}) == len(data)
    few, most, three = (100, 300, 1000, 3000), (100, 300, 1000, 3000, 10_000, 30_000), (0, 1, 2)
    scans: dict[tuple[str, str], tuple[tuple[int, ...], tuple[int, ...]]]
    scans = {(process, "log"): (few, three) for process in ("ttH", "WZ")}
    scans |= {(process, "log"): (most, three) for process in ("Zg", "Zgg", "Zggg")}
    scans |= {("ttH", "raw"): ((300, 1000, 3000, 10_000), (0, 1))}
    assert {c["rate"] for c in data} == {0.003}
    asked = {(c["process"], c["target"], c["points"], c["seed"], c["iterations"]) for c in data}
    assert {one[:2] for one in asked} == set(scans)
    for (process, target), (points, seeds) in scans.items():
        own = {(D, seed) for p, t, D, seed, _ in asked if (p, t) == (process, target)}
        assert own == {(D, seed) for D in points for seed in seeds}
        for D in points:
            ladder = sorted({one[4] for one in asked if one[:4] == (process, target, D, 0)})
            assert ladder[-1] == 2 * ladder[-2]
            for seed in seeds:
                assert max(one[4] for one in asked if one[:4] == (process, target, D, seed)) in ladder[-2:]
