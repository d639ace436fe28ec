"""Options of the candidates: cells near the optimum of their compute, and cells that repeat a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.design.candidates import Candidates, grid_candidates, repeats, with_repeats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, to_json
from isoplan.engine.planning.next_cells.answer import near_optimum, next_cells
from isoplan.engine.planning.next_cells.document import to_json as answer_json
from isoplan.engine.planning.next_cells.picture import chart_map
from isoplan.engine.planning.next_cells.text import as_text, cell_rows
from isoplan.engine.planning.next_cells.typed import TypedSpend
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.planning.scenario.limits import Question
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.app.terminal.conftest import run as run
from tests.engine.design.tables import RULE, fitted

ASKED, SPEND = Question("budget", 1e16), TypedSpend(share=0.02)
GRID = grid_candidates((1e4, 1e6), (1e6, 1e8), RULE, 1e14, 3)


@pytest.fixture(scope="module")
def law() -> Fit:
    return fitted(24)


def test_cells_near_the_optimum(law: Fit, tmp_path: Path, run: Run) -> None:
    kept = near_optimum(law, GRID, RULE, 3.0)
    optimum = frontier(law.law, law.values, kept.compute, RULE).N
    ratio = kept.columns["N"] / optimum
    assert 0 < len(kept) < len(GRID)
    assert (np.abs(np.log(ratio)) <= np.log(3) + 1e-6).all()
    with pytest.raises(PlannerError, match=r"differs by more than a factor 1\.00001 from N"):
        near_optimum(law, GRID.take([0]), RULE, 1.00001)
    file = tmp_path / "fit.json"
    file.write_text(json.dumps(to_json(law)))
    asked = ("next", file, "--budget", "1e16", "--spend", "2%", "--max-cells", 4, "--near-optimum")
    found = object_in(run(*asked, "4", "--json").out)
    assert found["left_out"] > 0
    N, C = (np.array([cell[name] for cell in found["next_cells"]]) for name in ("N", "C"))
    assert (np.abs(np.log(N / frontier(law.law, law.values, C, RULE).N)) <= np.log(4) + 1e-6).all()
    assert f"{found['left_out']} of " in run(*asked, "4").out
    one_sentence(run(*asked, "0.5"), "is not above 1. Give a factor such as 2")


def test_cells_of_the_size_of_a_run_are_repeats(law: Fit) -> None:
    assert law.runs is not None
    runs = law.runs.columns
    N, D = np.r_[runs["N"][:2], runs["N"][0]], np.r_[runs["D"][:2], runs["D"][1]]
    assert repeats(Candidates({"N": N, "D": D}, N, N), runs).tolist() == [True, True, False]
    assert repeats(GRID.take([]), runs).tolist() == []
    joined = with_repeats(GRID, runs, RULE, 1e14)
    again = repeats(joined, runs)
    affordable = 6 * runs["N"] * runs["D"] <= 1e14
    assert again.sum() == affordable.sum() > 0
    assert not again[: len(GRID)].any()
    twice = with_repeats(joined, runs, RULE, 1e14)
    assert len(twice) == len(joined)


def test_repeats_are_marked_in_table_map_and_json(law: Fit) -> None:
    assert law.runs is not None
    at = {axis: np.r_[x[:6], 2 * x[:6]] for axis, x in law.runs.columns.items()}
    compute = 6 * at["N"] * at["D"]
    cells = Candidates(at, compute, compute, np.arange(12))
    found = next_cells(law, ASKED, TypedSpend(share=0.2), candidates=cells, cells=12)
    marked = [cell["repeat"] for cell in answer_json(found)["next_cells"]]
    assert marked == [row < 6 for row in found.rows]
    assert any(marked)
    head, *rows = cell_rows(found)
    assert [row[head.index("Kind")] == "repeat" for row in rows] == marked
    assert "Repeats of a run, to train with another seed: cell" in as_text(found) or not found.advice.pays
    chart = chart_map(found)
    assert chart.columns["repeat"].sum() == 6
    texts = [text for points in chart.points[1:] for text in points.texts]
    assert sum("repeat of a run" in text for text in texts) >= 1


def test_a_default_grid_contains_repeats(law: Fit) -> None:
    found = next_cells(law, ASKED, SPEND, cells=4)
    assert found.repeats.sum() == 24
    assert found.far == 0
