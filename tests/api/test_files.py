"""Tests of files and figures of the Python API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoplan as ip
from isoplan.engine.fitting import Fit, to_json
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.document import to_json as plan_to_json
from isoplan.options import as_text
from tests.api.conftest import (
    MACHINE,
    MINIMA,
    ONE_PASS,
    ROLES,
    isoplan,
    single,
)

# Files


def test_what_is_saved_is_loaded(one_pass: Fit, tmp_path: Path) -> None:
    ip.save(one_pass, tmp_path / "fit.json")
    fit = ip.load(tmp_path / "fit.json")
    assert isinstance(fit, Fit)
    assert to_json(fit) == to_json(one_pass)
    made = ip.plan(fit, target_loss=2.2, max_unique="100 B", **MACHINE)
    ip.save(made, tmp_path / "plan.json")
    plan = ip.load(str(tmp_path / "plan.json"))
    assert isinstance(plan, Plan)
    assert plan_to_json(plan) == plan_to_json(made)
    assert plan.sentence == made.sentence


@pytest.mark.parametrize(("ending", "form"), [("json", "json"), ("csv", "csv"), ("md", "markdown"), ("tex", "latex")])
def test_answers_are_written_as_the_terminal_prints_them(
    ending: str, form: str, folder: Path, one_pass: Fit, tmp_path: Path
) -> None:
    card, path = folder / "one_pass.json", tmp_path / f"answer.{ending}"
    ip.save(ip.plan(one_pass, budget=1e21), path)
    assert path.read_text() == isoplan("plan", card, "--budget", 1e21, "--format", form).replace("\r\n", "\n")
    ip.save(ip.smaller(one_pass, budget=1e21), path)
    assert path.read_text() == isoplan("smaller", card, "--budget", 1e21, "--format", form).replace("\r\n", "\n")


def test_a_saved_script_makes_the_plan_again(one_pass: Fit, tmp_path: Path) -> None:
    ip.save(one_pass, tmp_path / f"fit-{one_pass.hash}.json")
    made = ip.plan(one_pass, budget=1e21, max_unique=6e9)
    ip.save(made, tmp_path / "plan.py")
    done = subprocess.run([sys.executable, "plan.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(made.sentence)


def test_load_says_what_a_file_is(one_pass: Fit, tmp_path: Path) -> None:
    answers: dict[str, Any] = {
        "smaller": ip.smaller(one_pass, budget=1e21),
        "recipe": ip.recipe(1e18, "recall@10"),
        "amplitude": ip.amplitude(3, target_mse=1e-5, process="Zgg"),
    }
    for command, answer in answers.items():
        ip.save(answer, tmp_path / "answer.json")
        with pytest.raises(ip.PlannerError, match=rf"answer.json is an answer of `isoplan {command}`"):
            ip.load(tmp_path / "answer.json")
    texts = {
        "{}": "neither a fit nor a plan",
        "[]": "contains no JSON object",
        "x": "is not JSON",
        '{"schema": 1, "parameters": {}}': "This is not a fit that Isoplan wrote: law",
        '{"schema": 9, "question": {}, "allocation": {}, "derived": {}}': "The plan has schema 9",
    }
    for text, why in texts.items():
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(ip.PlannerError, match=why):
            ip.load(tmp_path / "other.json")
    with pytest.raises(ip.PlannerError, match=r"one_pass.csv is a table: read it with isoplan.runs"):
        ip.load(ONE_PASS)
    with pytest.raises(ip.PlannerError, match=r"There is no file"):
        ip.load(tmp_path / "nothing.json")


def test_save_says_what_it_cannot_write(folder: Path, one_pass: Fit, tmp_path: Path) -> None:
    runs: Any = ip.runs(folder / "runs.csv", **ROLES)
    with pytest.raises(ip.PlannerError, match=r"Path: a fit is written as JSON, not as .csv. Use .json"):
        ip.save(one_pass, tmp_path / "fit.csv")
    with pytest.raises(ip.PlannerError, match=r"no format has the ending '.txt'. Use .json, .csv, .md, .tex, .py"):
        ip.save(ip.plan(one_pass, budget=1e21), tmp_path / "plan.txt")
    with pytest.raises(ip.PlannerError, match=r"Answer: Runs cannot be saved. Save a fit, a plan or another answer."):
        ip.save(runs, tmp_path / "runs.json")
    with pytest.raises(ip.PlannerError, match=r"fit.json cannot be written"):
        ip.save(one_pass, tmp_path / "nowhere" / "fit.json")


def test_amounts_keep_every_digit() -> None:
    for x in (1e20, 0.1 + 0.2, 10**20, np.float64(1 / 3), 5):
        assert float(as_text(x)) == x
    assert as_text(None) == ""


# Figures


def test_figures_have_traces(folder: Path, one_pass: Fit) -> None:
    runs = ip.runs(folder / "runs.csv", C=None, **ROLES)
    for draw in (ip.plot.surface, ip.plot.isoflop, ip.plot.frontier):
        assert len(draw(one_pass).data) > 1
        assert len(draw(one_pass, runs).data) >= len(draw(one_pass).data)
    for plan in (ip.plan(one_pass, budget=1e21), ip.plan(one_pass, target_loss=2.2)):
        assert len(ip.plot.plan(plan, one_pass, runs).data) > 1


def test_figures_of_other_laws(repeated: Fit, one_pass: Fit) -> None:
    runs = ip.runs(MINIMA)
    minima = single(ip.fit(runs, "isoflop", bootstrap=5))
    assert len(ip.plot.isoflop(minima, runs).data) > 1
    with pytest.raises(ip.PlannerError, match=r"Option runs: the figure of the law isoflop shows the runs"):
        ip.plot.isoflop(minima)
    with pytest.raises(ip.PlannerError, match=r"The law repetition is not a surface over N and D"):
        ip.plot.surface(repeated)
    with pytest.raises(ip.PlannerError, match=r"Option fit: the plan was made from the fit"):
        ip.plot.plan(ip.plan(one_pass, budget=1e21), repeated)
