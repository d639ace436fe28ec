"""Tests of the commands ``repeat``, ``recipe`` and ``plans``: text, JSON and bad input."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isoplan.data.files import path
from isoplan.data.recommender import critical_batch
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting import read_fit, to_json
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.factor import stated
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.app.terminal.test_amplitude import AMPLITUDE, CHEAP
from tests.engine.planning.conftest import make_fit
from tests.engine.planning.export.tex import table
from tests.engine.planning.repeat.test_factor import curves
from tests.engine.planning.repeat.test_repeat import TABLE_1, TABLE_2

ROOT = Path(__file__).parents[3]
ONE, TWO = (str(path(f"cards/{name}.json")) for name in ("jets_table1", "jets_table2_21x128"))
REPEAT = ("repeat", ONE, TWO, "--target-loss", 0.5, "--sample-price", 1e-3)
PRICES = Prices(Machine(find_device("H100"), price=3), Simulation(price=1e-9))


def test_repeat_prices_both_regimes(run: Run) -> None:
    answer = run(*REPEAT, "--flop-price", 2e-18, "--kappa", 10, "--json")
    assert answer.code == 0, answer.err
    raw = object_in(answer.out)
    expected = simulate_or_repeat(TABLE_1, TABLE_2, 0.5, SampleCosts(1e-3, 2e-18), stated(10))
    assert raw["break_even"]["value"] == expected.break_even.value
    assert raw["omega"]["value"] == pytest.approx(2.73, abs=0.005)
    assert raw["regimes"]["repeat"]["N"]["value"] is None
    assert "withheld" in answer.err
    shown = run(*REPEAT, "--device", "H100", "--hour-price", 3, "--utilisation", "0.5%", "--kappa", 10)
    assert shown.out.startswith("To reach loss 0.5 at 0.001 EUR a sample it is cheaper to repeat")
    peak = run(*REPEAT, "--device", "H100", "--hour-price", 3, "--utilisation", "40%", "--kappa", 10).out
    assert peak.startswith("To reach loss 0.5, use ")
    assert "The training cost is not known: a model of " in peak


def test_repeat_reads_kappa_and_threshold_and_few_epochs_from_files(run: Run, tmp_path: Path) -> None:
    made = curves()
    names = made.names[made.of]
    rows = [
        f"{n},{u:.9g},{c:.9g},{y:.9g}" for n, u, c, y in zip(names, made["U"], made["C"], made["loss"], strict=True)
    ]
    (tmp_path / "curves.csv").write_text("\n".join(["name,uniq,flops,val_loss", *rows]))
    sizes = [f"{name},{made['N'][made.of == i][0]:.9g}" for i, name in enumerate(made.names)]
    (tmp_path / "runs.csv").write_text("\n".join(["name,N", *sizes]))
    files = {"line": make_fit((40.0, 0.47), law="threshold"), "few": make_fit(
        (0.32, 11.27, 7.22, 0.44, 0.22, 15.0, 5.0), law="data-constrained")}  # fmt: skip
    for name, fitted in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(to_json(fitted)))
    answer = run(*REPEAT, "--flop-price", 2e-18, "--curves", tmp_path / "curves.csv", "--runs", tmp_path / "runs.csv",
                 "--map-curves", "run=name,U=uniq,C=flops,loss=val_loss", "--threshold", tmp_path / "line.json",
                 "--surface", tmp_path / "few.json", "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    raw = object_in(answer.out)
    assert raw["kappa"]["value"] == pytest.approx(8, rel=0.05)
    assert raw["regimes"]["repeat"]["N"]["value"] == pytest.approx(
        40 * raw["regimes"]["repeat"]["unique"]["value"] ** 0.47
    )
    assert "does not describe overfitting" in raw["between"]["note"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--kappa", 10), "give either --flop-price, or --device and --hour-price"),
        (("--flop-price", 2e-18), "kappa is not known: give either --kappa"),
        (("--flop-price", 0, "--kappa", 10), "The price of one FLOP is 0: give a positive number"),
        (("--device", "H100", "--kappa", 10), "--device requires the price of a device hour: add --hour-price"),
        (("--flop-price", 2e-18, "--kappa", 10, "--hour-price", 3), "give either --flop-price, or --device"),
        (("--flop-price", 2e-18, "--kappa", 10, "--utilisation", 0.5), "give either --flop-price, or --device"),
        (("--hour-price", 3, "--kappa", 10), "Give the option --device with the option --hour-price"),
        (("--flop-price", 2e-18, "--kappa", 10, "--currency", "potatoes"), "The currency 'potatoes' is unknown"),
        (
            ("--device", "H100", "--hour-price", 3, "--kappa", 10, "--currency", "GBP"),
            "The currency 'GBP' is unknown: use EUR or USD",
        ),
        (("--flop-price", 2e-18, "--curves", "x.csv"), "--curves needs the table of the runs of these curves"),
        (("--flop-price", 2e-18, "--kappa", 10, "--target-loss", 0.3), "is below the floor 0.320 of the one-pass law"),
    ],
)
def test_repeat_refuses_in_one_sentence(run: Run, options: tuple[object, ...], why: str) -> None:
    one_sentence(run(*REPEAT, *options), why)


def test_recipe_from_what_the_paper_prints(run: Run) -> None:
    answer = run("recipe", "--budget", "1e18", "--metric", "val_loss", "--device", "H100", "--devices", 8,
                 "--width", 188, "--instead", "B=1024", "--chunk", 0, "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    raw = object_in(answer.out)["recipes"]["val_loss"]
    assert raw["choices"]["s"]["value"] == pytest.approx(0.021, abs=1e-3)
    assert raw["choices"]["B"]["otherwise"][0]["x"] == 1024
    assert raw["binds"] == "memory"
    assert raw["choices"]["K"]["value"] == raw["cap"]
    shown = run("recipe", "--budget", "200 H100 hours", "--metric", "recall@10")
    assert "is read as" in shown.err
    assert (
        "on 33.3 B samples (by val_loss, extrapolated 1.5 decades in C), put 2.00 % of N into the embedder "
        "(extrapolated 2.5 decades in C) and use batches of 540 "
    ) in shown.out


def test_recipe_reads_shares_as_fractions_or_in_per_cent(run: Run) -> None:
    asked = ("recipe", "--budget", "1e18", "--metric", "val_loss", "--json", "--instead")
    assert run(*asked, "s=6%").out == run(*asked, "s=0.06").out != ""


def test_repeat_counts_a_flop_from_the_price_of_an_hour(run: Run) -> None:
    flop = 3 / (989e12 * 0.005 * 3600)
    machine = ("--device", "H100", "--hour-price", 3, "--utilisation", "0.5 %")
    by_hour = object_in(run(*REPEAT, *machine, "--kappa", 10, "--json").out)
    by_flop = object_in(run(*REPEAT, "--flop-price", repr(flop), "--kappa", 10, "--json").out)
    assert len(by_hour["regimes"]) == 2
    for regime in by_hour["regimes"]:
        of = [raw["regimes"][regime]["training"]["value"] for raw in (by_hour, by_flop)]
        assert of[0] == pytest.approx(of[1], rel=1e-3)


def test_recipe_reads_own_sweeps_and_fits(run: Run, tmp_path: Path) -> None:
    s = np.geomspace(0.005, 0.5, 12)
    loss = 2 + 1.5 * s**0.8 + 1e-3 / s
    rows = [f"{x:.6g},{y:.9g}" for x, y in zip(s, loss, strict=True)]
    (tmp_path / "share.csv").write_text("\n".join(["share,loss", *rows]))
    (tmp_path / "few.csv").write_text("\n".join(["share,loss", *rows[:2]]))
    (tmp_path / "batch.json").write_text(json.dumps(to_json(critical_batch("val_loss"))))
    ask = (
        "recipe",
        "--budget",
        1e18,
        "--metric",
        "loss",
        "--bootstrap",
        20,
        "--share-column",
        "share",
        "--no-published",
    )
    raw = object_in(
        run(*ask, "--share", tmp_path / "share.csv", "--batch", f"loss={tmp_path}/batch.json", "--json").out
    )
    choices = raw["recipes"]["val_loss"]["choices"]
    assert choices["s"]["value"] == pytest.approx((1e-3 / 1.2) ** (1 / 1.8), rel=0.05)
    assert choices["B"]["value"] == pytest.approx(574, abs=1)
    one_sentence(run(*ask, "--share", tmp_path / "few.csv"), "select at least 4 runs")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--metric", "auc"), "No run measures the metric 'auc'"),
        (("--metric", "val_loss", "--device", "H100"), "Add --width"),
        (("--metric", "val_loss", "--instead", "q=3"), "--instead cannot read 'q=3'"),
        (("--metric", "val_loss", "--instead", "B=-3"), "B = -3 is not positive. Give a positive value"),
        (("--metric", "val_loss", "--instead", "B=0"), "B = 0 is not positive"),
        (("--metric", "val_loss", "--instead", "K=-5"), "K = -5 is not positive"),
        (("--metric", "val_loss", "--instead", "K=0"), "K = 0 is not positive"),
        (
            ("--metric", "val_loss", "--instead", "s=6"),
            "s = 6 is not a fraction of the parameters. Write a number below 1, such as 0.06",
        ),
        (("--metric", "val_loss", "--width", 188), "--width requires --device"),
        (("--metric", "val_loss", "--chunk", 64), "--chunk requires --device"),
        (("--metric", "val_loss", "--devices", 8), "--devices requires --device"),
        (("--metric", "val_loss", "--length", 64), "--length requires --device"),
        (("--metric", "val_loss", "--share-column", "x"), "--share-column requires --share"),
        (("--metric", "val_loss", "--negatives-column", "x"), "--negatives-column requires --negatives"),
        (("--metric", "val_loss", "--bootstrap", -5), "Invalid value for '--bootstrap'"),
        (("--metric", "val_loss", "--device", "L40S", "--width", 188, "--batch-size", 1e9), "one candidate row"),
    ],
)
def test_recipe_refuses_in_one_sentence(run: Run, options: tuple[object, ...], why: str) -> None:
    one_sentence(run("recipe", "--budget", "1e18", *options), why)


def test_plans_side_by_side(run: Run, fitted: Path, tmp_path: Path) -> None:
    for name, question in (("small", ("--budget", 1e20)), ("large", ("--budget", 1e22))):
        (tmp_path / f"{name}.json").write_text(run("plan", fitted, *question, "--json").out)
    files = (tmp_path / "small.json", tmp_path / "large.json")
    prices = ("--device", "H100", "--hour-price", 3, "--sample-price", 1e-9)
    raw = object_in(run("plans", *files, *prices, "--json").out)
    money = [one["bill"]["Training, money"]["value"] for one in raw["plans"]]
    assert money[1] == pytest.approx(100 * money[0])
    assert [one["name"] for one in raw["plans"]] == ["small", "large"]
    assert "Training, money" in run("plans", *files, *prices).out
    assert run("plans", *files).code == 0
    total = "Total, money"
    assert [one["bill"][total]["ci68"] for one in raw["plans"]] == [None, None]
    known = object_in(run("plans", *files, *prices, "--fit", fitted, "--json").out)
    for one, C in zip(known["plans"], (1e20, 1e22), strict=True):
        made = plan_budget(read_fit(json.loads(fitted.read_text())), C, prices=PRICES)
        assert one["bill"][total]["ci68"] == list(made.bill[-1].amount.ci68 or ())
    one_sentence(run("plans", *files, "--fit", ONE), "No plan was made with the fits of --fit")
    one_sentence(run("plans", files[0], files[0]), "Two plans have the name 'small'")
    one_sentence(run("plans", *files, "--hour-price", 3), "Give the option --device with the option --hour-price")
    one_sentence(run("plans", fitted), "This is not a plan that Isoplan wrote")


FORMS: dict[str, tuple[object, ...]] = {
    "repeat": (*REPEAT, "--flop-price", 2e-18, "--kappa", 10),
    "amplitude": (*AMPLITUDE, "--anchor", CHEAP),
    "recipe": (
        "recipe",
        "--budget",
        "1e18",
        "--metric",
        "val_loss",
        "--device",
        "H200",
        "--devices",
        8,
        "--width",
        188,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_answer_is_printed_in_every_form(name: str, run: Run, tmp_path: Path) -> None:
    made = {form: run(*FORMS[name], "--format", form).out for form in ("csv", "markdown", "latex", "python")}
    assert made["csv"].startswith("quantity,value,unit,low68,high68,low95,high95,beyond,note")
    assert len(table(made["latex"])) == len(list(csv.reader(made["csv"].splitlines())))
    raw = object_in(run(*FORMS[name], "--json").out)
    assert object_in(run(*FORMS[name], "--format", "json").out) == raw
    assert made["markdown"].splitlines()[0] == raw.get("sentence")
    (tmp_path / "again.py").write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{made['python']}")
    again = subprocess.run([sys.executable, "again.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stdout.split() == run(*FORMS[name]).out.split()


def test_smaller_is_printed_in_every_form(run: Run, fitted: Path, tmp_path: Path) -> None:
    ask = ("smaller", fitted, "--budget", 1e21, "--queries", 1e9, "--query-tokens", 500, "--max-params", 1e9)
    rows = {row["quantity"]: row for row in csv.DictReader(run(*ask, "--format", "csv").out.splitlines())}
    raw = object_in(run(*ask, "--json").out)
    assert float(rows["0.50 N*: N"]["value"]) == raw["N"][raw["fraction"].index(0.5)]
    assert float(rows["Over its life: Training and inference"]["value"]) == raw["lifetime"]["total"]["value"]
    assert len(table(run(*ask, "--format", "latex").out)) == len(rows) + 1
    code = run(*ask, "--format", "python").out
    (tmp_path / "again.py").write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}")
    again = subprocess.run([sys.executable, "again.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stdout.split() == run(*ask).out.split()


def test_repeat_needs_no_price_to_say_when_repeating_pays(run: Run) -> None:
    """Repeating pays if simulating a sample costs more than 9.55 times as much as training on it once.

    Repeated training takes kappa = 10 times the compute of a single pass. The laws are Tables 1 and 2 of jets.
    """
    asked = ("repeat", ONE, TWO, "--target-loss", 0.5, "--kappa", 10)
    shown = run(*asked, "--have", "2 M jets")
    assert shown.code == 0
    assert (
        "Repeating is cheaper if simulating a sample costs more than 9.55 times as much as training on it once"
        in shown.out
    )
    assert "Your 2.00 M samples reach loss" in shown.out
    assert "EUR" not in shown.out
    one_sentence(run(*asked, "--json"), "This format requires prices. Give --sample-price")
    one_sentence(run(*asked, "--flop-price", 1e-18), "A simulated sample has no price")


def test_repeat_prices_samples_by_their_cpu_time_and_counts_by_a_rule(run: Run) -> None:
    asked = ("repeat", ONE, TWO, "--target-loss", 0.5, "--kappa", 10, "--json", "--rule", "zetaND:zeta=300")
    device = ("--device", "H100", "--hour-price", "3 EUR/h", "--precision", "fp8", "--utilisation", 0.005)
    raw = object_in(run(*asked, *device, "--sample-seconds", "0.5 s", "--cpu-price", 0.02).out)
    flop = float(Machine(find_device("H100"), price=3, precision="fp8", utilisation=0.005).money(1.0))
    expected = simulate_or_repeat(
        TABLE_1,
        TABLE_2,
        0.5,
        SampleCosts(0.5 / 3600 * 0.02, flop),
        stated(10),
        rule=ComputeRule(rule="zetaND", zeta=300),
    )
    assert raw["compute"]["zeta"] == 300
    assert raw["question"]["sample_price"] == pytest.approx(0.5 / 3600 * 0.02)
    assert raw["question"]["flop_price"] == pytest.approx(flop)
    assert raw["break_even"]["value"] == pytest.approx(expected.break_even.value)


def test_recipe_takes_the_precision_of_logits_a_learning_rate_and_a_rule(run: Run) -> None:
    asked = ("recipe", "--budget", 1e17, "--metric", "recall@10", "--device", "B200", "--width", 188, "--json")
    short = ("--length", 64)
    usual, other = (
        object_in(run(*asked, *short, *more).out)["recipes"]
        for more in ((), ("--precision", "fp32", "--rate", 1e-3, "--rate-batch", 256, "--rule", "zetaND:zeta=9"))
    )
    cap, less = (one["recall@10"]["cap"] for one in (usual, other))
    sizes = [(each["choices"]["N"]["value"], each["choices"]["D"]["value"]) for each in other.values()]
    assert any(N for N, _ in sizes)
    assert all(N is None or N * D == pytest.approx(1e17 / 9, rel=1e-6) for N, D in sizes)
    usual, other = (one["recall@10"]["choices"] for one in (usual, other))
    B = usual["B"]["value"]
    assert usual["lr"]["value"] == pytest.approx(2e-3 * (B / 512) ** 0.5)
    assert other["lr"]["value"] == pytest.approx(1e-3 * (B / 256) ** 0.5)
    # fp32 doubles the bytes per logit, so the memory allows about half as many extra negatives.
    assert less < cap / 1.9
    one_sentence(run(*asked[:5], "--precision", "fp32"), "--precision requires --device")
    one_sentence(run(*asked, "--precision", "fp1"), "Precision 'fp1' of the logits is unknown")
    one_sentence(run(*asked, "--rate", 0), "The learning rate is 0")


def test_plans_are_compared_as_the_first_was_priced_and_moved_like_the_sliders(
    run: Run, fitted: Path, tmp_path: Path
) -> None:
    """The training cost doubles if the hour price doubles or the utilisation halves.

    ``--speed`` divides the cost of simulated samples by the given factor.
    """
    asked = ("plan", fitted, "--budget", 1e20, "--device", "H100", "--hour-price", 3, "--sample-price", 1e-6, "--json")
    saved = tmp_path / "one.json"
    saved.write_text(run(*asked).out)

    def money(*options: object) -> tuple[float, float]:
        (one,) = object_in(run("plans", saved, *options, "--json").out)["plans"]
        return tuple(one["bill"][f"{part}, money"]["value"] for part in ("Training", "Simulation"))

    training, simulation = money()
    assert money("--hour-times", 2) == pytest.approx((2 * training, simulation))
    assert money("--utilisation", "20 %") == pytest.approx((2 * training, simulation))
    assert money("--speed", "2,5") == pytest.approx((training, simulation / 2.5))
    assert money("--device", "H100", "--hour-price", 6, "--sample-price", 1e-6) == pytest.approx(
        (2 * training, simulation)
    )
    bare = tmp_path / "bare.json"
    bare.write_text(run("plan", fitted, "--budget", 1e20, "--json").out)
    one_sentence(run("plans", bare, "--speed", 2), "--speed requires prices, and no plan has any")
    bare.write_text(run("plan", fitted, "--budget", 1e20, "--device", "H100", "--json").out)
    one_sentence(run("plans", bare, "--hour-times", 2), "--hour-times requires the price of a device hour")
    one_sentence(run("plans", bare, "--speed", 2), "--speed requires the price of a simulated sample")


def test_recipe_takes_a_budget_in_money(run: Run) -> None:
    machine = ("--device", "H100", "--hour-price", 2.5)
    asked = ("recipe", "--metric", "recall@10", *machine, "--utilisation", "20%")
    answer = run(*asked, "--budget", "500 EUR", "--devices", 8, "--width", 188, "--json")
    assert answer.code == 0, answer.err
    raw = object_in(answer.out)
    flops = 500 / 2.5 * 3600 * 0.2 * find_device("H100").peak
    assert raw["question"]["budget"] == pytest.approx(flops)
    assert raw["spent"] in answer.err
    assert "200 H100 hours at 2.5 EUR per hour and 20 % of the peak of H100" in raw["spent"]
    assert raw["recipes"]["recall@10"]["cap"] > 0
    without = object_in(run(*asked, "--budget", "$500", "--currency", "USD", "--json").out)
    assert without["question"]["budget"] == pytest.approx(flops)
    assert without["recipes"]["recall@10"]["cap"] is None
    assumed = object_in(run("recipe", "--metric", "recall@10", "--budget", "0.05 EUR", *machine, "--json").out)
    N = assumed["recipes"]["recall@10"]["choices"]["N"]["value"]
    reached = 0.4 * np.sqrt(N / find_device("H100").least)
    assert reached < 0.4
    assert assumed["question"]["budget"] == pytest.approx(0.02 * 3600 * reached * find_device("H100").peak, rel=0.02)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--budget", "500 EUR"), "'500 EUR' is money: give the option --device and the option --hour-price with it"),
        (("--budget", "500 EUR", "--device", "H100", "--width", 188), "is money: give the option --hour-price with it"),
        (("--budget", "500 EUR", "--hour-price", 2), "Give the option --device with the option --hour-price"),
        (("--budget", "-5 EUR", "--device", "H100", "--hour-price", 2), "is not positive. Give a positive number"),
        (("--budget", "1e18", "--device", "H100", "--hour-price", 2), "--hour-price requires --budget in money"),
        (("--budget", "1e18", "--currency", "USD"), "--currency requires --budget in money"),
        (
            ("--budget", "500 EUR", "--device", "H100", "--hour-price", 2, "--length", 64),
            "Option --width: the memory limit of K depends on the embedding width",
        ),
    ],
)
def test_recipe_refuses_a_budget_without_its_price_in_one_sentence(
    run: Run, options: tuple[object, ...], why: str
) -> None:
    one_sentence(run("recipe", "--metric", "recall@10", *options), why)
