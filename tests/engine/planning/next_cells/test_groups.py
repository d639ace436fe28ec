"""The question "Next cells" for one of several groups: terminal, Python, and a fit of this group alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import GroupedFit
from isoplan.engine.planning.next_cells.answer import can_advise
from tests.app.terminal.asking import LAW, Run, object_in, one_sentence
from tests.app.terminal.conftest import run as run
from tests.engine.design.tables import runs

ASKED = ("--budget", "1e16", "--spend", "2%", "--max-cells", 4, "--json")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table of two groups: 24 runs of "small", and 30 runs of "large" whose losses are 10 % higher."""
    parts = [("small", runs(24), 1.0), ("large", runs(30, seed=1), 1.1)]
    rows = [pd.DataFrame({**{n: one[n] for n in ("N", "D")}, "loss": factor * one["loss"], "kind": name})
            for name, one, factor in parts]  # fmt: skip
    path = tmp_path / "runs.csv"
    pd.concat(rows).to_csv(path, index=False)
    return path


def test_terminal_and_python_choose_cells_for_one_of_the_groups_that_share_parameters(table: Path, run: Run) -> None:
    file = table.with_name("fit.json")
    file.write_text(run("fit", table, *LAW, "--group", "kind", "--share", "alpha,beta", "--json").out)
    printed = object_in(run("next", file, "--group", "small", *ASKED).out)
    found = ip.fit(ip.runs(table, group="kind"), share=["alpha", "beta"])
    assert isinstance(found, GroupedFit)
    answer = ip.next_cells(found.fits["small"], budget=1e16, spend="2 %", max_cells=4)
    assert answer.file.body["next_cells"] == printed["next_cells"]
    assert 0 < len(printed["next_cells"]) <= 4
    assert printed["after"][-1][0]["expected"] < 0.9 * printed["now"][0]
    assert printed["after"][-1][0]["low"] is None
    repeats = {(cell["N"], cell["D"]) for cell in printed["next_cells"] if cell["repeat"]}
    own = pd.read_csv(table).query("kind == 'small'")
    assert repeats <= set(zip(own["N"], own["D"], strict=True))
    one_sentence(run("next", file, *ASKED), "several groups: choose one of large, small")
    with pytest.raises(PlannerError, match="this is a fit of 2 groups"):
        ip.next_cells(found, budget=1e16)


def test_separate_laws_give_the_cells_of_the_runs_alone(table: Path, run: Run) -> None:
    each, alone = table.with_name("each.json"), table.with_name("alone.json")
    each.write_text(run("fit", table, *LAW, "--group", "kind", "--each", "--json").out)
    alone.write_text(run("fit", table, *LAW, "--where", "kind = 'small'", "--json").out)
    one, other = (object_in(run("next", *file, *ASKED).out) for file in ((each, "--group", "small"), (alone,)))
    assert one["next_cells"] == other["next_cells"]
    assert one["after"] == other["after"]


def test_a_group_that_was_saved_without_runs_is_refused(table: Path, run: Run) -> None:
    raw = json.loads(run("fit", table, *LAW, "--group", "kind", "--share", "alpha,beta", "--json").out)
    for group in raw["groups"].values():
        del group["runs"]
    file = table.with_name("older.json")
    file.write_text(json.dumps(raw))
    one_sentence(run("next", file, "--group", "small", *ASKED), "the fit does not keep its runs")


def test_the_candidates_are_those_of_the_group(table: Path) -> None:
    found = ip.fit(ip.runs(table, group="kind"), share=["alpha", "beta"])
    assert isinstance(found, GroupedFit)
    made = found.fits["small"]
    assert can_advise(made)
    assert not can_advise(replace(made, runs=None))
    result = ip.next_cells(made, budget=1e16, max_cells=2).result
    own = pd.read_csv(table).query("kind == 'small'")
    assert made.runs is not None
    assert sorted(made.runs.columns["N"]) == sorted(own["N"])
    at = result.advice.candidates
    again = {(N, D) for N, D, repeat in zip(at.columns["N"], at.columns["D"], result.repeats, strict=True) if repeat}
    assert again <= set(zip(own["N"], own["D"], strict=True))
    assert np.sum(result.repeats) == len(again) > 0
