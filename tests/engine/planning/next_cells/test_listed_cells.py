"""Next cells from a table, a DataFrame, or a grid file. Cells chosen from a grid are written to another grid file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.app.candidate_cells import cells_of_family, cells_of_grid
from isoplan.engine.design.candidates import candidates_of, listed_candidates
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, to_json
from isoplan.engine.planning.next_cells.answer import next_cells
from isoplan.engine.planning.next_cells.text import as_text
from isoplan.engine.planning.next_cells.typed import TypedSpend
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.quantities import as_typed
from isoplan.trainers.cell import cell_name
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import cells, parse_grid, read_grid, with_value, write_grid
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.app.terminal.conftest import run as run
from tests.engine.design.tables import fitted, table

ASKED = Question("budget", 1e16)
SIZES = np.array([3e4, 1e5, 3e5, 1e6, 3e6])
SAMPLES = np.array([1e7, 3e7, 1e8, 3e8])
N, D = (x.ravel() for x in np.meshgrid(SIZES, SAMPLES))
GRID = """family = "teacher-student"
name = "Sizes"

[cell]
width = [8, 16, 32, 64]
samples = [1000000, 3000000]
batch = 64
"""


@pytest.fixture(scope="module")
def law() -> Fit:
    return fitted(24)


@pytest.fixture
def file(law: Fit, tmp_path: Path) -> Path:
    path = tmp_path / f"fit-{law.hash}.json"
    path.write_text(json.dumps(to_json(law)))
    return path


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "cells.csv"
    pd.DataFrame({"params": N, "tokens": D, "flops": 7 * N * D}).to_csv(path, index=False)
    return path


def test_the_chosen_cells_are_cells_of_the_list(law: Fit) -> None:
    listing = listed_candidates(N, D, 6 * N * D)
    found = next_cells(law, ASKED, TypedSpend(share=0.2), cells=4, candidates=listing)
    at, chosen = found.advice.candidates, list(found.advice.cells)
    assert 1 <= len(chosen) <= 4
    assert [at.columns["N"][cell] for cell in chosen] == [N[row] for row in found.rows]
    assert [at.columns["D"][cell] for cell in chosen] == [D[row] for row in found.rows]
    assert found.advice.cost <= 0.2 * 1e16
    once = next_cells(law, ASKED, TypedSpend(share=0.2), cells=4, candidates=listing)
    assert once.rows == found.rows


def test_a_size_that_is_listed_twice_can_be_chosen_twice(law: Fit) -> None:
    twice = listed_candidates(np.array([3e6, 3e6]), np.array([1e8, 1e8]), np.array([1.8e15, 1.8e15]))
    assert next_cells(law, ASKED, TypedSpend(share=0.5), cells=4, candidates=twice).rows == (0, 1)


def test_terminal_python_and_script_choose_the_same_rows(law: Fit, file: Path, listed: Path, run: Run) -> None:
    asked = ("next", file, "--budget", "1e16", "--spend", "20%", "--max-cells", 4, "--candidates", listed)
    printed = object_in(run(*asked, "--json").out)
    answer = ip.next_cells(law, budget=1e16, spend="20 %", max_cells=4, candidates=pd.read_csv(listed))
    assert answer.file.body["next_cells"] == printed["next_cells"]
    assert [one["row"] for one in printed["next_cells"]] == list(answer.rows)
    for one in printed["next_cells"]:
        assert (one["N"], one["D"]) == (N[one["row"]], D[one["row"]])
        assert one["C"] == pytest.approx(7 * one["N"] * one["D"])  # C is the column of the table: 7 N D, not 6 N D
    assert "Row" in run(*asked).out
    spoken = subprocess.run(
        [sys.executable, "-c", answer.file.script], cwd=file.parent, capture_output=True, text=True, check=True
    )
    assert spoken.stdout.strip() == as_text(answer.result)


def test_cells_of_a_table_of_runs_are_candidates() -> None:
    found = candidates_of(table(N, D, np.ones(len(N))))
    assert found.compute == pytest.approx(6 * N * D)
    row = found.take([2, 5]).row
    assert row is not None
    assert row.tolist() == [2, 5]


def test_the_chosen_cells_of_a_grid_are_written_as_a_grid(file: Path, tmp_path: Path, run: Run) -> None:
    grid, out = tmp_path / "grid.toml", tmp_path / "chosen.toml"
    grid.write_text(GRID)
    options = ("--budget", "1e16", "--spend", "20%", "--max-cells", 3, "--grid", grid, "--workspace", tmp_path)
    printed = object_in(run("next", file, *options, "--out", out, "--json").out)
    family = find_family("teacher-student", tmp_path)
    chosen = cells(read_grid(out, tmp_path), family)
    assert 1 <= len(chosen) <= 3
    sizes = [family.sizes(cell) for cell in chosen]
    assert [(one["N"], one["D"], one["C"]) for one in printed["next_cells"]] == [(s.N, s.D, s.C) for s in sizes]
    every = cells(read_grid(grid, tmp_path), family)
    assert [every[one["row"]] for one in printed["next_cells"]] == chosen
    assert all(cell.model_dump()["batch"] == 64 for cell in chosen)
    listed = tmp_path / "chosen.csv"
    run("next", file, *options, "--out", listed)
    fields = pd.read_csv(listed)
    made = [cell.model_dump() for cell in chosen]
    assert fields.to_dict("records") == [{str(field): cell[str(field)] for field in fields} for cell in made]
    shown, first = run("next", file, *options).out, chosen[0].model_dump()
    assert f"width {first['width']}, samples {as_typed(first['samples'])}" in shown


def test_planned_cells_need_no_loss_and_the_rule_gives_their_compute(
    law: Fit, file: Path, tmp_path: Path, run: Run
) -> None:
    half = pd.DataFrame({"N": N, "D": D, "loss": np.where(np.arange(len(N)) % 2, 1.0, np.nan), "status": "queued"})
    half.loc[0, "N"] = -1.0
    path = tmp_path / "half.csv"
    half.to_csv(path, index=False)
    answer = ip.next_cells(law, budget=1e16, spend="20 %", candidates=half, rule="6npND", n_p=2)
    at = answer.result.advice.candidates
    assert at.row.tolist() == list(range(1, len(N)))
    assert at.compute == pytest.approx(12 * N[1:] * D[1:])
    assert answer.notes == ("Rows of the table that are not used as candidates: 1 with N at or below zero.",)
    told = run("next", file, "--budget", "1e16", "--spend", "20%", "--candidates", path)
    assert answer.notes[0] in told.err
    with pytest.raises(PlannerError, match="map_candidates: this option needs the option candidates"):
        ip.next_cells(law, budget=1e16, map_candidates={"N": "a"})


def test_cells_in_the_queue_are_left_out_and_a_single_cell_is_written_whole(tmp_path: Path) -> None:
    family = find_family("teacher-student", tmp_path)
    grid = parse_grid(GRID, tmp_path)
    first, *others = cells(grid, family)
    found = cells_of_grid(grid, family, {cell_name(family, first)})
    assert found.notes == ("1 of 8 cells of the grid are in the queue or finished. They are left out.",)
    assert cells(parse_grid(write_grid(found.chosen(range(7))), tmp_path), family) == others
    with pytest.raises(PlannerError, match="all 8 cells of the grid are in the queue or finished"):
        cells_of_grid(grid, family, {cell_name(family, cell) for cell in (first, *others)})
    alone = parse_grid(write_grid(cells_of_grid(with_value(grid, "width", 8), family).chosen([0])), tmp_path)
    assert cells(alone, family) == [first]
    single = with_value(with_value(grid, "width", 8), "samples", 1_000_000)
    assert cells(parse_grid(write_grid(cells_of_grid(single, family).chosen([0])), tmp_path), family) == [first]


def test_trained_cells_of_a_family_get_another_seed(tmp_path: Path) -> None:
    family = find_family("teacher-student", tmp_path)
    every = cells_of_family(family, {}, {"N": 1e3, "D": 1e5})
    assert every is not None
    first = cells(every.chosen([0]), family)[0]
    again = cells_of_family(family, {}, {"N": 1e3, "D": 1e5}, {cell_name(family, first)})
    assert again is not None
    assert cells(again.chosen([0]), family)[0] == first.model_copy(update={"seed": 1})
    assert [part.get("seed") for part in again.parts[1:]] == [None] * (len(again.parts) - 1)
    assert again.candidates.compute == pytest.approx(every.candidates.compute)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--candidates", "CELLS", "--grid", "GRID"), "--candidates and --grid both list the cells"),
        (
            ("--candidates", "CELLS", "--out", "x.toml"),
            "--out needs --grid for a .toml file: add --grid, or write another format",
        ),
        (("--candidates", "CELLS", "--sizes", "1e5..1e6"), "Leave out the ranges or the list"),
        (("--candidates", "BARE"), "Candidates: no column contains D. Name a column D, or map it."),
        (("--candidates", "TEXT"), "Candidates: the column of N is not read"),
        (("--candidates", "NONE"), "Candidates: no row has positive numbers in N, D and C"),
        (("--map-candidates", "N=a"), "--map-candidates needs --candidates: add --candidates."),
        (("--grid", "GRID", "--out", "FOLDER"), "not a file in an existing folder"),
        (("--grid", "GRID", "--budget", "1e9", "--spend", "50%", "--out", "x.toml"), "These runs support plans"),
        (("--candidates", "nowhere.csv"), "There is no file nowhere.csv"),
        (("--candidates", "CELLS", "--spend", "1e9"), "cannot pay for the cheapest candidate"),
        (("--grid", "GRID", "--out", "nowhere/x.toml"), "--out cannot write nowhere/x.toml"),
    ],
)
def test_a_list_that_cannot_be_used_is_one_sentence(
    file: Path, listed: Path, tmp_path: Path, run: Run, options: tuple[str, ...], why: str
) -> None:
    grid, bare = tmp_path / "grid.toml", tmp_path / "bare.csv"
    grid.write_text(GRID)
    bare.write_text("N,width\n1e5,3\n")
    text, none = tmp_path / "text.csv", tmp_path / "none.csv"
    text.write_text("N,D\n1e5,1e7\nbig,1e7\n")
    none.write_text("N,D\n1e5,\n,1e7\n")
    places = {"CELLS": listed, "GRID": grid, "BARE": bare, "TEXT": text, "NONE": none, "FOLDER": tmp_path}
    given = [str(places.get(option, option)) for option in options]
    one_sentence(run("next", file, "--budget", "1e16", "--spend", "20%", *given), why)


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        (([1e5, -1.0], [1e7, 1e7], [1e12, 1e12]), "in row 1, N is not a positive number"),
        (([1e5], [np.nan], [1e12]), "in row 0, D is not a positive number"),
        (([1e5], [1e7], [0.0]), "in row 0, C is not a positive number"),
        (([], [], []), "there is no cell"),
    ],
)
def test_wrong_numbers_of_a_list_name_their_row(sizes: tuple[list[float], ...], why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        listed_candidates(*map(np.array, sizes))
