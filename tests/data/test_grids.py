"""Tables of cells that Isoplan trained: they are complete and reproducible, and fits agree with the known floor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.jets_laws.laws import hold_out
from isoplan.data.catalogue import path, records
from isoplan.engine.fitting import FitSpec, fit
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.worker.attempt_process import run_cell
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.bundle import table_of
from isoplan.trainers.cell import Cell, cell_name
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import cells, parse_grid, read_grid
from isoplan.trainers.jets.cell import JetCell, learning_rate
from tests.engine.fitting.tables import make_runs
from tests.trainers.conftest import workspace

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
    E = next(p for p in fit(FitSpec(), runs).parameters if p.name == "E")
    assert E.ci95 is not None
    assert E.ci95[0] == pytest.approx(0.0082, abs=2e-4)
    assert E.ci95[1] == pytest.approx(0.0312, abs=1e-3)
    assert E.ci95[0] < FLOOR < E.ci95[1]


GRIDS = Path(__file__).parents[2] / "data" / "grids"
JETS = sorted(GRIDS.glob("jets_*.toml"))
EVENTS = {"synthetic": 14.9, "games": 6.24}
"""Mean number of events per training window of each log.

Histories are cut at 32 (synthetic) and 50 (games) events. Two events of each history are not used for training.
"""
PARTICLES, SCATTER = 42, 17
"""Mean and standard deviation of the number of particles in Isoplan's jets (docs/jets.md)."""


def particles(inputs: str) -> float:
    """Return the mean number of particles per jet that a network reads.

    The number of particles is normally distributed and cut at the maximum in ``inputs``.
    """
    most = int(inputs.split("x")[1])
    x = (most - PARTICLES) / SCATTER
    return float(most - SCATTER * (x * norm.cdf(x) + norm.pdf(x)))


@pytest.mark.parametrize("grid", [g for g in JETS if g.with_suffix(".csv").exists()], ids=lambda g: g.stem)
def test_a_table_of_jets_holds_cells_of_its_grid_and_what_they_cost(grid: Path, tmp_path: Path) -> None:
    family = find_family("jets", tmp_path)
    asked = {cell_name(family, cell): cell for cell in cells(read_grid(grid, tmp_path), family)}
    rows = records(f"grids/{grid.stem}.csv")
    assert len({row["run"] for row in rows}) == len(rows)
    for row in rows:
        cell = asked[row["run"]]
        assert isinstance(cell, JetCell)
        sizes = family.sizes(cell)
        assert sizes.C is not None
        N, D, U, C = (float(row[key]) for key in "NDUC")
        assert (N, U) == (sizes.N, cell.jets)
        assert D == U * float(row.get("best_epoch") or 1)
        assert C == pytest.approx(D / U * sizes.C / cell.epochs, rel=0.05)
        assert float(row["n_p"]) == pytest.approx(particles(row["inputs"]), abs=max(0.5, 3 * SCATTER / U**0.5))
        assert float(row["untrained"]) == (float(row["loss"]) > np.log(10) - 0.1)
        if not cell.rate:
            assert float(row["rate_used"]) == pytest.approx(learning_rate(cell.width), rel=1e-6)


def test_the_law_of_our_jets_predicts_the_largest_compute_fifth() -> None:
    """The law predicts one fifth of the cells: those with the largest compute.

    The error of the law is at most half of the error of the best baseline. At least 80 % of these cells lie in their
    95 % prediction intervals.
    """
    found = hold_out()
    held = len(found.outcomes)
    assert found.fitted + held == len(records("grids/jets_one_pass.csv"))
    assert held >= 8
    assert found.law < 0.02
    assert found.law <= found.baselines[found.best] / 2
    assert found.inside >= 0.8 * held


def test_the_rate_of_the_paper_costs_small_cells_most() -> None:
    own = {row["U"]: float(row["loss"]) for row in records("grids/jets_one_pass.csv") if row["width"] == "32"}
    lost = [float(row["loss"]) / own[row["U"]] for row in records("grids/jets_paper_rate.csv")]
    assert len(lost) == 7
    assert min(lost) > 1.3
    assert max(lost[:2]) > 1.6


def test_curves_belong_to_cells_of_the_tables() -> None:
    known = {
        row["run"] for grid in JETS if grid.with_suffix(".csv").exists() for row in records(f"grids/{grid.stem}.csv")
    }
    assert {row["run"] for row in records("grids/jets_curves.csv")} <= known


def test_the_rate_of_a_cell_is_near_the_best_that_the_study_found() -> None:
    losses: dict[tuple[int, str], dict[float, float]] = {}
    for row in records("grids/jets_rates.csv"):
        losses.setdefault((int(row["width"]), row["U"]), {})[float(row["rate_used"])] = float(row["loss"])
    assert len(losses) == 6
    for (width, _), found in losses.items():
        best = min(found, key=lambda rate: found[rate])
        assert 0.4 < learning_rate(width) / best < 2.1


SWEPT = sorted(path for path in GRIDS.glob("**/behavior_*.toml") if path.with_suffix(".csv").exists())


@pytest.mark.parametrize("grid", SWEPT, ids=lambda g: str(g.relative_to(GRIDS)))
def test_a_table_of_recommender_cells_holds_cells_of_its_grid(grid: Path, tmp_path: Path) -> None:
    family = find_family("behavior", tmp_path)
    (tmp_path / "behavior" / "games").mkdir(parents=True)
    asked = {cell_name(family, cell): cell for cell in cells(read_grid(grid, tmp_path), family)}
    rows = records(str(grid.with_suffix(".csv").relative_to(GRIDS.parent)))
    runs = [row["run"] for row in rows]
    assert runs == [name for name in asked if name in runs]
    for row in rows:
        cell = asked[row["run"]]
        assert isinstance(cell, BehaviorCell)
        assert float(row["N"]) == float(row["p_e"]) + float(row["p"])
        assert float(row["s"]) == pytest.approx(float(row["p_e"]) / float(row["N"]), rel=1e-6)
        if cell.budget:
            assert float(row["C_step"]) == pytest.approx(cell.budget, rel=0.1)
        else:
            assert float(row["updates"]) == cell.steps
        assert (int(row["stage"]), int(row["negatives"]), int(row["batch"])) == (cell.stage, cell.negatives, cell.batch)
        assert float(row["D"]) == pytest.approx(float(row["updates"]) * cell.batch * EVENTS[cell.data], rel=0.1)
    points = {row["run"] for row in records(str((grid.parent / "behavior_curves.csv").relative_to(GRIDS.parent)))}
    assert points >= set(runs) or "looks = 0" in grid.read_text()


def test_tables_of_amplitudes_hold_cells_of_their_grids_and_what_they_cost(tmp_path: Path) -> None:
    family = find_family("amplitudes", tmp_path)
    tables: dict[str, dict[str, Cell]] = {}
    for grid in sorted(GRIDS.glob("amplitudes_*.toml")):
        asked = {cell_name(family, cell): cell for cell in cells(read_grid(grid, tmp_path), family)}
        tables.setdefault(table_of(grid).name, {}).update(asked)
    for name, asked in ((name, asked) for name, asked in tables.items() if (GRIDS / name).exists()):
        rows = records(f"grids/{name}")
        assert len({row["run"] for row in rows}) == len(rows)
        for row in rows:
            cell = asked[row["run"]]
            sizes = family.sizes(cell)
            assert (sizes.N, sizes.D) == (float(row["N"]), float(row["D"]))
            assert float(row["C"]) == pytest.approx(sizes.C or 0, rel=1e-6)
            assert (row["process"], int(row["seed"])) == (cell.process, cell.seed)  # type: ignore[attr-defined]
