"""The Python API: its names, its imports, and the same numbers as in the terminal."""

from __future__ import annotations

import inspect
import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.app import cli
from isoplan.app.commands.compare import to_json as comparison_to_json
from isoplan.engine.fitting import Comparison, Fit, GroupedFit, groups_to_json, to_json
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.document import to_json as plan_to_json
from isoplan.engine.planning.recommender.settings import CHUNK
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.scenario.fields import SCENARIO
from isoplan.options import as_text
from tests.conftest import ROOT
from tests.engine.planning.conftest import EPOCH
from tests.engine.planning.recommender.own_runs import mixed_csv

GRIDS = ROOT / "data" / "grids"
SHARES, CELLS, ONE_PASS, REPEATED, CURVES, MINIMA = (
    GRIDS / f"{name}.csv"
    for name in (
        *("behavior_share", "amplitudes_data", "jets_one_pass", "jets_repeated", "jets_curves", "behavior_allocation"),
    )
)
FEW = ("--bootstrap", 30)
ROLES: dict[str, Any] = {"N": "size", "D": "seen", "loss": "quality"}
MAP = ("--map", "N=size,D=seen,loss=quality")
MACHINE: dict[str, Any] = {"device": "H200", "devices": 8, "hour_price": "3 EUR", "utilisation": "35%"}
MACHINE_OPTIONS = ("--device", "H200", "--devices", 8, "--hour-price", "3 EUR", "--utilisation", "35%")


def isoplan(*arguments: object) -> str:
    """Return the standard output of the command, run in this process."""
    printed, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["isoplan", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    assert not stopped.value.code, errors.getvalue()
    return printed.getvalue()


def printed_json(*arguments: object) -> dict[str, Any]:
    """Return the JSON object printed by the command."""
    read: dict[str, Any] = json.loads(isoplan(*arguments, "--json"))
    return read


def as_json(body: object) -> Any:
    """Return ``body`` as a reader of its JSON gets it."""
    return json.loads(json.dumps(body, allow_nan=False))


def single(fit: Fit | GroupedFit) -> Fit:
    """Return ``fit``, which has no groups."""
    assert isinstance(fit, Fit)
    return fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write tables of known laws with one floor, and the cards that the terminal prints for them; return the folder."""
    path, random = tmp_path_factory.mktemp("api"), np.random.default_rng(1)
    N, D, U = 10 ** random.uniform(7, 10, 20), 10 ** random.uniform(9, 12, 20), np.geomspace(1e7, 1e10, 16)
    E, A, B, alpha, beta = EPOCH
    loss = (E + A * N**-alpha + B * D**-beta) * np.exp(random.normal(0, 0.003, 20))
    runs = {"size": N, "seen": D, "quality": loss, "acc": 1 / loss, "flops": 7.5 * N**1.05 * D**0.95}
    pd.DataFrame(runs | {"kind": ["a", "b"] * 10}).to_csv(path / "runs.csv", index=False)
    stops = (E + 60 * U**-0.25) * np.exp(random.normal(0, 0.002, 16))
    pd.DataFrame({"U": U, "loss": stops, "N": 1e6}).to_csv(path / "stops.csv", index=False)
    asked = {
        "one_pass": ("fit", path / "runs.csv", "--law", "chinchilla", *MAP, "--map", "C="),
        "repeated": ("fit", path / "stops.csv", "--law", "repetition", "--axis", "U", "--where", "U > 2e7"),
        "map": ("fit", path / "runs.csv", "--law", "metric-map", "--axis", "loss", "--y", "acc:max", *MAP),
    }
    for name, arguments in asked.items():
        (path / f"{name}.json").write_text(isoplan(*arguments, *FEW, "--json"))
    return path


@pytest.fixture(scope="module")
def one_pass(folder: Path) -> Fit:
    """Return the fit of chinchilla to the runs of one pass."""
    return single(ip.fit(ip.runs(folder / "runs.csv", C=None, **ROLES), "chinchilla", bootstrap=30))


@pytest.fixture(scope="module")
def repeated(folder: Path) -> Fit:
    """Return the fit of repetition to the early stops."""
    return single(ip.fit(ip.runs(folder / "stops.csv", where="U > 2e7"), "repetition", axis="U", bootstrap=30))


@pytest.fixture(scope="module")
def metric_map(folder: Path) -> Fit:
    """Return the fit of an accuracy as a function of the loss."""
    runs = ip.runs(folder / "runs.csv", metric="acc:max", **ROLES)
    return single(ip.fit(runs, "metric-map", axis="loss", y="acc", bootstrap=30))


# Names and imports


def test_the_surface_has_these_names() -> None:
    assert ip.__all__ == [
        *("PlannerError", "__version__", "amplitude", "compare", "fit", "load", "plan", "plot", "recipe", "repeat"),
        *("runs", "save", "smaller"),
    ]
    assert ip.plot.__all__ == ["frontier", "isoflop", "plan", "surface"]
    public = {name for name, x in vars(ip).items() if callable(x) and not name.startswith("_")}
    assert public == {*ip.__all__} - {"plot", "__version__"}
    assert isinstance(ip.plot, ModuleType)
    assert ip.__version__ == version("isoplan")
    assert not hasattr(ip, "nothing")


def test_the_import_loads_no_heavy_package() -> None:
    code = (
        "import sys, isoplan\n"
        "heavy = {'streamlit', 'torch', 'plotly', 'pandas', 'duckdb', 'numba', 'numpy', 'scipy', 'pydantic', 'typer'}\n"
        "print(sorted(heavy & set(sys.modules)), 'isoplan.app' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]


# The numbers of the terminal


def test_a_fit_is_that_of_the_terminal(folder: Path, one_pass: Fit, repeated: Fit, metric_map: Fit) -> None:
    for name, made in {"one_pass": one_pass, "repeated": repeated, "map": metric_map}.items():
        assert as_json(to_json(made)) == json.loads((folder / f"{name}.json").read_text()), name


@pytest.mark.parametrize(
    ("arguments", "read", "options"),
    [
        (("--law", "log-parabola", "--axis", "s", "--y", "loss", "--where", "budget = 1e11"),
         {"where": "budget = 1e11", "extra": "s"}, {"law": "log-parabola", "axis": "s", "y": "loss"}),
        (("--law", "formula", "--formula", "E + A/N^alpha + G*s", "--bound", "alpha=0:2,E=0:", "--objective", "ols"),
         {"extra": "s"}, {"law": "formula", "formula": "E + A/N^alpha + G*s", "objective": "ols",
                          "bounds": {"alpha": (0, 2), "E": (0, None)}}),
        (("--law", "power", "--axis", "C", "--relative-error", "10%", "--objective", "ols", "--fix", "K=2",
          "--convert", "budget:as-is", "--weight", "width_used"),
         {"convert": "budget:as-is", "weight": "width_used"},
         {"law": "power", "axis": "C", "relative_error": "10%", "objective": "ols", "fixed": {"K": "2"}}),
    ],
)  # fmt: skip
def test_options_of_a_fit_are_those_of_the_terminal(
    arguments: tuple[str, ...], read: dict[str, Any], options: dict[str, Any]
) -> None:
    printed = printed_json("fit", SHARES, *arguments, "--bootstrap", 10)
    made = single(ip.fit(ip.runs(SHARES, **read), bootstrap=10, **options))
    assert as_json(to_json(made)) == printed
    if {*read} == {"extra"}:
        assert as_json(to_json(single(ip.fit(SHARES, bootstrap=10, **options)))) == printed


@pytest.mark.parametrize(
    ("arguments", "each", "share"), [(("--each",), True, ()), (("--share", "E,alpha,A"), False, ("E", "alpha", "A"))]
)
def test_groups_are_those_of_the_terminal(
    arguments: tuple[str, ...], each: bool, share: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    law = ("--law", "chinchilla", "--group", "kind", "--objective", "ols-log", "--bootstrap", 5, "--seed", 3)
    printed = printed_json("fit", folder / "runs.csv", *MAP, *law, *arguments)
    runs = ip.runs(folder / "runs.csv", group="kind", each=each, **ROLES)
    made = ip.fit(runs, share=share, objective="ols-log", bootstrap=5, seed=3)
    assert isinstance(made, GroupedFit)
    assert as_json(groups_to_json(made)) == printed
    ip.save(made, tmp_path / "groups.json")
    read = ip.load(tmp_path / "groups.json")
    assert isinstance(read, GroupedFit)
    assert as_json(groups_to_json(read)) == printed
    with pytest.raises(ip.PlannerError, match=r"Option fit: this is a fit of 2 groups \(a, b\). .*\.fits\['a'\]"):
        ip.plan(made, budget=1e20)
    printed_plan = printed_json("plan", tmp_path / "groups.json", "--group", "b", "--budget", 1e21)
    assert as_json(plan_to_json(ip.plan(read.fits["b"], budget=1e21))) == printed_plan


def test_training_curves_are_read_as_in_the_terminal(tmp_path: Path) -> None:
    runs, curves = ["run,N,batch"], ["name,it,q"]
    for i, n in enumerate(np.geomspace(1e6, 1e9, 6)):
        for b in (64, 256, 1024):
            runs.append(f"n{i}b{b},{n:.6g},{b}")
            curves += [f"n{i}b{b},{t},{6 - 3 * t / (1000 * (1 + 500 / b)):.9g}" for t in range(0, 12_001, 400)]
    table, points = tmp_path / "runs.csv", tmp_path / "curves.csv"
    table.write_text("\n".join(runs))
    points.write_text("\n".join(curves))
    asked = ("--law", "critical-batch", "--axis", "batch", "--metric", "q:min", "--target", 3, "--bootstrap", 5)
    printed = printed_json("fit", table, "--curves", points, "--map-curves", "run=name,step=it", *asked)
    options: dict[str, Any] = {"axis": "batch", "y": "q:min", "target": 3, "bootstrap": 5}
    names = {"run": "name", "step": "it"}
    made = ip.fit(table, "critical-batch", curves=points, map_curves=names, **options)
    assert as_json(to_json(single(made))) == printed


def test_a_data_frame_has_the_digits_of_its_csv(folder: Path, one_pass: Fit) -> None:
    frame = pd.read_csv(folder / "runs.csv")
    runs = ip.runs(frame, C=None, **ROLES)
    assert runs.source == "DataFrame"
    made = single(ip.fit(runs, bootstrap=30))
    assert np.array_equal(made.theta, one_pass.theta)
    assert np.array_equal(made.resamples, one_pass.resamples)
    indexed = ip.runs(frame.set_index("size"), C=None, **ROLES)
    assert np.array_equal(indexed["N"], runs["N"])


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("--budget", "10 ZFLOP"), {"budget": "10 ZFLOP"}),
        (("--budget", 1e22, *MACHINE_OPTIONS, "--max-unique", "6e9", "--max-hours", "1e6 h", "--power", "700 W",
          "--grid", 300, "--pue", 1.2, "--second-rule", "6*N*D + 1e9*D"),
         {"budget": 1e22, **MACHINE, "max_unique": 6e9, "max_hours": "1e6 h", "power": "700 W", "grid": 300,
          "pue": 1.2, "second_rule": "6*N*D + 1e9*D"}),
        (("--target-loss", 2.2, *MACHINE_OPTIONS, "--max-params", "5B", "--max-money", "1e9 EUR", "--max-memory",
          "80 GB", "--sample-price", "1e-7 EUR", "--queries", "1e6", "--query-flops", "1 GFLOP", "--currency", "EUR"),
         {"target_loss": 2.2, **MACHINE, "max_params": "5B", "max_money": "1e9 EUR", "max_memory": 80,
          "sample_price": 1e-7, "queries": 1e6, "query_flops": "1 GFLOP", "currency": "EUR"}),
        (("--budget", 1e21, "--rule", "zetaND:zeta=240"), {"budget": 1e21, "rule": "zetaND:zeta=240"}),
        (("--budget", 1e21, "--rule", "6npND", "--n-p", 40), {"budget": 1e21, "rule": "6npND", "n_p": 40}),
    ],
)  # fmt: skip
def test_a_plan_is_that_of_the_terminal(
    arguments: tuple[object, ...], options: dict[str, Any], folder: Path, one_pass: Fit
) -> None:
    printed = printed_json("plan", folder / "one_pass.json", *arguments)
    assert as_json(plan_to_json(ip.plan(one_pass, **options))) == printed


def test_a_measured_rule_is_that_of_the_terminal(folder: Path, one_pass: Fit) -> None:
    table = folder / "runs.csv"
    asked = ("--budget", 1e21, "--rule", "measured:powers", "--runs", table, "--map-runs", "C=flops")
    printed = printed_json("plan", folder / "one_pass.json", *asked)
    for runs in (table, ip.runs(table, C="flops", **ROLES)):
        made = ip.plan(one_pass, budget=1e21, rule="measured:powers", runs=runs)
        assert as_json(plan_to_json(made)) == printed


def test_a_metric_is_a_target_and_a_forecast(folder: Path, one_pass: Fit, metric_map: Fit) -> None:
    card, maps = folder / "one_pass.json", ("--metric-map", folder / "map.json")
    printed = printed_json("plan", card, "--target-metric", "acc=0.45", *maps)
    for target in ({"acc": 0.45}, "acc=0.45"):
        made = ip.plan(one_pass, target_metric=target, metric_map=metric_map)
        assert as_json(plan_to_json(made)) == printed
    forecast = ip.plan(one_pass, budget=1e21, metric_map=[metric_map])
    assert as_json(plan_to_json(forecast)) == printed_json("plan", card, "--budget", 1e21, *maps)


def test_a_comparison_is_that_of_the_terminal(folder: Path) -> None:
    made = ip.compare(ip.runs(folder / "runs.csv", C=None, **ROLES))
    assert isinstance(made, Comparison)
    assert as_json(comparison_to_json(made)) == printed_json("compare", folder / "runs.csv", *MAP, "--map", "C=")


def test_smaller_models_are_those_of_the_terminal(folder: Path, one_pass: Fit) -> None:
    asked = ("smaller", folder / "one_pass.json", "--budget", 1e22, *MACHINE_OPTIONS, "--queries", "1e9")
    made = ip.smaller(one_pass, budget=1e22, queries=1e9, query_tokens=40, **MACHINE)
    assert made.document is not None
    assert made.lifetime is not None
    assert as_json(made.document.body) == printed_json(*asked, "--query-tokens", 40)
    assert f"{made!r}\n" == isoplan(*asked, "--query-tokens", 40)
    assert ip.smaller(one_pass, target_loss=2.2).lifetime is None


def test_repetition_is_that_of_the_terminal(folder: Path, one_pass: Fit, repeated: Fit) -> None:
    cards = (folder / "one_pass.json", folder / "repeated.json", "--target-loss", 2.1, "--kappa", 10)
    priced = ("--sample-price", "1e-6", "--device", "H100", "--utilisation", "30%", "--hour-price", 3)
    prices: dict[str, Any] = {"sample_price": 1e-6, "device": "H100", "utilisation": "30%", "hour_price": 3}
    made = ip.repeat(one_pass, repeated, target_loss=2.1, kappa=10, have="100M", **prices)
    assert made.document is not None
    assert made.worth is not None
    assert as_json(made.document.body) == printed_json("repeat", *cards, *priced, "--have", "100M")


def test_a_flop_has_a_price(one_pass: Fit, repeated: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise ip.PlannerError(repr(given[3]))

    monkeypatch.setattr("isoplan.engine.planning.repeat.reply.simulate_or_repeat", refuse)
    given: dict[str, Any] = {"sample_seconds": 36, "cpu_price": "1 USD/h", "flop_price": 1e-15, "currency": "USD"}
    costs = SampleCosts(0.01, 1e-15, "USD", 1e6)
    with pytest.raises(ip.PlannerError, match=re.escape(repr(costs))):
        ip.repeat(one_pass, repeated, target_loss=2.1, kappa=10, have="1 M", **given)


def test_kappa_is_read_from_curves_as_in_the_terminal(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    once = ip.fit(ip.runs(ONE_PASS, rule="6npND", n_p=42), bootstrap=0)
    again = ip.fit(ip.runs(REPEATED, where="N > 3000"), "repetition", axis="U", bootstrap=0)
    ip.save(once, first)
    ip.save(again, second)
    printed = isoplan("repeat", first, second, "--target-loss", 0.7, "--curves", CURVES, "--runs", REPEATED)
    bare = ip.repeat(once, again, target_loss="0.7", curves=CURVES, runs=REPEATED)
    assert f"{bare!r}\n" == printed
    with pytest.raises(ip.PlannerError, match=r"Give sample_price, and flop_price or a device"):
        ip.save(bare, tmp_path / "repeat.json")


def test_a_recipe_is_that_of_the_terminal(tmp_path: Path) -> None:
    device = ("--device", "H100", "--devices", 8, "--width", 188)
    made = ip.recipe(
        "1 EFLOP", "recall@10", device="H100", devices=8, width=188, rate=1e-3, instead={"s": "6%", "K": 1e5}
    )
    printed = printed_json("recipe", "--budget", 1e18, "--metric", "recall@10", *device, "--rate", 1e-3,
                           "--instead", "s=6%,K=1e5")  # fmt: skip
    assert made.document is not None
    assert as_json(made.document.body) == printed
    table = tmp_path / "mine.csv"
    table.write_text(mixed_csv())
    asked = ("recipe", "--budget", 1e18, "--metric", "recall@10", "--bootstrap", 20, "--runs", table)
    own = ip.recipe(1e18, "recall@10", runs=table, bootstrap=20)
    assert own.document is not None
    assert as_json(own.document.body) == printed_json(*asked)
    assert "32 runs: 20 vary N and D, 12 vary K." in own.notes
    assert repr(ip.recipe(1e18, "recall@10", runs=pd.read_csv(table), bootstrap=20)) == repr(own)
    measured = ip.recipe(1e18, "recall@10", runs=[table], bootstrap=0, published=False, map_runs={"K": "neg_samples"})
    assert f"{measured!r}\n" == isoplan(*asked[:5], "--bootstrap", 0, "--runs", table, "--no-published")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("--target-error", 0.03, "--sigma", 1.5, "--anchor", "D=1e4,loss=2e-3,N=1e5,epochs=1e3,doubled=3%"),
         {"target_error": "3%", "sigma": 1.5,
          "anchors": [{"D": 1e4, "loss": "2e-3", "N": 1e5, "epochs": 1e3, "doubled": 0.03}]}),
        (("--target-mse", 1e-5, "--process", "Zgg", "--axis", "D", "--held", "N = 1e6"),
         {"target_mse": 1e-5, "process": "Zgg", "axis": "D", "held": "N = 1e6"}),
        (("--target-error", "5%", "--error", "median", "--trained", "Zgg", "--cells", CELLS),
         {"target_error": 0.05, "error": "median", "trained": "Zgg", "cells": [CELLS]}),
    ],
)  # fmt: skip
def test_an_amplitude_plan_is_that_of_the_terminal(arguments: tuple[object, ...], options: dict[str, Any]) -> None:
    made = ip.amplitude(3, **options)
    assert made.document is not None
    assert as_json(made.document.body) == printed_json("amplitude", "--particles", 3, *arguments)


def test_every_option_of_the_terminal_is_an_option_of_a_plan() -> None:
    from isoplan.app.commands.plan import plan
    from isoplan.app.commands.recipe import recipe

    other = {"fit", "budget", "target_loss", "target_metric", "metric_map", "group", "rule", "n_p", "second_rule"}
    other |= {"runs", "map_runs", "form", "as_json", "return"}
    options = {field.name for field in SCENARIO}
    assert {*plan.__annotations__} - other == options
    assert ip.plan.__doc__ is not None
    assert options <= {*re.findall(r"\w+", ip.plan.__doc__)}
    assert inspect.signature(recipe).parameters["chunk"].default == CHUNK


# Errors


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"bootstap": 3}, "Option bootstap: isoplan.fit has no such option. Use bootstrap."),
        ({"columns": ("a",)}, "Option columns: isoplan.fit has no such option. Use bounds."),
        ({"xyz": 1}, "Option xyz: isoplan.fit has no such option. Use one of y, axis, realised, formula, bounds,"),
        ({"law": "power", "axis": "lr"}, "Option axis: the runs have no column 'lr'. Read it, as in isoplan.runs(..., "
                                         "extra='lr')."),
        ({"bootstrap": -3}, "Option bootstrap: -3 is not possible. Input should be greater than or equal to 0."),
        ({"interval": "boot"}, "Option interval: 'boot' is not possible. Input should be 'auto', 'bc', 'percentile'"),
        ({"objective": "l2"}, "Option objective: 'l2' is not possible. Input should be 'huber-log', 'ols',"),
        ({"fixed": {"E": "x"}}, "Option fixed: 'x' is not possible. Input should be a valid number"),
        ({"law": "chinchila"}, "Law 'chinchila' is unknown: use one of chinchilla,"),
        ({"y": "accc"}, "There is no metric 'accc'"),
        ({"share": "alpha"}, "A fit of groups needs groups: map a column to the role group."),
    ],
)  # fmt: skip
def test_wrong_options_of_a_fit_are_one_sentence(options: dict[str, Any], why: str, folder: Path) -> None:
    runs = ip.runs(folder / "runs.csv", **ROLES)
    with pytest.raises(ip.PlannerError) as raised:
        ip.fit(runs, **options)
    assert why in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"wher": "N > 1"}, "Option wher: isoplan.runs has no such option. Use where."),
        ({"N": "parms"}, "Column 'parms' for N is not in the table: did you mean params (M)?"),
        ({"N": "params (M)"}, "Read it in millions with convert='params (M)', or as it stands with "
                              "convert='params (M):as-is'."),
        ({"convert": "nope:millions"}, "Column 'nope' of convert is not in the table"),
        ({"convert": "loss"}, "convert='loss': no unit is recognised. Name it, as in convert='loss:millions'."),
        ({"rows": "first"}, "Option rows: 'first' is not possible. Use one of None, 'all', 'last', 'best'."),
        ({"metric": "tokens"}, "Option metric: the better direction of 'tokens' is not known. Write "
                               "metric='tokens:min' or metric='tokens:max'."),
        ({"rule": "6ND", "n_p": 4}, "Option n_p: the rule 6ND does not read it. Use the rule 6npND, or remove n_p."),
        ({"rule": "zetaND:zeta"}, "Option rule: 'zeta' cannot be read. Write zetaND:zeta=NUMBER."),
        ({"derive": {"X": "tokens"}}, "X: a formula can give N, D, U, C,"),
    ],
)  # fmt: skip
def test_wrong_options_of_a_table_are_one_sentence(options: dict[str, Any], why: str) -> None:
    frame = pd.DataFrame({"params (M)": [1.0, 2.0, 4.0], "tokens": [1e8, 2e8, 4e8], "loss": [3.0, 2.5, 2.2]})
    with pytest.raises(ip.PlannerError) as raised:
        ip.runs(frame, **options)
    assert why in str(raised.value)
    assert "--" not in str(raised.value)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([1, 2], "Table: list is not a table. Use a path or a pandas DataFrame."),
        ("nothing.csv", "There is no file nothing.csv: check the path."),
        (GRIDS, "grids is a folder: name a table file in it."),
        (pd.DataFrame({"a": [1, "x"]}), "Conversion failed for column a"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DataFrame: Duplicate column names found: ['a', 'a']. Give each"),
        (pd.DataFrame({"a": [1.0]}).iloc[:0], "DataFrame has a header and no rows: add at least one run."),
    ],
)
def test_what_is_no_table_is_one_sentence(table: Any, why: str) -> None:
    with pytest.raises(ip.PlannerError) as raised:
        ip.runs(table)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "Options budget, target_loss, target_metric: give exactly one of them."),
        ({"budget": 1e21, "target_loss": 1}, "Options budget, target_loss, target_metric: give exactly one of them."),
        ({"budget": "much"}, "The option budget 'much' cannot be read as a number: write it like 1e20,"),
        ({"budget": 1e21, "max_hour": 24}, "Option max_hour: isoplan.plan has no such option. Use max_hours."),
        ({"budgets": 1e21}, "Option budgets: isoplan.plan has no such option. Use budget."),
        ({"budget": 1e21, "device": "H100", "max_hours": "24 EUR"}, "The option max_hours '24 EUR' is in EUR, not"),
        ({"budget": 1e21, "hour_price": 3}, "Give the option device with the option hour_price"),
        ({"budget": 1e21, "runs": ONE_PASS}, "Option runs requires rule measured. Add it, or leave runs out."),
        ({"budget": 1e21, "rule": "measured"}, "Option rule: measured needs runs with a column of C. Add runs."),
        ({"budget": 1e21, "second_rule": "zetaND:x"}, "Option second_rule: 'x' cannot be read. Write zetaND:zeta="),
        ({"target_metric": "R"}, 'Option target_metric: name one metric and its value, as in {"R": 5000}.'),
        ({"target_metric": {"R": 5}}, "Option metric_map: a target in a metric needs target_metric and one map"),
    ],
)
def test_wrong_options_of_a_plan_are_one_sentence(options: dict[str, Any], why: str, one_pass: Fit) -> None:
    with pytest.raises(ip.PlannerError) as raised:
        ip.plan(one_pass, **options)
    assert why in str(raised.value)


def test_wrong_options_of_other_answers_are_one_sentence(folder: Path, one_pass: Fit, repeated: Fit) -> None:
    runs: Any = ip.runs(folder / "runs.csv", **ROLES)
    with pytest.raises(ip.PlannerError, match=r"Option fit: Runs is not a fit. Use the result of isoplan.fit"):
        ip.plan(runs, budget=1e21)
    with pytest.raises(ip.PlannerError, match=r"Option bootstrap: isoplan.compare has no such option. Use one of y,"):
        ip.compare(runs, bootstrap=3)
    with pytest.raises(ip.PlannerError, match=r"Options budget, target_loss: give exactly one of them"):
        ip.smaller(one_pass)
    with pytest.raises(ip.PlannerError, match=r"Options kappa, curves: give exactly one of them"):
        ip.repeat(one_pass, repeated, target_loss=2.1)
    with pytest.raises(ip.PlannerError, match=r"Option hour_price: the price of an hour of the device is missing"):
        ip.repeat(one_pass, repeated, target_loss=2.1, kappa=10, device="H100")
    with pytest.raises(ip.PlannerError, match=r"Option width requires device. Add it, or leave width out"):
        ip.recipe(1e18, "recall@10", width=3)
    with pytest.raises(ip.PlannerError, match=r"Option where requires runs. Add it, or leave where out"):
        ip.recipe(1e18, "recall@10", where="N > 1")
    with pytest.raises(ip.PlannerError, match=r"Option instead: 'x' is not possible. Use one of 's', 'B', 'K'"):
        ip.recipe(1e18, "recall@10", instead={"x": 1})  # type: ignore[dict-item]
    with pytest.raises(ip.PlannerError, match=r"Option runs: no runs vary N, s, B or K while the rest is equal"):
        ip.recipe(1e18, "recall@10", runs=pd.DataFrame({"alpha": [1, 3], "beta": [2, 4]}))
    with pytest.raises(ip.PlannerError, match=r"Options target_mse, target_error: give exactly one of them"):
        ip.amplitude(5)
    with pytest.raises(ip.PlannerError, match=r"Option anchors: name the axis that limits the run first"):
        ip.amplitude(5, target_mse=1e-6, anchors=[{"loss": 1e-3}])


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
    with pytest.raises(ip.PlannerError, match=r"Answer: Runs has no file"):
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
    with pytest.raises(ip.PlannerError, match=r"Option runs: the law isoflop has a parabola through the runs"):
        ip.plot.isoflop(minima)
    with pytest.raises(ip.PlannerError, match=r"The law repetition is no surface over N and D"):
        ip.plot.surface(repeated)
    with pytest.raises(ip.PlannerError, match=r"Option fit: the plan was made from the fit"):
        ip.plot.plan(ip.plan(one_pass, budget=1e21), repeated)
