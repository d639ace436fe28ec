"""Next cells from a table of runs: the law is fitted first, or first cells are advised if it is not determined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.engine.design.candidates import grid_candidates, listed_candidates
from isoplan.engine.design.spread import first_cells
from isoplan.engine.fitting import FitSpec, fit, to_json
from isoplan.engine.schema import Runs
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.app.terminal.conftest import run as run
from tests.engine.design.tables import LAW, RULE, TRUTH, runs, table

REFUSED = r"^Option law: it applies to a table of runs, not to a fit\. Leave it out\.$"
NONE = {"N": np.empty(0), "D": np.empty(0)}


def write(made: Runs, path: Path) -> Path:
    """Write the runs as a table with the columns size, D and loss."""
    rows = zip(made["N"].tolist(), made["D"].tolist(), made["loss"].tolist(), strict=True)
    path.write_text("size,D,loss\n" + "".join(f"{N!r},{D!r},{y!r}\n" for N, D, y in rows))
    return path


def test_a_table_gives_the_cells_of_its_fit(tmp_path: Path, run: Run) -> None:
    path, made = write(runs(20), tmp_path / "runs.csv"), fit(FitSpec(), runs(20), suggested=True)
    file = tmp_path / "fit.json"
    file.write_text(json.dumps(to_json(made)))
    asked = ("--budget", "1e16", "--spend", "2%", "--max-cells", 3, "--json")
    of_table = object_in(run("next", path, "--map", "N=size", *asked).out)
    of_fit = object_in(run("next", file, *asked).out)
    assert of_table["next_cells"] == of_fit["next_cells"]
    assert of_table["now"] == of_fit["now"]
    one_sentence(run("next", file, "--map", "N=size", *asked), "--map applies to a table of runs")
    one_sentence(run("next", path, "--group", "a", *asked), "--group selects a fit of a FIT.json")
    one_sentence(run("next", path, "--law", "chinchila", *asked), "chinchila")


@pytest.mark.parametrize("question", [("--budget", "1e16"), ("--target-loss", "0.6")])
def test_too_few_runs_give_cells_that_determine_the_law(tmp_path: Path, run: Run, question: tuple[str, str]) -> None:
    few = runs(3)
    path = write(few, tmp_path / "runs.csv")
    asked = ("next", path, "--map", "N=size", *question)
    found = object_in(run(*asked, "--json").out)
    assert found["reason"].startswith("chinchilla has 5 free parameters (E, A, B, alpha, beta) but only 3 runs")
    assert found["sentence"].startswith("First train 7 cells, spread over N and D, for ")
    assert found["target_compute"] == (1e16 if question[0] == "--budget" else None)
    N, D = (np.array([cell[axis] for cell in found["next_cells"]]) for axis in ("N", "D"))
    y = LAW.predict(np.array(TRUTH), {"N": N, "D": D})
    after = fit(FitSpec(), table(np.r_[few["N"], N], np.r_[few["D"], D], np.r_[few["loss"], y]), suggested=True)
    assert after.n == 10
    script = run(*asked, "--format", "python").out
    names = dict[str, Any]()
    exec(script, names)
    assert names["cells"].take(names["chosen"]).columns["N"] == pytest.approx(N)


def test_python_reads_runs_and_tables(tmp_path: Path, run: Run) -> None:
    few, path = runs(3), write(runs(3), tmp_path / "runs.csv")
    printed = object_in(run("next", path, "--map", "N=size", "--budget", "1e16", "--json").out)
    of_runs = ip.next_cells(few, budget=1e16)
    assert of_runs.document.body == printed
    frame = pd.DataFrame({"N": few["N"], "D": few["D"], "loss": few["loss"]})
    assert ip.next_cells(frame, budget=1e16).rows == of_runs.rows
    assert ip.next_cells(frame, budget=1e16).document.body["next_cells"] == printed["next_cells"]
    many = ip.next_cells(runs(20), budget=1e16, spend="2%", max_cells=3)
    of_fit = ip.next_cells(fit(FitSpec(), runs(20), suggested=True), budget=1e16, spend="2%", max_cells=3)
    assert many.result.advice.rounds == of_fit.result.advice.rounds
    with pytest.raises(ip.PlannerError, match=REFUSED):
        ip.next_cells(fit(FitSpec(bootstrap=20), runs(20)), budget=1e16, law="chinchilla")
    with pytest.raises(ip.PlannerError, match="Law 'chinchila' is unknown"):
        ip.next_cells(few, budget=1e16, law="chinchila")


def test_a_constant_axis_gives_cells_of_other_sizes(tmp_path: Path, run: Run) -> None:
    D = np.geomspace(1e6, 1e8, 12)
    path = write(table(np.full(12, 1e5), D, np.linspace(2, 1, 12)), tmp_path / "runs.csv")
    found = object_in(run("next", path, "--map", "N=size", "--budget", "1e16", "--json").out)
    assert "has one value only (1e+05) but A and alpha need 3" in found["reason"]
    sizes = {round(cell["N"]) for cell in found["next_cells"]} | {100_000}
    assert len(sizes) >= 3


def test_listed_cells_are_named_and_a_small_spend_is_one_sentence(tmp_path: Path, run: Run) -> None:
    path, cells = write(runs(3), tmp_path / "runs.csv"), tmp_path / "cells.csv"
    cells.write_text("N,D\n" + "".join(f"{n},{d}\n" for n in (1e4, 3e4, 1e5) for d in (1e6, 3e6, 1e7)))
    asked = ("next", path, "--map", "N=size", "--budget", "1e16", "--candidates", cells)
    found = object_in(run(*asked, "--json").out)
    rows = [cell["row"] for cell in found["next_cells"]]
    assert len(set(rows)) == len(rows) == 7
    costs = [cell["C"] for cell in found["next_cells"]]
    assert costs == sorted(costs)
    one_sentence(run(*asked, "--spend", "1e9"), "cannot pay for the cheapest candidate")
    one_sentence(run(*asked, "--sizes", "1e5..1e6"), "Leave out the ranges or the list")


def test_first_cells_vary_each_axis_independently_and_keep_to_the_spend() -> None:
    grid = grid_candidates((1e4, 1e6), (1e6, 1e8), RULE, np.inf, 3)
    chosen = first_cells(grid, NONE, 5, 12, np.inf)
    at = grid.take(chosen)
    assert len(chosen) == 10
    assert all(len(np.unique(x)) >= 3 for x in at.columns.values())
    assert abs(np.corrcoef(np.log(at.columns["N"]), np.log(at.columns["D"]))[0, 1]) < 0.9
    spend = 4 * float(grid.cost.min())
    some = first_cells(grid, NONE, 5, 12, spend)
    assert 1 <= len(some) <= 4
    assert grid.cost[some].sum() <= spend
    N = np.geomspace(1e4, 1e6, 12)
    ray = {"N": N, "D": 20 * N}
    assert len(first_cells(grid, ray, 5, 12, np.inf)) >= 1
    one = listed_candidates(np.array([1e5]), np.array([1e7]), np.array([6e12]))
    assert first_cells(one, NONE, 5, 12, np.inf) == [0]
