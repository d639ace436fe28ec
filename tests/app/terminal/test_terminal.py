"""Tests of ``isoplan laws``, ``fit`` and ``plan``: JSON, text and speed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isoplan.app.commands.shared import output
from isoplan.app.commands.shared.reading import (
    read_fixed,
    read_map,
    read_names,
    read_priors,
)
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.plan.document import read_plan
from isoplan.engine.planning.scenario.typed_rules import read_typed_rule
from isoplan.engine.quantities import share_or_column
from isoplan.engine.store.columns.directions import split_direction
from tests.app.terminal.asking import ISOPLAN, LAW, MAP, Run, object_in, process
from tests.engine.planning.conftest import EPOCH

HEAVY = ("streamlit", "torch", "plotly")


def test_the_catalogue_is_listed(run: Run) -> None:
    shown = run("laws")
    assert shown.code == 0
    assert "L(N, D) = E + A / N^alpha + B / D^beta" in shown.out
    assert "--law power --axis D" in shown.out
    assert shown.err == ""


def test_the_catalogue_is_one_json_object(run: Run) -> None:
    laws = object_in(run("laws", "--json").out)["laws"]
    assert [law["name"] for law in laws][:2] == ["chinchilla", "power"]
    assert [p["name"] for p in laws[0]["parameters"]] == ["E", "A", "B", "alpha", "beta"]


def test_a_fit_recovers_the_law_and_says_everything(fitted: Path) -> None:
    card = object_in(fitted.read_text())
    assert {"schema", "law", "n", "objective", "parameters", "resamples", "data", "compute", "warnings", "spec"} <= set(
        card
    )
    assert (card["schema"], card["law"], card["n"]) == (1, "chinchilla", 60)
    assert list(card["parameters"]) == ["E", "A", "B", "alpha", "beta"]
    for name, truth in zip(card["parameters"], EPOCH, strict=True):
        p = card["parameters"][name]
        assert abs(p["value"] - truth) < 4 * p["se"]
        assert p["ci95"][0] < p["ci68"][0] < p["ci68"][1] < p["ci95"][1]
    assert np.shape(card["resamples"]) == (200, 5)
    assert card["compute"] == {"rule": "6ND", "n_p": 1.0}
    assert card["data"]["roles"]["N"] == "size"
    assert set(card["data"]["ranges"]) >= {"N", "D", "C", "loss"}


def test_a_fit_for_people_has_intervals_and_formula(run: Run, table: Path) -> None:
    shown = run("fit", table, *LAW, *MAP, "--bootstrap", 100)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert any(line.startswith("alpha") and "0.3" in line and " to " in line for line in lines)
    assert max(len(line) for line in lines if line and not line.startswith(("Loss surface", "Warning"))) < 160


def test_the_same_seed_gives_the_same_digits(run: Run, table: Path) -> None:
    ask = ("fit", table, *LAW, *MAP, "--bootstrap", 50, "--json")
    assert run(*ask).out == run(*ask).out
    assert run(*ask).out != run(*ask, "--seed", 1).out


def test_without_resampling_intervals_are_null(run: Run, table: Path, tmp_path: Path) -> None:
    made = run("fit", table, *LAW, *MAP, "--bootstrap", 0, "--json")
    card = object_in(made.out)
    assert card["resamples"] == []
    assert all(p["se"] is p["ci68"] is p["ci95"] is None for p in card["parameters"].values())
    path = tmp_path / "fit.json"
    path.write_text(made.out)
    plan = object_in(run("plan", path, "--budget", "1e20", "--json").out)
    assert plan["allocation"]["N"]["value"] > 0
    assert plan["allocation"]["N"]["ci68"] is None
    assert plan["p_reach"] is None


def test_options_reach_the_fit(run: Run, table: Path) -> None:
    made = run(
        *(
            "fit",
            table,
            "--law",
            "chinchilla",
            *MAP,
            "--fix",
            "E=1.8172",
            "--fix",
            "alpha=0.34731",
            "--objective",
            "ols",
        ),
        *("--where", "step < 40", "--bootstrap", 0, "--n-p", 40, "--interval", "percentile", "--json"),
    )
    card = object_in(made.out)
    assert made.code == 0
    assert card["n"] == 40
    assert card["parameters"]["E"]["value"] == 1.8172
    assert card["objective"]["name"] == "ols"
    assert card["compute"] == {"rule": "6npND", "n_p": 40.0}
    assert card["spec"]["interval"] == "percentile"
    assert card["data"]["where"] == "step < 40"


def test_how_the_runs_were_read_is_said_beside_the_answer(run: Run, table: Path, tmp_path: Path) -> None:
    gaps = tmp_path / "gaps.csv"
    gaps.write_text(table.read_text() + "\n1e8,1e10,,,60")
    ask = ("fit", gaps, *LAW, *MAP, "--bootstrap", 0)
    shown = run(*ask)
    assert shown.err == "isoplan: 1 row without a loss was left out.\n"
    assert "without a loss" not in shown.out
    made = run(*ask, "--json")
    assert object_in(made.out)["warnings"][0] == {
        "code": "runs",
        "level": "note",
        "text": "1 row without a loss was left out.",
    }
    path = tmp_path / "fit.json"
    path.write_text(made.out)
    assert "without a loss" not in run("plan", path, "--budget", "1e20").out


def test_one_axis_and_a_typed_compute_rule(run: Run, table: Path, tmp_path: Path) -> None:
    power = run(
        "fit", table, "--law", "power", "--axis", "C", *MAP, "--bootstrap", 50, "--rule", "6*N*D + 1e9*D", "--json"
    )
    assert power.code == 0
    card = object_in(power.out)
    assert card["compute"] == {"rule": "formula", "n_p": 1.0, "formula": "6*N*D + 1e9*D"}
    path = tmp_path / "fit.json"
    path.write_text(power.out)
    plan = object_in(run("plan", path, "--budget", "1e20", "--json").out)
    assert plan["compute"]["formula"] == "6*N*D + 1e9*D"
    assert plan["allocation"]["N"]["value"] is None
    assert plan["allocation"]["loss"]["value"] > 0


def test_a_metric_where_larger_is_better(run: Run, table: Path, tmp_path: Path) -> None:
    made = run("fit", table, *LAW, *MAP, "--y", "acc:max", "--objective", "ols", "--bootstrap", 0, "--json")
    assert made.code == 0, made.err
    card = object_in(made.out)
    assert card["data"]["direction"] == "max"
    path = tmp_path / "fit.json"
    path.write_text(made.out)
    poor, rich = (
        object_in(run("plan", path, "--budget", C, "--json").out)["allocation"]["loss"]["value"]
        for C in ("1e18", "1e21")
    )
    assert 0 < poor < rich < 1


def test_a_plan_is_one_object_that_reads_back(run: Run, fitted: Path) -> None:
    made = run("plan", fitted, "--budget", "10^20", "--json")
    raw = object_in(made.out)
    assert raw["question"] == {"budget": 1e20}
    N, D = (raw["allocation"][k]["value"] for k in ("N", "D"))
    assert 6 * N * D == pytest.approx(1e20, rel=1e-12)
    assert N == pytest.approx(8.55e8, rel=0.2)
    assert read_plan(raw).question.value == 1e20
    assert all(line.startswith("isoplan: ") for line in made.err.splitlines())


def test_a_target_costs_what_the_budget_bought(run: Run, fitted: Path) -> None:
    budget = object_in(run("plan", fitted, "--budget", "3 ZFLOP", "--json").out)
    target = object_in(run("plan", fitted, "--target-loss", repr(budget["allocation"]["loss"]["value"]), "--json").out)
    assert target["allocation"]["C"]["value"] == pytest.approx(3e21, rel=1e-8)
    assert target["p_reach"] == pytest.approx(1.0, abs=1e-4)


def test_a_plan_for_people_is_a_sentence_and_a_table(run: Run, fitted: Path) -> None:
    shown = run("plan", fitted, "--budget", "200 H200 hours")
    assert shown.code == 0
    assert shown.out.startswith("With 2.85 × 10²⁰ FLOPs train ")
    assert "The loss is within 1 % of the best loss from N = " in shown.out
    assert "989 TFLOP/s dense bf16 peak of H200" in shown.err


def test_a_fit_may_come_through_a_pipe(fitted: Path) -> None:
    made = process("plan", "-", "--target-loss", "2.2", "--json", given=fitted.read_text())
    assert made.returncode == 0, made.stderr
    assert object_in(made.stdout)["allocation"]["loss"]["value"] == 2.2


def test_a_closed_pipe_and_a_plain_terminal_are_no_errors(fitted: Path) -> None:
    python, code, *_ = (shlex.quote(part) for part in (sys.executable, ISOPLAN[2]))
    for tail in ("true", "cat"):
        line = f"{python} -c {code} plan {shlex.quote(str(fitted))} --budget 1e20 | {tail}"
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        made = subprocess.run(line, shell=True, env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in made.stderr
        assert made.returncode == 0


@pytest.mark.parametrize("command", ["laws", "fit", "plan"])
def test_nothing_heavy_is_loaded(command: str, table: Path, fitted: Path) -> None:
    arguments = {
        "laws": ["laws"],
        "fit": ["fit", str(table), *LAW, *MAP],
        "plan": ["plan", str(fitted), "--target-loss", "2.1"],
    }[command]
    heavy = (*HEAVY, "duckdb", "pandas", "scipy") if command == "laws" else HEAVY
    code = (
        f"import sys; sys.argv = {['isoplan', *arguments]!r}\n"
        "from isoplan.app.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"loaded = [name for name in {heavy!r} if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def test_mappings_are_read_around_commas_in_names() -> None:
    assert read_map(["N=size, D=seen", "loss=y"]) == {"N": "size", "D": "seen", "loss": "y"}
    assert read_map(['N="Model Size, all",D=seen']) == {"N": "Model Size, all", "D": "seen"}
    assert read_map(["C=", "N=a=b"]) == {"C": "", "N": "a=b"}
    assert read_map(["metric=a"], "b") == {"metric": "a+b"}
    assert read_map([], "b") == {"metric": "b"}
    with pytest.raises(PlannerError, match="names the role N twice"):
        read_map(["N=a", "N=b"])


def test_fixed_values_and_metrics() -> None:
    assert read_fixed(["E=0.32", "A = 1.5k"]) == {"E": 0.32, "A": 1500.0}
    assert read_fixed(["alpha=0.3,beta=0.4"]) == {"alpha": 0.3, "beta": 0.4}
    with pytest.raises(PlannerError, match="--fix names E twice"):
        read_fixed(["E=1", "E=2"])
    assert split_direction("acc:max") == ("acc", "max")
    assert split_direction("a:b") == ("a:b", "")


def test_rules_are_options() -> None:
    def read(rule: str, n_p: str) -> ComputeRule:
        return read_typed_rule(rule, n_p, "terminal") or ComputeRule()

    assert read("", "").rule == "6ND"
    assert read("", "40").per_pair == 240
    assert read("6*N*D*n_p", "40").flops(1.0, 1.0) == 240
    with pytest.raises(PlannerError, match="the rule 6npND needs the tokens per sample"):
        read("6npND", "")


def test_priors_weights_and_errors_are_options(run: Run, table: Path) -> None:
    ask = ("fit", table, *LAW, *MAP, "--bootstrap", 0, "--json")
    tight = object_in(run(*ask, "--prior", "alpha=0.3+-1e-7,E=1.8±1e-7").out)
    assert tight["parameters"]["alpha"]["value"] == pytest.approx(0.3, abs=1e-5)
    assert tight["parameters"]["E"]["value"] == pytest.approx(1.8, abs=1e-5)
    assert tight["spec"]["prior"] == {"alpha": [0.3, 1e-7], "E": [1.8, 1e-7]}
    # The first of the 60 runs has step 0, so its weight is 0 and the fit uses 59 runs.
    weighed = object_in(run(*ask, "--weight", "step").out)
    assert weighed["n"] == 59
    absolute, stated = (
        object_in(run(*ask, "--objective", "ols", *more).out) for more in ((), ("--relative-error", 0.1))
    )
    assert stated["objective"]["value"] != absolute["objective"]["value"]
    assert stated["parameters"]["beta"]["value"] == pytest.approx(absolute["parameters"]["beta"]["value"], abs=0.02)
    by_column = run("fit", table, *LAW, *MAP, "--bootstrap", 0, "--objective", "ols-log", "--relative-error", "acc")
    assert "chi2/dof = " in by_column.out
    for objective in ("lad", "asymmetric"):
        assert object_in(run(*ask, "--objective", objective).out)["objective"]["name"] == objective


def test_groups_share_a_parameter_and_a_plan_names_one(run: Run, tmp_path: Path) -> None:
    x = np.geomspace(1e4, 1e8, 9)
    rows = [
        f"{d:.17g},{floor + (2e4 / d) ** 0.42:.17g},{name}"
        for name, floor in (("wide", 0.5), ("thin", 0.3), ("none", 0.6))
        for d in x
    ]
    path, card = tmp_path / "runs.csv", tmp_path / "fit.json"
    path.write_text("\n".join(["jets,loss,inputs", *rows]))
    ask = ("fit", path, "--law", "power", "--axis", "D", "--map", "D=jets", "--share", "alpha", "--group", "inputs")
    made = run(*ask, "--bootstrap", 30, "--json")
    found = object_in(made.out)
    assert [name for name in found["parameters"]][:3] == ["K[none]", "K[thin]", "K[wide]"]
    assert found["parameters"]["alpha"]["value"] == pytest.approx(0.42, rel=1e-6)
    assert np.shape(found["resamples"]) == (30, 7)
    card.write_text(made.out)
    plan = object_in(run("plan", card, "--target-loss", 0.55, "--group", "wide", "--json").out)
    assert plan["allocation"]["D"]["value"] == pytest.approx(2e4 * 0.05 ** (-1 / 0.42), rel=1e-4)
    assert "choose one of none, thin, wide" in run("plan", card, "--target-loss", 0.55).err
    assert "alpha " in run(*ask, "--bootstrap", 0).out


def test_what_options_say() -> None:
    assert read_priors(["alpha=0.34+-0.02, beta = 3e-1 ± 1e-2"]) == {"alpha": (0.34, 0.02), "beta": (0.3, 0.01)}
    assert read_names(["alpha,beta", "alpha"]) == ("alpha", "beta")
    assert [share_or_column(text) for text in ("", "0.1", "10%", "err")] == [None, 0.1, pytest.approx(0.1), "err"]
    assert read_map(["N=a"], weight="w", group="") == {"N": "a", "weight": "w"}


def test_a_small_card_still_plans(run: Run, table: Path, tmp_path: Path) -> None:
    plans, sizes = {}, {}
    for kept in ("refits", "covariance", "values"):
        made = run("fit", table, *LAW, *MAP, "--bootstrap", 100, "--json", "--card", kept)
        assert made.code == 0, made.err
        (tmp_path / "card.json").write_text(made.out)
        sizes[kept] = len(made.out)
        plans[kept] = object_in(run("plan", tmp_path / "card.json", "--budget", "1e22", "--json").out)["allocation"][
            "N"
        ]
    assert sizes["values"] < sizes["covariance"] < sizes["refits"] / 3
    for kept in ("covariance", "values"):
        assert plans[kept]["value"] == pytest.approx(plans["refits"]["value"], rel=1e-12)
    assert plans["covariance"]["ci68"] == pytest.approx(plans["refits"]["ci68"], rel=0.2)
    assert plans["values"]["ci68"] is None
    refused = run("fit", table, *LAW, *MAP, "--card", "values")
    assert (refused.code, "Add it, or leave --card out" in refused.err) == (2, True)


def test_a_metric_map_weighs_each_run_by_its_own_error(run: Run, tmp_path: Path) -> None:
    loss = np.linspace(0.45, 0.95, 14)
    rejection = 4e5 * np.exp(-9 * loss) + 20
    rows = [f"{x},{r},{0.001 * r**0.5}" for x, r in zip(loss, rejection, strict=True)]
    table = tmp_path / "jets.csv"
    table.write_text("\n".join(["loss,R_top,R_top_error", "0.4,,", *rows]))
    asked = (
        "--law",
        "metric-map",
        "--axis",
        "loss",
        "--metric",
        "R_top:max",
        "--objective",
        "ols-log",
        "--bootstrap",
        0,
    )
    card = object_in(run("fit", table, *asked, "--relative-error", "R_top_error", "--json").out)
    assert (card["n"], card["spec"]["relative_error"]) == (14, "R_top_error")
    assert [p["value"] for p in card["parameters"].values()] == pytest.approx([4e5, -9, 20], rel=1e-6)
    assert any(w["text"] == "1 run has no R_top and cannot be fitted." for w in card["warnings"])


def test_a_long_fit_tells_its_progress_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoplan.app.commands.shared.output.BETWEEN", 0.0)
    with output.progress("Fitting 5,000 runs", output.MANY) as tell:
        tell(0.25)
    assert capsys.readouterr().err == "isoplan: Fitting 5,000 runs: 25 %.\n"
    with output.progress("Fitting 36 runs", 36) as tell:
        tell(0.25)
    assert capsys.readouterr().err == ""
