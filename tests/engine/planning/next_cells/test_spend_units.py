"""Spends in hours and in money: the costs of the cells, the ladder, charges, listed costs, and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isoplan as ip
from isoplan.engine.design.advice import LADDER
from isoplan.engine.design.cost_unit import FLOPS, HOURS, money
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, to_json
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.hardware import UTILISATION
from isoplan.engine.planning.next_cells.picture import chart_ladder
from isoplan.engine.planning.next_cells.text import cell_rows
from isoplan.engine.planning.next_cells.typed import TypedSpend, parse_cost, parse_spend, typed_spend
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.app.terminal.conftest import run as run
from tests.engine.design.tables import fitted, runs

TIME = Runtime(10.0, 1e-6, 1e-11, 0.1, 24, "seconds")
ASKED: dict[str, Any] = {"budget": 1e16, "max_cells": 4, "rounds": 2}
MACHINE: dict[str, Any] = {"device": "CPU node", "hour_price": 2}


@pytest.fixture(scope="module")
def law() -> Fit:
    return fitted(24)


@pytest.fixture(scope="module")
def timed(law: Fit) -> Fit:
    """Return a fit to runs with measured times: 10 s, 1 µs per sample and 1e-11 s per unit of N D."""
    return replace(law, data=replace(law.data, runtime=TIME))


@pytest.mark.parametrize(
    ("text", "spend"),
    [
        ("2 h", TypedSpend(hours=2.0)),
        ("90 minutes", TypedSpend(hours=1.5)),
        ("36 s", TypedSpend(hours=0.01)),
        ("1 day", TypedSpend(hours=24.0)),
        ("20 EUR", TypedSpend(money=20.0, currency="EUR")),
        ("$1.5k", TypedSpend(money=1500.0, currency="USD")),
        ("2 PFLOP", TypedSpend(flops=2e15)),
    ],
)
def test_a_spend_is_a_time_or_money(text: str, spend: TypedSpend) -> None:
    assert parse_spend(text, "spend") == parse_cost(text, "charge") == spend
    assert typed_spend(spend.amount(1e20), spend.unit) == spend


def test_hours_of_a_named_device_are_flops() -> None:
    assert parse_spend("2 H100 hours", "spend").unit == FLOPS
    assert parse_spend("2 hours", "spend").unit == HOURS != FLOPS
    assert parse_spend("2 USD", "spend").unit == money("USD") != money("EUR")
    assert (FLOPS.text(1e18), HOURS.text(0.5), money("EUR").text(20)) == ("10¹⁸ FLOPs", "30 min of training", "20 EUR")


def test_hours_pay_for_the_measured_time_of_the_cells(timed: Fit) -> None:
    answer = ip.next_cells(timed, **ASKED, spend="30 min")
    found, body = answer.result, answer.document.body
    at = found.advice.candidates
    seconds = TIME.seconds(at.columns["N"], at.columns["D"])
    assert at.cost == pytest.approx(seconds / 3600)
    N, D = (found.plan.allocation[name].value for name in ("N", "D"))
    target = float(TIME.seconds(N, D)) / 3600
    assert body["target_cost"] == pytest.approx(target)
    assert body["target_compute"] == pytest.approx(1e16)
    spends = [rung.spend for rung in found.advice.ladder]
    assert spends == pytest.approx(sorted([0.5, 1.0, *(share * target for share in LADDER)]))
    assert 0 < found.advice.cost <= 0.5
    assert sum(body["round_hours"]) == pytest.approx(sum(cell["cost"] for cell in body["next_cells"]))
    assert body["cost_unit"] == "hours"
    assert "min of training (" in answer.sentence
    assert "Cost" not in cell_rows(found)[0]  # the column Time contains the cost
    chart = chart_ladder(found)
    assert (chart.x.label, chart.x.unit) == ("Training time of cells", "hours")
    longest = at.cost.max()
    assert max(found.advice.ladder[-1].spend, 0.5) < 2 * LADDER[-1] * target * (1 + 1e-9)
    assert longest <= 2 * max(0.5, LADDER[-1] * target)


def test_cells_side_by_side_cost_the_same(timed: Fit) -> None:
    alone, side = (ip.next_cells(timed, **ASKED, spend="30 min", parallel=n).result for n in (1, 4))
    assert alone.advice.rounds == side.advice.rounds
    assert alone.advice.cost == side.advice.cost
    assert sum(side.round_seconds) < sum(alone.round_seconds)


def test_money_pays_for_the_device_hours_that_each_model_needs(law: Fit) -> None:
    answer = ip.next_cells(law, **ASKED, spend="0.01 EUR", **MACHINE)
    found = answer.result
    at, machine = found.advice.candidates, found.plan.prices.machine
    share = UTILISATION * np.minimum(np.sqrt(at.columns["N"] / machine.device.least), 1)
    assert at.cost == pytest.approx(2 * at.compute / (machine.peak * share * 3600))
    assert found.advice.cost <= 0.01
    assert "EUR (" in answer.sentence
    assert answer.document.body["cost_unit"] == "EUR"
    assert "Money" in cell_rows(found)[0]


def test_measured_times_have_the_price_of_the_devices(timed: Fit) -> None:
    answer = ip.next_cells(timed, **ASKED, spend="3 EUR", **MACHINE, devices=3)
    for cell in answer.document.body["next_cells"]:
        assert cell["money"] == cell["cost"] == pytest.approx(6 * cell["hours"])
    asked = {**ASKED, "budget": "5 EUR", "spend": "1 EUR"}
    priced = ip.next_cells(timed, **asked, **MACHINE)
    assert priced.document.body["target_cost"] == 5
    assert [rung.spend for rung in priced.result.advice.ladder][-1] == 2


def test_a_share_is_compute_although_the_times_are_known(law: Fit, timed: Fit) -> None:
    without, known = (ip.next_cells(one, **ASKED, spend="2%").result for one in (law, timed))
    assert known.unit == FLOPS
    assert known.advice.rounds == without.advice.rounds


def test_a_charge_is_in_the_unit_of_the_spend(timed: Fit) -> None:
    found = ip.next_cells(timed, **ASKED, spend="30 min", run_charge="3 min").result
    at = found.advice.candidates
    assert at.cost == pytest.approx(TIME.seconds(at.columns["N"], at.columns["D"]) / 3600 + 0.05)
    head, *rows = cell_rows(found)
    assert len(rows) == len(found.advice.cells)
    assert rows[0][head.index("Cost")] != rows[0][head.index("Time")]
    flops = ip.next_cells(timed, **ASKED, spend="2%", run_charge="30 TFLOP").result.advice.candidates
    assert flops.cost == pytest.approx(flops.compute + 3e13)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"spend": "2 h"}, "the training time of a cell is unknown. Give a device, or runs with measured times."),
        ({"spend": "2 EUR"}, "the price of a cell is unknown. Give a device and the price of its hour."),
        ({"spend": "2 EUR", "device": "H100"}, "the price of a cell is unknown"),
        ({"spend": "2 USD", **MACHINE}, "Spend: it is in USD, but the prices are in EUR. Give both in one currency."),
        (
            {"spend": "1 EUR", **MACHINE, "utilisation": "40%"},
            "do not reach 40 % of the peak of CPU node. Give the share",
        ),
        ({"spend": "1 ms", "device": "H100"}, "'1 ms' cannot be read"),
        ({"spend": "1e-5 s", "device": "H100"}, "Spend: 1e-05 s of training cannot pay for the cheapest candidate"),
        ({"spend": "-2 h", "device": "H100"}, "Spend: -2 is not positive"),
        (
            {"spend": "2 h", "run_charge": 5.0},
            "Charge per run: it is in FLOPs, but the spend is in hours. Give both in",
        ),
        ({"spend": "5 %", "run_charge": "1 EUR"}, "Charge per run: it is in EUR, but the spend is in FLOPs."),
        ({"spend": "5 %", "run_charge": "much"}, "run_charge 'much' cannot be read"),
        ({"spend": "5 %", "run_charge": -1}, "Charge per run: -1 is not a cost"),
    ],
)
def test_a_cost_that_is_unknown_is_one_sentence(law: Fit, options: dict[str, Any], why: str) -> None:
    with pytest.raises(PlannerError) as caught:
        ip.next_cells(law, **ASKED, **options)
    assert why in str(caught.value)


def test_terminal_and_script_give_the_answer_of_python(timed: Fit, tmp_path: Path, run: Run) -> None:
    (tmp_path / f"fit-{timed.hash}.json").write_text(json.dumps(to_json(timed)))
    file = tmp_path / f"fit-{timed.hash}.json"
    options = ("--budget", "1e16", "--spend", "20 min", "--run-charge", "1 min", "--max-cells", 3)
    printed = object_in(run("next", file, *options, "--json").out)
    answer = ip.next_cells(timed, budget=1e16, spend="20 min", run_charge="1 min", max_cells=3)
    assert printed["next_cells"] == answer.file.body["next_cells"]
    spoken = subprocess.run(
        [sys.executable, "-c", answer.file.script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert spoken.stdout.strip() == answer.text.strip()
    assert "TypedSpend(hours=0.333" in answer.file.script


def test_first_cells_keep_to_a_spend_in_hours() -> None:
    few = replace(runs(5), seconds=TIME.seconds(runs(5)["N"], runs(5)["D"]), seconds_from="seconds")
    answer = ip.next_cells(few, budget=1e16, spend="3 min")
    found = answer.result
    at = found.candidates.take(found.cells)
    assert at.cost == pytest.approx(TIME.seconds(at.columns["N"], at.columns["D"]) / 3600, rel=1e-6)
    assert 0 < found.cost <= 0.05
    assert "of training, and ask again." in answer.sentence
    assert answer.document.body["cost_unit"] == "hours"
    with pytest.raises(PlannerError, match="the training time of a cell is unknown"):
        ip.next_cells(runs(5), budget=1e16, spend="3 min")


def longer(law: Fit, cost: Any) -> pd.DataFrame:
    """Return three cells: each has the N of a run and ten times its D. Each cell is listed twice, with two costs."""
    assert law.runs is not None
    N, D = (np.tile(law.runs.columns[axis][:3], 2) for axis in ("N", "D"))
    return pd.DataFrame({"N": N, "D": 10 * D, "cost": cost})


def test_a_longer_training_costs_its_added_samples(law: Fit, tmp_path: Path, run: Run) -> None:
    assert law.runs is not None
    N, D = (np.tile(law.runs.columns[axis][:3], 2) for axis in ("N", "D"))
    table = longer(law, 6 * N * D * np.repeat([9, 10], 3))
    answer = ip.next_cells(law, budget=1e16, spend="5 %", max_cells=1, candidates=table)
    at = answer.result.advice.candidates
    assert at.compute == pytest.approx(6 * N * 10 * D)
    assert at.cost == pytest.approx(table["cost"])
    assert answer.result.rows[0] < 3  # rows 0 to 2 have the lower costs
    assert "The cost of a cell is the column cost of its table, in FLOPs." in answer.text
    file, cells = tmp_path / f"fit-{law.hash}.json", tmp_path / "cells.csv"
    file.write_text(json.dumps(to_json(law)))
    table.to_csv(cells, index=False)
    asked = ("next", file, "--budget", "1e16", "--spend", "5%", "--max-cells", 1, "--candidates", cells)
    assert object_in(run(*asked, "--json").out)["next_cells"] == answer.file.body["next_cells"]
    spoken = subprocess.run(
        [sys.executable, "-c", answer.file.script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert spoken.stdout.strip() == answer.text.strip()
    for wrong, why in ((np.nan, "in row 1, cost is not a positive"), (0.0, "in row 1, cost is"), ("2 h", "in row 1")):
        costs = [*table["cost"]]
        costs[1] = wrong
        longer(law, costs).to_csv(cells, index=False)
        one_sentence(run(*asked), why)


def test_listed_costs_need_no_known_times(law: Fit) -> None:
    """Without times, the cost of the target run is unknown, so the answer has no ladder and no share of this cost."""
    answer = ip.next_cells(law, **ASKED, spend="2 h", candidates=longer(law, [0.1, 0.5, 1.0, 0.2, 0.3, 0.4]))
    assert answer.result.advice.cost <= 2
    assert answer.result.advice.ladder == ()
    assert answer.document.body["target_cost"] is None
    assert "of the target run" not in answer.sentence
    assert not [part for part in answer.parts if part.title == "Other spends"]
    assert [part.chart().name for part in answer.parts if part.chart is not None] == ["next-cells-map"]
