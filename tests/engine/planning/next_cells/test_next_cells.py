"""The question "Next cells": typed inputs, the answer in the terminal and in Python, its file, and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoplan as ip
from isoplan.engine.design.advice import Advice
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, to_json
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.single import fit as fit_law
from isoplan.engine.planning.next_cells.answer import can_advise, next_cells
from isoplan.engine.planning.next_cells.picture import chart_ladder, chart_map
from isoplan.engine.planning.next_cells.text import as_text, asked, ladder_rows, percent, round_rows
from isoplan.engine.planning.next_cells.typed import TypedSpend, parse_quantities, parse_range, parse_spend
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.quantities import power10
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.app.terminal.conftest import run as run
from tests.engine.design.tables import fitted, table

ASKED = Question("budget", 1e16)
LARGEST = 0.2 * 1e16 * (1 + 1e-9)
"""Largest spend of the ladder for this budget."""


@pytest.fixture(scope="module")
def law() -> Fit:
    return fitted(24)


@pytest.fixture
def file(law: Fit, tmp_path: Path) -> Path:
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(to_json(law)))
    return path


@pytest.mark.parametrize(
    ("text", "spend"),
    [
        ("5 %", TypedSpend(share=0.05)),
        ("0.05", TypedSpend(share=0.05)),
        ("1", TypedSpend(share=1.0)),
        ("1e18", TypedSpend(flops=1e18)),
        ("3 PFLOP", TypedSpend(flops=3e15)),
    ],
)
def test_a_spend_is_a_share_or_flops(text: str, spend: TypedSpend) -> None:
    assert parse_spend(text, "spend") == spend
    assert spend.amount(1e20) == (spend.flops or (spend.share or 0) * 1e20)


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (parse_spend, "120 %", "is not between 0 and 1. Give a share such as 5 %"),
        (parse_spend, "much", "spend 'much' cannot be read"),
        (parse_range, "1e8..1e6", "is not a range. Write two increasing numbers"),
        (parse_range, "1e8", "is not a range"),
        (parse_quantities, "loss,width", "'width' is unknown. Use one of answer, loss, compute, N, D"),
        (parse_quantities, ",", "is empty"),
        (parse_quantities, "loss:0,N", "The weight of loss is 0. Give a positive number, such as loss:2."),
        (parse_quantities, "loss:x", "weight of loss"),
    ],
)
def test_wrong_texts_are_one_sentence(read: Any, text: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        read(text, "spend")


def test_the_cells_lie_between_the_runs_and_the_answer(law: Fit) -> None:
    found = next_cells(law, ASKED, TypedSpend(share=0.05), cells=6, rounds=2)
    plan = plan_budget(law, 1e16)
    at = found.advice.candidates
    for axis in ("N", "D"):
        low, high = law.data.ranges[axis]
        place = plan.allocation[axis].value
        assert place is not None
        assert at.columns[axis].min() >= min(low, place) * (1 - 1e-9)
        assert at.columns[axis].max() <= max(high, place) * (1 + 1e-9)
    assert found.advice.cost <= 0.05 * found.whole * (1 + 1e-9)
    assert found.whole == pytest.approx(1e16)
    ends = plan.allocation["loss"].ci68
    assert ends is not None
    assert found.advice.now[0] == pytest.approx(np.log(ends[1] / ends[0]) / 2, rel=1e-5)


def test_the_present_width_of_a_target_is_that_of_its_plan(law: Fit) -> None:
    target = Question("target", 0.62)
    found, plan = next_cells(law, target, TypedSpend(share=0.05)), plan_target(law, 0.62)
    ends = plan.allocation["C"].ci68
    assert ends is not None
    assert found.advice.now[0] == pytest.approx(np.log(ends[1] / ends[0]) / 2, rel=1e-5)


def test_larger_spends_may_train_larger_cells(law: Fit) -> None:
    """The largest cell of the rung at 20 % of the budget costs nearly the same for typed spends of 1 % and of 20 %.

    The two costs can differ slightly, because the size of the assumed deviation from the law depends on the spend.
    """
    small, large = (next_cells(law, ASKED, TypedSpend(share=share)).advice for share in (0.01, 0.2))
    last = [next(rung for rung in x.ladder if rung.spend == pytest.approx(0.2e16)) for x in (small, large)]
    costs = [max(float(x.candidates.cost[c]) for c in rung.cells) for x, rung in zip((small, large), last, strict=True)]
    assert [rung.spend / 1e16 for rung in large.ladder] == pytest.approx([0.01, 0.02, 0.05, 0.1, 0.2, 0.4])
    assert costs[0] > 0.01 * 1e16
    assert costs[0] == pytest.approx(costs[1], rel=0.1)


def test_a_fit_with_a_prior_has_expected_widths_without_a_range() -> None:
    found = next_cells(fitted(24, prior={"alpha": (0.35, 0.05)}), ASKED, TypedSpend(share=0.05))
    assert np.isnan(found.advice.after[-1][0].low)
    assert found.advice.after[-1][0].expected < found.advice.now[0]
    chart = chart_ladder(found)
    assert np.isfinite([chart.y.high, chart.x.low, chart.x.high]).all()
    assert chart.curves[0].band is None


def affordable(advice: Advice) -> int:
    """Return the number of candidates that the largest spend of the ladder pays for."""
    return int((advice.candidates.cost <= LARGEST).sum())


def test_the_map_shows_candidates_advised_cells_runs_and_the_target_run(law: Fit) -> None:
    found = next_cells(law, ASKED, TypedSpend(share=0.05), cells=5, rounds=2)
    chart, advice = chart_map(found), found.advice
    runs, candidates, advised = chart.points
    at = advice.candidates.take(advice.cells)
    assert advised.numbers == ("1", "2", "3", "4", "5")[: len(advice.cells)]
    assert (advised.x.tolist(), advised.y.tolist()) == (at.columns["N"].tolist(), at.columns["D"].tolist())
    assert advised.values is not None
    assert candidates.values is not None
    assert advised.values == pytest.approx(100 * advice.gains[list(advice.cells)])
    assert len(candidates.x) + len(advised.x) == affordable(advice)
    assert candidates.texts[0] == f"{power10(float(np.delete(advice.candidates.compute, advice.cells)[0]))} FLOPs"
    assert law.runs is not None
    assert runs.x.tolist() == law.runs.columns["N"].tolist()
    assert runs.values is None
    (star,) = chart.markers
    assert (star.x, star.y) == (found.plan.allocation["N"].value, found.plan.allocation["D"].value)
    for axis, name in ((chart.x, "N"), (chart.y, "D")):
        assert axis.log
        seen = np.r_[chart.columns[name], law.runs.columns[name], found.plan.allocation[name].value or 0.0]
        assert axis.low < seen.min() < seen.max() < axis.high
    assert chart.columns["narrower"].tolist() == (100 * advice.gains).tolist()
    assert [chart.columns["cell"][cell] for cell in advice.cells] == list(range(1, len(advice.cells) + 1))
    paid = advice.candidates.cost <= LARGEST
    assert f"by at most {100 * advice.gains[paid].max():.2g} %" in chart.alt


def test_cells_at_one_place_share_a_point(law: Fit) -> None:
    found = next_cells(law, ASKED, TypedSpend(share=0.05), cells=3, rounds=1)
    first, second, third = found.advice.cells
    same = dict(found.advice.candidates.columns)
    same = {axis: np.where(np.arange(len(x)) == third, x[first], x) for axis, x in same.items()}
    twice = replace(found.advice, candidates=replace(found.advice.candidates, columns=same))
    _, candidates, advised = chart_map(replace(found, advice=twice)).points
    assert advised.numbers == ("1, 3", "2")
    assert len(candidates.x) == affordable(found.advice) - 3
    assert advised.x.tolist() == [same["N"][first], same["N"][second]]


def test_the_map_omits_candidates_that_no_spend_pays_for(law: Fit) -> None:
    listed = Candidates(
        {"N": np.array([1e5, 3e5, 1e9]), "D": np.array([1e7, 3e7, 1e11])},
        compute := np.array([1e12, 1e13, 6e20]),
        compute,
        np.array([1, 2, 3]),
    )
    found = next_cells(law, ASKED, TypedSpend(share=0.05), cells=1, candidates=listed)
    chart = chart_map(found)
    _, candidates, advised = chart.points
    assert sorted([*candidates.x, *advised.x]) == [1e5, 3e5]
    assert chart.x.high < 1e8
    assert chart.alt.startswith("2 candidates over")
    assert chart.columns["N"].tolist() == [1e5, 3e5, 1e9]


def test_the_map_is_folded_with_the_cells_if_they_do_not_pay() -> None:
    for fit, budget, pays in ((fitted(24), "1e16", True), (fitted(60, 0.002), "1e13", False)):
        answer = ip.next_cells(fit, budget=budget, spend="5 %")
        assert answer.result.advice.pays is pays
        charts = {part.chart().name: part.folded for part in answer.parts if part.chart is not None}
        cells = next(part for part in answer.parts if part.table is not None and part.table.head[0] == "Cell")
        assert cells.folded is not pays
        assert charts == {"next-cells-map": not pays, "next-cells": not pays}


def test_a_target_narrows_its_compute_and_several_quantities_are_narrowed_at_once(law: Fit) -> None:
    target = Question("target", 0.62)
    found = next_cells(law, target, TypedSpend(flops=1e14), narrow={"answer": 1.0, "N": 1.0}, cells=4)
    assert [one.name for one in found.advice.estimands] == ["compute", "N"]
    assert len(found.advice.now) == 2
    with pytest.raises(PlannerError, match="loss is given, so it cannot be narrowed"):
        next_cells(law, target, TypedSpend(flops=1e14), narrow={"loss": 1.0})


def test_a_large_weight_of_one_quantity_gives_the_cells_of_this_quantity_alone(law: Fit) -> None:
    def cells(text: str) -> tuple[int, ...]:
        return next_cells(
            law, ASKED, TypedSpend(share=0.02), narrow=parse_quantities(text, "narrow"), cells=3
        ).advice.cells

    assert cells("loss:1e9,D") == cells("loss")
    assert cells("D,loss:1e-9") == cells("D") != cells("loss")


def test_a_budget_in_money_is_the_compute_that_it_pays_for(law: Fit) -> None:
    priced = {"device": "H100", "hour_price": "2.5", "utilisation": "40%", "max_cells": 3}
    hours = 0.004  # 0.01 EUR at 2.5 EUR per hour
    paid = ip.next_cells(law, budget="0.01 EUR", **priced)
    assert paid.result.whole == pytest.approx(hours * 3600 * 0.4 * 989e12, rel=1e-6)
    assert asked(paid.result) == "the loss at 0.0100 EUR"
    limited = ip.next_cells(law, budget="1e20", max_hours="0.004 h", **priced)
    assert limited.result.whole == pytest.approx(paid.result.whole, rel=1e-6)
    assert asked(limited.result) == "the loss at 10²⁰ FLOPs within the limits"


def test_a_target_run_far_beyond_the_runs_is_refused_and_a_nearer_one_is_marked(law: Fit) -> None:
    with pytest.raises(PlannerError, match=r"^These runs support plans from C = .* FLOPs\."):
        next_cells(law, Question("budget", 1e22), TypedSpend(share=0.05))
    found = next_cells(law, ASKED, TypedSpend(share=0.05), cells=2)
    (far,) = (w.text for w in found.plan.warnings if "beyond the runs" in w.text)
    assert far in as_text(found)


def test_a_charge_per_cell_prefers_fewer_cells(law: Fit) -> None:
    spend = TypedSpend(share=0.02)
    free, charged = (next_cells(law, ASKED, spend, charge=charge).advice for charge in (0.0, 3e13))
    assert charged.cost <= 2e14
    assert len(charged.cells) <= 6
    assert charged.candidates.cost == pytest.approx(charged.candidates.compute + 3e13)
    assert len(charged.cells) <= len(free.cells)


def test_terminal_python_and_script_give_the_same_cells(law: Fit, file: Path, run: Run) -> None:
    printed = object_in(run("next", file, "--budget", "1e16", "--spend", "2%", "--max-cells", 6, "--json").out)
    answer = ip.next_cells(law, budget="1e16", spend="2 %", max_cells=6)
    assert answer.file.body["next_cells"] == printed["next_cells"]
    assert len(printed["next_cells"]) <= 6
    assert printed["target_compute"] == pytest.approx(1e16)
    assert printed["after"][-1][0]["expected"] < printed["now"][0]
    file.rename(file.with_name(f"fit-{law.hash}.json"))
    script = [sys.executable, "-c", answer.file.script]
    spoken = subprocess.run(script, cwd=file.parent, capture_output=True, text=True, check=True)
    assert spoken.stdout.strip() == as_text(answer.result)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "Give exactly one of --budget and --target-loss"),
        (("--budget", "1e16", "--max-cells", "0"), "max_cells: 0 is not a whole number"),
        (("--budget", "1e16", "--spend", "1e3"), "cannot pay for the cheapest candidate"),
        (("--target-loss", "0.1"), "These runs support plans from C = "),
    ],
)
def test_a_wrong_question_is_one_sentence(file: Path, run: Run, options: tuple[object, ...], why: str) -> None:
    one_sentence(run("next", file, *options), why)


def test_a_half_width_is_a_percentage_or_a_factor() -> None:
    assert percent(0.05) == "± 5.1 %"
    assert percent(2.0) == "×/÷ 7.4"
    assert percent(float("inf")) == "not bounded"


def test_a_typed_formula_gives_about_the_widths_of_the_same_law_and_no_range(law: Fit) -> None:
    """The expected widths of a formula follow from the covariances, because its simulated outcomes are not refitted."""
    assert law.runs is not None
    data = table(law.runs.columns["N"], law.runs.columns["D"], law.runs.y)
    spec = FitSpec(law="formula", formula="E + A/N^alpha + B/D^beta", objective="ols-log", bootstrap=200)
    typed = fit_law(spec, data)
    assert can_advise(typed)
    found = next_cells(typed, ASKED, TypedSpend(share=0.05), cells=4)
    same = next_cells(law, ASKED, TypedSpend(share=0.05), cells=4)
    assert found.advice.now[0] == pytest.approx(same.advice.now[0], rel=0.5)
    assert found.advice.after[-1][0].expected < 0.8 * found.advice.now[0]
    assert np.isnan(found.advice.after[-1][0].low)
    assert round_rows(found)[0] == ("After", "Expected 68 % interval")
    assert round_rows(found)[1] == ("now", percent(found.advice.now[0]))
    assert ladder_rows(found)[0][-2:] == ("Expected 68 % interval", "Error if the law deviates")
    assert round_rows(same)[0] == ("After", "Expected 68 % interval", "Range")
    assert "Their range is not known." in as_text(found)
    assert "Their range is not known." not in as_text(same)
    assert read_fit(json.loads(json.dumps(to_json(typed)))).runs is not None
