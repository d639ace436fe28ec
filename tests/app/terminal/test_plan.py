"""Tests of ``isoplan plan`` with prices, limits, metrics and other output formats."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isoplan.engine.costs import ComputeRule, TwoPart
from isoplan.engine.planning.plan.document import read_plan, to_json
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.planning.test_metric import rejection

MACHINE = ("--device", "H200", "--devices", 8, "--hour-price", 3)


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    from isoplan.engine.fitting import to_json as fit_to_json

    path = tmp_path / "map.json"
    path.write_text(json.dumps(fit_to_json(rejection(r=200))))
    return path


def by_limit(raw: dict) -> dict:  # type: ignore[type-arg]
    return {w["limit"]: w for w in raw["worth"]}


def test_every_price_and_limit_is_an_option(run: Run, fitted: Path) -> None:
    made = run(
        "plan", fitted, "--budget", "1e22", *MACHINE, "--utilisation", "35%", "--precision", "fp8", "--currency", "USD",
        "--grid", 300, "--pue", 1.2, "--sample-price", "1e-7", "--sample-bytes", "1k", "--queries", "1e8",
        "--query-tokens", 100, "--max-unique", "6e9", "--max-params", "1e12", "--max-epochs", 4, "--max-hours", "1e6",
        "--max-memory", "1k", "--max-money", "1e9", "--second-rule", "6*N*D + 1e9*D", "--json",
    )  # fmt: skip
    raw = object_in(made.out)
    plan = read_plan(raw)
    assert json.loads(json.dumps(to_json(plan))) == raw
    assert plan.prices is not None
    assert plan.prices.machine.text == (
        "8 x H200 at 35 % of 1979 TFLOP/s fp8 (peaks of the NVIDIA H200 data sheet, SXM, checked 2026-11)"
    )
    assert set(by_limit(raw)) == {"budget", "unique", "parameters", "epochs", "hours", "memory", "money"}
    assert {name for name, w in by_limit(raw).items() if w["binds"]} == {"budget", "unique"}
    assert plan.question.limits.memory == 1e12
    assert {line.part for line in plan.bill} == {"training", "simulation", "inference", "total"}
    assert plan.restated is not None
    assert (plan.restated.factor.value or 0) > 1


def test_a_plan_for_people_says_what_binds(run: Run, fitted: Path) -> None:
    shown = run("plan", fitted, "--target-loss", 2.55, *MACHINE, "--max-unique", "6e9").out
    assert "The limit of 6.00 B unique samples is reached: ten per cent more saves " in shown
    assert "Training, money" in shown
    lines = [line.split("  ")[0] for line in shown.splitlines()]
    assert lines[-4:] == ["This plan", "Half of the budget", "Ten times the budget", "10 % more unique samples"]
    assert "Machine: 8 x H200 at 40 % of 989 TFLOP/s bf16 (peaks of the NVIDIA H200 data sheet, SXM" in shown


def test_a_metric_is_a_target_and_a_forecast(run: Run, fitted: Path, mapped: Path) -> None:
    raw = object_in(run("plan", fitted, "--target-metric", "R=24", "--metric-map", mapped, "--json").out)
    assert raw["question"] == {"target": 24.0, "metric": "R"}
    C = raw["allocation"]["C"]["value"]
    back = object_in(run("plan", fitted, "--budget", repr(C), "--metric-map", mapped, "--json").out)
    assert back["derived"]["R"]["value"] == pytest.approx(24.0, rel=1e-6)


def test_a_budget_in_money_is_the_compute_that_it_pays_for(run: Run, fitted: Path) -> None:
    made = run("plan", fitted, "--budget", "20k EUR", *MACHINE, "--json")
    plan = read_plan(object_in(made.out))
    hours = 20_000 / 3
    assert plan.question.value == pytest.approx(hours * 3600 * 989e12 * 0.4, rel=1e-3)
    total = next(line.amount.value for line in plan.bill if (line.part, line.what) == ("total", "money"))
    assert total == pytest.approx(20_000)
    assert plan.question.money == 20_000
    assert plan.sentence.startswith("With 20.0 k EUR train ")
    bare = run("plan", fitted, "--budget", "20k EUR", "--device", "H200")
    one_sentence(bare, "The option --budget '20k EUR' is money: give the option --hour-price with it.")


def test_a_plan_is_compared_with_a_stated_one(run: Run, fitted: Path) -> None:
    ask = ("plan", fitted, "--budget", "1e21", *MACHINE, "--our-params", "2 B", "--our-samples", "10B tokens")
    raw = object_in(run(*ask, "--json").out)
    plan = read_plan(raw)
    assert plan.saving is not None
    assert json.loads(json.dumps(to_json(plan))) == raw
    C, N, D = (plan.saving.stated[name].value for name in ("C", "N", "D"))
    assert (C, N, D) == (6 * 2e9 * 10e9, 2e9, 10e9)
    cheapest = object_in(
        run("plan", fitted, "--target-loss", repr(plan.saving.stated["loss"].value), *MACHINE, "--json").out
    )["allocation"]["C"]["value"]
    assert plan.saving.flops.value == pytest.approx(6 * 2e9 * 10e9 - cheapest)
    assert f"Compared with your plan: {plan.saving.sentence}" in run(*ask).out
    assert "Money saved, compared with your plan" in run(*ask, "--format", "csv").out
    one_sentence(run(*ask[:-2]), "Give the option --our-samples with the option --our-params.")


@pytest.mark.parametrize(
    ("form", "first"), [("csv", "quantity,value"), ("markdown", "With 10²⁰"), ("latex", r"\begin{tabular}")]
)
def test_other_forms(run: Run, fitted: Path, form: str, first: str) -> None:
    assert run("plan", fitted, "--budget", "1e20", "--format", form).out.startswith(first)


def test_the_python_of_a_plan_runs(run: Run, fitted: Path) -> None:
    ask = ("plan", fitted, "--budget", "1e22", *MACHINE, "--max-hours", 10)
    code = run(*ask, "--format", "python").out
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    # After the text of the plan, the command also prints how the plan changes with the budget.
    assert run(*ask).out.startswith(made.stdout.rstrip("\n") + "\n\nChange ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--budget", "1e20", "--max-hours", "10"), "A limit on hours needs a machine: name the device that trains"),
        (
            ("--budget", "1e20", "--hour-price", "3"),
            "Give the option --device with the option --hour-price",
        ),
        (("--budget", "1e20", "--device", "abacus"), "The device 'abacus' is not in the catalogue"),
        (("--budget", "1e20", "--device", "H200", "--hour-price", "0"), "The price of one hour of H200 is 0"),
        (("--budget", "1e20", "--device", "H200", "--sample-price", "0"), "The price of one sample is 0"),
        (("--budget", "1e20", "--device", "V100", "--precision", "bf16"), "V100 has no peak at precision 'bf16'"),
        (("--budget", "1e20", "--device", "H200", "--currency", "FF"), "The currency 'FF' is unknown"),
        (("--budget", "1e20", "--device", "H200", "--utilisation", "140%"), "The utilisation 1.4 is not a fraction"),
        (("--budget", "1e20", "--query-tokens", "5"), "Give the option --queries with the option --query-tokens"),
        (
            ("--budget", "1e20", "--cpu-price", "5"),
            "Give the option --cpu-price together with the option --sample-seconds",
        ),
        (("--budget", "1e20", "--grid", "300"), "Give the option --device with the option --grid"),
        (("--budget", "1e20", "--devices", "8"), "Give the option --device with the option --devices"),
        (("--budget", "1e20", "--currency", "USD"), "Give the option --device with the option --currency"),
        (("--budget", "1e20", "--device", "H200", "--pue", "0"), "The power usage effectiveness 0 is below 1"),
        (
            ("--budget", "1e20", "--device", "H200", "--queries", "9", "--query-tokens", "0"),
            "The number of tokens in a query is 0: give a positive number",
        ),
        (
            ("--budget", "1e20", "--device", "H200", "--queries", "9", "--query-tokens", "3", "--query-flops", "5"),
            "Give either the option --query-tokens or the option --query-flops, not both",
        ),
        (("--budget", "1e20", "--max-params", "1e-30"), "A limit of 1e-30 parameters is less than one"),
        (
            ("--budget", "1e20", "--max-epochs", "4"),
            "A limit on epochs requires a limit on the number of unique samples",
        ),
        (("--budget", "1e20", "--max-unique", "none"), "The option --max-unique 'none' cannot be read"),
        (("--budget", "1e20", "--max-params", "0"), "A limit of 0 parameters is not positive"),
        (
            ("--target-loss", "2.0", "--max-unique", "1e6"),
            "contradicts the limit of 1.00 M unique samples: this limit allows loss",
        ),
        (("--target-metric", "R=5"), "A target in a metric needs --target-metric NAME=VALUE and one --metric-map"),
        (("--target-loss", "2", "--metric-map", "MAP"), "A target in a metric needs --target-metric NAME=VALUE"),
        (("--target-metric", "R", "--metric-map", "MAP"), "--target-metric cannot read 'R': write NAME=VALUE"),
        (("--target-metric", "auc=5", "--metric-map", "MAP"), "The map describes R, not auc"),
        (("--target-metric", "R=5", "--metric-map", "FIT"), "The map describes loss, not R"),
        (("--budget", "1e20", "--format", "pdf"), "Invalid value for '--format'"),
        (("--budget", "1e20", "--second-rule", "6*N*"), "The formula '6*N*' cannot be read"),
    ],
)
def test_a_bad_option_is_one_sentence(
    run: Run, fitted: Path, mapped: Path, arguments: tuple[str, ...], why: str
) -> None:
    places = {"MAP": mapped, "FIT": fitted}
    one_sentence(run("plan", fitted, *(places.get(a, a) for a in arguments)), why)


def test_a_machine_whose_power_nobody_publishes_says_what_is_left_out(run: Run, fitted: Path) -> None:
    asked = ("plan", fitted, "--budget", "1e22", "--device", "TPUv5p", "--grid", "300")
    assert "kWh and CO2 are left out: the vendor does not publish the power of TPUv5p" in run(*asked).out
    bill = {(x["part"], x["what"]): x["amount"] for x in object_in(run(*asked, "--json").out)["bill"]}
    assert bill["training", "energy"]["value"] is None
    bill = {(x["part"], x["what"]): x["amount"] for x in object_in(run(*asked, "--power", 500, "--json").out)["bill"]}
    assert bill["training", "energy"]["value"] == pytest.approx(1e22 / (459e12 * 0.4 * 3600) * 0.5)
    assert bill["training", "CO2"]["value"] == pytest.approx(bill["training", "energy"]["value"] * 0.3)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("p_reach",), "x"),
        (("flat", "tolerance"), "x"),
        (("bill", 0, "part"), 3),
        (("worth", 0, "limit"), "x"),
        (("worth", 0, "most"), "x"),
    ],
)
def test_a_plan_that_was_edited_by_hand_is_one_sentence(
    run: Run, fitted: Path, tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    ask = ("plan", fitted, "--budget", "1e22", *MACHINE, "--max-hours", 10, "--json")
    raw: Any = object_in(run(*ask).out) | {"flat": {"tolerance": 0.01, "N": [1, 2], "D": [2, 1]}}
    inner = raw
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(raw))
    one_sentence(run("plans", path), "This is not a plan that Isoplan wrote")


PARTS = TwoPart(s=0.02, h=188, B=512, K=1e5)


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        (("zetaND:zeta=6.4",), ComputeRule(rule="zetaND", zeta=6.4)),
        (("per-epoch:epochs=10", "--n-p", 40), ComputeRule(rule="per-epoch", n_p=40, epochs=10)),
        (("powers:zeta=20,a=0.9,b=1.05",), ComputeRule(rule="powers", zeta=20, a=0.9, b=1.05)),
        (("step:s=2%,h=188,B=512",), ComputeRule(rule="step", parts=PARTS.model_copy(update={"K": 0.0}))),
        (("stage2:s=0.02,h=188,B=512,L=256,K=1e5",), ComputeRule(rule="stage2", parts=PARTS)),
    ],
    ids=lambda x: getattr(x, "rule", ""),
)
def test_every_compute_rule_can_be_asked_for(
    run: Run, fitted: Path, typed: tuple[object, ...], rule: ComputeRule
) -> None:
    raw = object_in(run("plan", fitted, "--budget", "1e22", "--rule", *typed, "--json").out)
    assert raw["compute"] == rule.to_json()
    N, D = (raw["allocation"][name]["value"] for name in "ND")
    assert float(rule.flops(N, D)) == pytest.approx(1e22, rel=1e-5)
    shown = run("plan", fitted, "--budget", "1e22", "--rule", *typed).out
    assert rule.text in shown
    assert ("not published" in shown) == (rule.rule == "stage2")


def test_a_second_rule_may_be_any(run: Run, fitted: Path) -> None:
    said = run("plan", fitted, "--budget", "1e22", "--second-rule", "zetaND:zeta=12", "--json").out
    assert object_in(said)["restated"]["factor"]["value"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("zetaND", "The compute rule zetaND needs the zeta: give it"),
        ("zetaND:eta=3", "The compute rule zetaND takes no eta: give zeta"),
        ("zetaND:zeta", "Option --rule: 'zeta' cannot be read. Write zetaND:zeta=NUMBER"),
        ("zetaND:zeta=3,zeta=4", "Option --rule: zeta is given twice"),
        ("zetaND:zeta=many", "The zeta 'many' cannot be read as a number"),
        ("step:s=2,h=188,B=512", "The embedder share s = 2 is not a fraction"),
        ("stage2:s=2%,h=188,B=512", "The compute rule stage2 needs the K"),
        ("per-epoch:epochs=0", "cannot have epochs = 0"),
    ],
)
def test_a_bad_compute_rule_is_one_sentence(run: Run, fitted: Path, typed: str, why: str) -> None:
    one_sentence(run("plan", fitted, "--budget", "1e22", "--rule", typed), why)


def test_smaller_models_of_the_same_loss(run: Run, fitted: Path) -> None:
    shown = run("smaller", fitted, "--budget", "1e21", "--queries", "1e11").out
    assert shown.startswith("Models that reach the same loss 2.")
    assert "of the best size do not reach this loss with any number of samples." in shown
    assert "Including inference, the cheapest model has " in shown
    far = run("smaller", fitted, "--budget", "5.76e25", "--queries", "1e12").out
    assert far.startswith("These runs support plans from C = ")
    assert "Including inference, the cheapest model" not in far
    assert far.count("Stop: ") == 1
    assert "Size / N*" not in far
    raw = object_in(run("smaller", fitted, "--target-loss", 2.2, "--queries", "1e11", *MACHINE, "--json").out)
    assert (raw["question"], raw["law"], raw["allocation"]["loss"]["value"]) == ({"target": 2.2}, "chinchilla", 2.2)
    assert raw["lifetime"]["total"]["unit"] == "EUR"
    assert 0 < raw["lifetime"]["fraction"]["value"] < 1
    assert raw["overhead"][raw["fraction"].index(1.0)] == pytest.approx(0.0, abs=1e-9)
    assert object_in(run("smaller", fitted, "--target-loss", 2.2, "--json").out)["lifetime"] is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "Give exactly one of --budget and --target-loss"),
        (("--budget", "0"), "The budget of 0 FLOPs is not positive"),
        (("--target-loss", "1.0"), "A target loss of 1 is out of reach"),
        (("--budget", "1e20", "--queries", "9", "--query-tokens", "0"), "The number of tokens in a query is 0"),
        (("--budget", "1e20", "--query-flops", "5"), "Give the option --queries with the option --query-flops"),
    ],
)
def test_a_bad_question_about_smaller_models_is_one_sentence(
    run: Run, fitted: Path, arguments: tuple[str, ...], why: str
) -> None:
    one_sentence(run("smaller", fitted, *arguments), why)
