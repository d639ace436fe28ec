"""How far the runs support plans: an answer, a marked answer, or what they support instead."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.errors import PlannerError
from engine.fitting.result import FitWarning
from engine.fitting.warning import Level
from engine.planning import as_text, plan_budget, plan_target, read_plan, to_json
from engine.planning.metric import through
from engine.planning.plan import Plan
from engine.planning.smaller.answer import same_loss
from engine.planning.smaller.text import half_sentence
from tests.engine.planning.conftest import EPOCH, make_fit, scattered

SPANS = {"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 6e22), "loss": (2.0, 4.0)}
FIT = make_fit(EPOCH, scattered(EPOCH), ranges=SPANS)


def stops(plan: Plan) -> list[str]:
    return [w.code for w in plan.warnings if w.level is Level.STOP]


def test_an_answer_within_a_decade_says_nothing_of_its_distance() -> None:
    plan = plan_budget(FIT, 1e22)
    assert plan.answers
    assert "extrapolated" not in plan.sentence
    assert "support" not in to_json(plan)


def test_beyond_one_decade_the_sentence_says_so() -> None:
    plan = plan_budget(FIT, 6e24)
    assert plan.sentence.endswith(", extrapolated 2 decades in C.")
    assert stops(plan) == []
    target = plan_target(FIT, plan.allocation["loss"].value or 0.0)
    assert ", extrapolated 2 decades in C." in target.sentence


def test_beyond_three_decades_there_is_no_answer() -> None:
    plan = plan_budget(FIT, 6e26)
    assert plan.sentence.startswith("These runs support plans from C = ")
    assert "A plan for 6 × 10²⁶ FLOPs lies 4 decades beyond them in C." in plan.sentence.replace("6.00", "6")
    assert " first." in plan.sentence
    assert stops(plan) == ["unsupported"]
    assert plan.support is not None
    low, high = plan.support.low, plan.support.high
    assert low is not None
    assert high is not None
    for C, answers in ((low, True), (high, True), (low / 2, False), (high * 2, False)):
        assert plan_budget(FIT, C).answers == answers, C
    assert as_text(plan).startswith(plan.sentence)
    assert half_sentence(same_loss(FIT, plan.question, n=5)) == plan.sentence


def test_the_cells_it_names_bring_the_plan_near_enough() -> None:
    plan = plan_budget(FIT, 6e26)
    assert plan.support is not None
    cells = plan.support.cells
    wider = {name: (SPANS[name][0], max(SPANS[name][1], cells[name])) for name in ("N", "D")}
    again = replace(FIT, data=replace(FIT.data, ranges=wider))
    assert plan_budget(again, 6e26).answers


def test_a_decade_below_the_runs_there_is_no_answer() -> None:
    """A model that has learned nothing has the loss of chance, which the law does not know."""
    plan = plan_budget(FIT, 6e15 / 1000)
    assert not plan.answers
    assert stops(plan) == ["unsupported"]
    with pytest.raises(PlannerError, match="less than one"):
        plan_budget(FIT, 10.0)


def test_plans_survive_json_also_those_of_before() -> None:
    plan = plan_budget(FIT, 6e26)
    raw = to_json(plan)
    assert read_plan(raw) == plan
    old = {key: value for key, value in raw.items() if key != "support"}
    old["warnings"] = [{"code": w["code"], "text": w["text"]} for w in raw["warnings"]]
    before = read_plan(old)
    assert not before.answers
    assert before.sentence.startswith("The runs do not support this plan.")


def test_a_metric_far_beyond_its_runs_is_marked() -> None:
    """R = 10 e^(-L) + 1 measured from 1 to 10: a target of 100 lies one decade beyond it."""
    ranges = {"loss": (0.5, 3.0), "R": (1.5, 10.0)}
    chart = make_fit((1000.0, -3.0, 1.0), law="metric-map", axis="loss", ranges=ranges, direction="max")
    chart = replace(chart, spec=chart.spec.model_copy(update={"y": "R"}))
    fit = make_fit((0.1, 477.0, 2143.0, 0.347, 0.367), ranges=SPANS)
    plan = plan_target(fit, 400.0, map=through(fit, chart))
    assert plan.derived["R"].beyond == pytest.approx(math.log10(40))
    assert chart.best_run == 10.0


def test_intervals_end_where_their_numbers_must() -> None:
    wild = np.array(EPOCH) * np.exp(np.random.default_rng(0).normal(0, 0.5, (200, 5)))
    fit = make_fit(EPOCH, wild, ranges={"N": (10.0, 1e4), "D": (10.0, 1e5), "loss": (2.0, 400.0)})
    for C in (6e3, 6e5, 6e7):
        try:
            plan = plan_budget(fit, C)
        except PlannerError:
            continue
        for name, least in (("N", 1.0), ("D", 1.0), ("loss", 0.0)):
            q = plan.allocation[name]
            assert q.ci68 is not None
            assert q.ci95 is not None
            assert min(*q.ci68, *q.ci95, q.value or least) >= least


def test_a_run_better_than_the_plan_is_named() -> None:
    warned = replace(FIT, warnings=(FitWarning("below-floor", "Runs lie below the floor."),))
    warned = replace(warned, data=replace(FIT.data, ranges=SPANS | {"loss": (1.5, 4.0)}))
    plan = plan_budget(warned, 1e21)
    assert "run-is-better" in stops(plan)
    assert "run-is-better" not in stops(plan_budget(replace(warned, warnings=()), 1e21))
