"""Tests of ``isoplan agreement``: rank correlations between metrics equal those of scipy and of the papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from isoplan.app.commands.agreement import WIDTH
from tests.app.terminal.asking import Run, object_in, one_sentence

DEMO = Path(__file__).parents[3] / "data" / "demo"
SWEEP = DEMO / "recommender_isoflop.csv"


@pytest.fixture(scope="module")
def turning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table of two budgets with six runs each and return its path.

    The metric ``q`` (larger is better) ranks the runs as the loss does at the first budget, and in the opposite order
    at the second. The metric ``err`` (smaller is better) always ranks them as the loss does.
    """
    x = np.arange(6.0)
    columns = {"budget": np.repeat([1e15, 1e18], 6), "loss": np.r_[-x, -x] + 9, "q": np.r_[x, -x], "err": np.r_[-x, -x]}
    path = tmp_path_factory.mktemp("turning") / "turning.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_every_budget_has_the_correlations_of_scipy(run: Run) -> None:
    found = object_in(run("agreement", SWEEP, "--json").out)
    table = pd.read_csv(SWEEP)
    assert found["metrics"] == ["loss", "recall@10", "NDCG@10"]
    assert [part["runs"] for part in found["parts"]] == [9] * 5
    for (_, rows), part in zip(table.groupby("budget"), found["parts"], strict=True):
        assert part["rho"][0][1] == pytest.approx(-spearmanr(rows.val_loss, rows["recall@10"]).statistic)
        assert part["rho"][2][1] == pytest.approx(spearmanr(rows["recall@10"], rows["NDCG@10"]).statistic)
    assert found["flips"] == [] == found["pairs"]
    assert "No pair of metrics changes the sign of its correlation." in run("agreement", SWEEP).out


def test_a_sign_that_changes_is_named_and_marked(run: Run, turning: Path) -> None:
    asked = ("agreement", turning, "--metric", "q:max", "--metric", "err:min")
    shown = run(*asked)
    assert shown.code == 0
    (line,) = (line for line in shown.out.splitlines() if line.startswith("loss, q"))
    assert line.split() == ["loss,", "q", "1.00", "-1.00", "sign", "changes"]
    assert "loss and q agree at 10¹⁵ and disagree at 10¹⁸." in shown.out
    found = object_in(run(*asked, "--json").out)
    assert [(f["one"], f["other"], f["clear"]) for f in found["flips"]] == [("loss", "q", True), ("q", "err", True)]
    assert found["parts"][1]["rho"][0] == [1.0, -1.0, 1.0]


def test_together_and_by_group(run: Run, turning: Path) -> None:
    (part,) = object_in(run("agreement", turning, "--metric", "q:max", "--by", "all", "--json").out)["parts"]
    assert (part["name"], part["runs"]) == ("all runs", 12)
    grouped = run("agreement", turning, "--metric", "q:max", "--map", "group=budget", "--by", "group", "--json")
    assert [part["runs"] for part in object_in(grouped.out)["parts"]] == [6, 6]


@pytest.mark.parametrize("asked", [("--metric", "q"), ("--map", "metric=q")])
def test_a_metric_whose_name_does_not_say_which_way_is_better_is_asked(
    run: Run, turning: Path, asked: tuple[str, str]
) -> None:
    one_sentence(
        run("agreement", turning, *asked),
        "Option --metric: the better direction of 'q' is not known. Write --metric='q:min' or --metric='q:max'.",
    )


def test_runs_without_budgets_are_compared_together(run: Run) -> None:
    shown = run("agreement", DEMO / "jets_grid.csv", "--metric", "R_top:max", "--metric", "R_Hbb:max")
    assert shown.code == 0
    assert "all runs" in shown.out


def test_a_metric_batch_local_against_full_catalogue(run: Run, turning: Path) -> None:
    asked = ("agreement", turning, "--metric", "q:max", "--metric", "err:min", "--pair", "err=q")
    (pair,) = object_in(run(*asked, "--json").out)["pairs"]
    assert pair == {"local": "err", "full": "q", "rho": [1.0, -1.0], "flips": True}
    assert "Batch-local against full catalogue:" in run(*asked).out
    one_sentence(run("agreement", turning, "--metric", "q:max", "--pair", "q=z"), "There is no metric 'z' to compare")
    one_sentence(run("agreement", turning, "--metric", "q:max", "--pair", "q"), "write LOCAL=FULL")


def test_without_a_table_stands_what_the_papers_print(run: Run) -> None:
    """At 10^15 FLOPs, loss and recall@10 on the full catalogue have a negative correlation (behavioural, Table 17)."""
    shown = run("agreement")
    assert shown.code == 0
    tables = [line for line in shown.out.splitlines() if "10¹" in line and " agree at " not in line]
    assert max(map(len, tables)) <= WIDTH
    found = object_in(run("agreement", "--json").out)
    (part,) = (part for part in found["parts"] if part["name"] == "full catalogue 10¹⁵")
    assert part["rho"][0][found["metrics"].index("recall@10")] == pytest.approx(-0.93, abs=0.005)
    assert part["rho"][1][2] is None
    one_sentence(run("agreement", "--by", "budget"), "--by requires a table. Name the file.")


def test_bad_input_is_one_sentence(run: Run, turning: Path) -> None:
    one_sentence(run("agreement", SWEEP, "--by", "group"), "No column gives the group of a run")
    one_sentence(run("agreement", turning, "--map", "metric=", "--where", "loss > 3"), "two measures of quality")
    one_sentence(
        run("agreement", turning, "--map", "metric=q", "--metric", "q"), "--map and --metric both name metrics"
    )
    one_sentence(run("agreement", DEMO), "is a folder")
