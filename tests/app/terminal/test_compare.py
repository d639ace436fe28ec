"""Tests of ``isoplan compare``, which ranks laws by their extrapolation error and prints text or JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.terminal.asking import MAP, Run, object_in, one_sentence
from tests.engine.fitting.mixtures import DATASETS, three_datasets

ONE_PASS = Path(__file__).parents[3] / "data" / "grids" / "jets_one_pass.csv"
SWEEP = Path(__file__).parents[3] / "data" / "demo" / "recommender_isoflop.csv"


def test_laws_are_ranked_beside_baselines(run: Run) -> None:
    shown = run("compare", SWEEP)
    assert shown.code == 0
    verdict, _, head, *_ = shown.out.splitlines()
    assert " predicts the largest runs best: its mean error is " in verdict
    assert head.split() == ["law", "error", "AIC", "BIC", "parameters"]
    assert all(name in shown.out for name in ("isoflop", "chinchilla", "power-C", "last point", "nearest cell"))
    said = "best runs of the largest budgets, predicted by fits without these runs. In turn, 1, 2 of 45 runs are"
    assert said in shown.out


def test_json_has_every_cut(run: Run) -> None:
    found = object_in(run("compare", SWEEP, "--json").out)
    ranks = [law["rank"] for law in found["laws"]]
    known = [law["rank"] for law in found["laws"] if law["error"] is not None]
    assert known == list(range(1, len(known) + 1))
    assert ranks == known + [None] * (len(ranks) - len(known))
    errors = found["validation"]["errors"]
    assert {"chinchilla", "isoflop", "last point", "log-linear", "nearest cell"} <= set(errors)
    assert errors["isoflop"]["runs"] is None
    assert errors["chinchilla"]["runs"] == pytest.approx(sum(errors["chinchilla"]["cuts"]) / 2)
    ranked = {law["law"]: law["error"] for law in found["laws"]}
    assert ranked["chinchilla"] == errors["chinchilla"]["best"]


def test_what_cannot_be_fitted_says_why(run: Run, table: Path) -> None:
    shown = run("compare", table, *MAP, "--objective", "ols")
    assert "1  chinchilla" in shown.out
    assert "isoflop" in shown.out.split("Error")[1]
    one_sentence(run("compare", table, "--map", "N=size"), "No law can be fitted to these runs.")


def test_every_refusal_names_its_law_once(run: Run) -> None:
    shown = run("compare", ONE_PASS).out
    assert "\ndata-constrained: The parameter R_D has no effect: the formula gives the same numbers" in shown
    assert "\nLaw isoflop needs at least two budgets" in shown
    assert "isoflop: Law isoflop" not in shown


def test_a_fit_of_minima_says_how_parabolas_are_biased(run: Run) -> None:
    words = "Parabolas through these losses give a ="
    assert words in run("fit", SWEEP, "--law", "isoflop", "--bootstrap", 20).out
    card = object_in(run("fit", SWEEP, "--law", "isoflop", "--bootstrap", 20, "--json").out)
    assert words in card["parabola_bias"]


def test_the_questions_of_a_fit_are_asked_and_each_answer_acts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "three.csv"
    path.write_text(three_datasets().replace("config.dataset", "dataset"))
    asked = run("compare", path).err
    assert "Column 'dataset' has 3 values: comma 85, dclm 85, nemotron 88 runs." in asked
    assert "Residuals differ: comma" in asked
    assert "--group dataset --each, --where \"dataset = 'nemotron'\" or --pool dataset" in asked
    assert not run("compare", path, "--pool", "dataset").err
    apart = run("compare", path, "--group", "dataset", "--each")
    assert not apart.err
    assert [line for line in apart.out.splitlines() if line.startswith("dataset = ")] == [
        f"dataset = {name}" for name in DATASETS
    ]
    groups = object_in(run("compare", path, "--group", "dataset", "--each", "--json").out)["groups"]
    alone = object_in(run("compare", path, "--where", "dataset = 'dclm'", "--json").out)
    assert groups["dclm"]["laws"] == alone["laws"]
    assert set(groups) == set(DATASETS)
    one_sentence(run("compare", path, "--each"), "add --group COLUMN")


def test_flags_and_copies_are_named_once(run: Run, shared: Path) -> None:
    asked = run("compare", shared / "runs/llama3_isoflop.csv").err.splitlines()
    assert sum("35 of 266 runs have outlier = true" in line for line in asked) == 1
    assert sum("'condition' has 2 values" in line for line in asked) == 1
    copied = run("fit", shared / "runs/scalebench_farseer.csv", "--law", "chinchilla", "--bootstrap", 0)
    both = copied.err + copied.out
    assert both.count("repeat another") == 1
    assert "4 rows repeat another row in every mapped number; each counts as a run." in copied.err
