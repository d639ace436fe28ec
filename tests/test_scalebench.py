"""Replay of a task of ScaleBench: its files, the spend up to each checkpoint, unknown outputs, and simulated tasks."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scalebench.purchases import Group, buy_and_predict, r_squared, replay
from benchmarks.scalebench.simulated import LAWS, write_task
from benchmarks.scalebench.task import Task, read_task
from isoplan.engine.errors import PlannerError

PAGE = Path(__file__).parents[1] / "docs" / "scalebench.md"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return read_task(*write_task(tmp_path))


def test_a_task_has_the_rows_of_each_group_and_the_example_of_the_page(task: Task) -> None:
    assert [(name, len(pool), len(test)) for name, (pool, test) in task.groups.items()] == [
        ("code", 81, 6),
        ("text", 81, 6),
    ]
    assert task.laws[0].columns == ("D", "N")
    block = re.search(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    assert json.loads(block[1]) == LAWS


def test_each_group_spends_at_most_its_checkpoint_and_reads_no_output_of_an_unbought_cell(task: Task) -> None:
    pool, test = task.groups["text"]
    group = Group(task.laws[0], pool, test, seed=0)
    predicted = [buy_and_predict(group, x) for x in task.checkpoints]
    assert group.left(0.1) >= -1e-9
    # The last checkpoint allows 10 % of the cost of the pool. More than half of this is spent.
    assert group.left(0.1) < 0.05 * pool.cost.sum()
    assert len(set(group.bought)) == len(group.bought)
    hidden = np.full_like(pool.outputs, np.nan)
    hidden[group.bought] = pool.outputs[group.bought]
    blind = Group(task.laws[0], replace(pool, outputs=hidden), test, seed=0)
    assert [buy_and_predict(blind, x).tolist() for x in task.checkpoints] == [x.tolist() for x in predicted]


def test_the_true_law_predicts_the_test_cells_from_a_twentieth_of_the_pool(task: Task) -> None:
    assert min(replay(task, task.laws[0], seed=0)[1:]) > 0.98


def test_a_law_of_two_outputs_shares_its_parameters(tmp_path: Path) -> None:
    table, laws = tmp_path / "two.csv", tmp_path / "laws.json"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("split", "x", "first", "second"))
        for x in (*np.linspace(1, 4, 30), 6, 8):
            rows.writerow(("test" if x > 5 else "train", x, 1 + 2 * x**0.5, 3 - 2 * x**0.5))
    formulas = {"first": "a + b*x^c", "second": "d - b*x^c"}
    bounds = {"a": [-9, 9], "b": [0, 9], "c": [0.1, 2], "d": [-9, 9]}
    given = {"outputs": ["first", "second"], "cost": "x", "checkpoints": [0.2]}
    laws.write_text(json.dumps(given | {"laws": [{"formula": formulas, "bounds": bounds}]}))
    task = read_task(table, laws)
    assert task.laws[0].name == "law 1"
    assert replay(task, task.laws[0], seed=0) == [pytest.approx(1.0, abs=1e-6)]


def test_a_score_is_at_least_minus_one_and_rows_without_prediction_do_not_count() -> None:
    true = np.array([1.0, 2.0, 3.0])
    assert r_squared(true, true) == 1.0
    assert r_squared(true, np.array([9.0, 9.0, 9.0])) == -1.0
    assert r_squared(true, np.array([1.0, 2.5, np.nan])) == pytest.approx(0.5)
    assert r_squared(true, np.full(3, np.nan)) == -1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": None}, "laws.json: outputs is not a list. Give a list."),
        ({"outputs": ["lost"]}, "simulated.csv: the column lost is missing. Add it, or correct .*laws.json."),
        ({"cost": "6*N*X"}, "laws.json: cost: The formula '6\\*N\\*X' uses 'X', which is not a column"),
        ({"cost": "N - N"}, "laws.json: cost is not positive in row 0. Correct the formula."),
        ({"laws": []}, "laws.json: laws is empty. Give at least one law."),
        ({"laws": [{"formula": "E"}]}, "laws.json: laws\\[0\\] has no formula or no bounds. Give an object"),
        ({"laws": [{"formula": "E +", "bounds": {}}]}, "laws.json: laws\\[0\\].formula: The formula 'E \\+' cannot"),
        ({"laws": [{"formula": "E/N", "bounds": {}}]}, "formula uses E, which has no bounds and is not a column"),
        ({"laws": [{"formula": "E/N", "bounds": {"E": [2, 1]}}]}, "bounds.E is not a pair of a lower and a higher"),
        ({"laws": [{"formula": "E/N", "bounds": {"E": [0, 1], "a": [0, 1]}}]}, "bounds.a is not a parameter of the"),
        ({"checkpoints": [0.1, 0.05]}, "checkpoints is not an increasing list of numbers above 0 and up to 1."),
        ({"group": "kind"}, "group names the column kind, which .*simulated.csv does not contain. Correct it."),
        ({"split": {"test": "late"}}, "the group code has no row with split = late. Add rows, or correct the key"),
        ({"bound": {}}, "laws.json: bound is an unknown key. Use only checkpoints, columns, cost"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    table, laws = write_task(tmp_path)
    laws.write_text(json.dumps(LAWS | change))
    with pytest.raises(PlannerError, match=message):
        read_task(table, laws)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    table, laws = write_task(tmp_path)
    with pytest.raises(PlannerError, match=r"none.json: the file cannot be read \(No such file or directory\)."):
        read_task(table, tmp_path / "none.json")
    laws.write_text("{")
    with pytest.raises(PlannerError, match=r"laws.json: the file is not valid JSON"):
        read_task(table, laws)
    laws.write_text(json.dumps(LAWS))
    table.write_text("split,N\n")
    with pytest.raises(PlannerError, match=r"simulated.csv: the table has no rows."):
        read_task(table, laws)


def test_a_published_task_is_predicted_from_one_percent_of_its_pool(shared: Path, tmp_path: Path) -> None:
    laws = tmp_path / "laws.json"
    bounds = {"a": [-3, 10], "b": [-1e6, 1e6], "c": [-1e6, 1e6], "d": [-1e7, 1e7]}
    bounds |= {name: [-1.5, 0.5] for name in "pqr"}
    formula = "a + b*unique_tokens^p + c*params^q + d*tokens^r"
    given = {"outputs": ["loss"], "cost": "6*params*tokens", "laws": [{"formula": formula, "bounds": bounds}]}
    laws.write_text(json.dumps(given | {"checkpoints": [0.01]}))
    task = read_task(shared / "runs" / "scalebench_data_constrained.csv", laws)
    assert replay(task, task.laws[0], seed=0)[0] > 0.8
