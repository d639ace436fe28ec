"""Tests of the Python API: names, imports, and numbers, which must equal the numbers of the terminal."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.app.commands.compare import to_json as comparison_to_json
from isoplan.engine.fitting import Comparison, Fit, GroupedFit, groups_to_json, to_json
from isoplan.engine.planning.plan.document import to_json as plan_to_json
from isoplan.engine.planning.recommender.settings import CHUNK
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.scenario.fields import OURS, SCENARIO
from tests.api.conftest import (
    CELLS,
    CURVES,
    MACHINE,
    MACHINE_OPTIONS,
    MAP,
    ONE_PASS,
    REPEATED,
    ROLES,
    SHARES,
    as_json,
    isoplan,
    printed_json,
    single,
)
from tests.engine.planning.recommender.own_runs import mixed_csv

# Names and imports


def test_the_surface_has_these_names() -> None:
    assert ip.__all__ == [
        *(
            "PlannerError",
            "__version__",
            "amplitude",
            "compare",
            "fit",
            "load",
            "log",
            "next_cells",
            "next_values",
            "plan",
            "plot",
            "recipe",
        ),
        *("repeat", "runs", "save", "smaller"),
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


# Numbers are equal to those of the terminal


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
        (("--budget", "20k EUR", *MACHINE_OPTIONS, "--our-params", "2B", "--our-samples", "10 B tokens"),
         {"budget": "20k EUR", **MACHINE, "our_params": 2e9, "our_samples": "10 B tokens"}),
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
    with pytest.raises(ip.PlannerError, match=r"Give sample_price, and also flop_price or a device"):
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
    options = {field.name for field in (*OURS, *SCENARIO)}
    assert {*plan.__annotations__} - other == options
    assert ip.plan.__doc__ is not None
    assert options <= {*re.findall(r"\w+", ip.plan.__doc__)}
    assert inspect.signature(recipe).parameters["chunk"].default == CHUNK


@pytest.mark.parametrize("ask", [ip.next_cells, ip.next_values, ip.smaller])
def test_the_documentation_of_a_question_states_its_fit_and_nothing_of_the_terminal(ask: Any) -> None:
    assert "fit : Fit" in ask.__doc__
    assert "standard input" not in ask.__doc__
