"""How far plans may extrapolate: an answer, an answer with a warning, or only the range that the runs support."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.document import to_csv, to_latex, to_markdown
from isoplan.engine.planning.compare import Saved, side_by_side
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import as_document, as_text, read_plan, to_json
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.prices import Prices, Simulation
from isoplan.engine.planning.smaller.answer import same_loss
from isoplan.engine.planning.smaller.text import half_sentence
from tests.engine.planning.conftest import EPOCH, make_fit, scattered

SPANS = {"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 6e22), "loss": (2.0, 4.0)}
FIT = make_fit(EPOCH, scattered(EPOCH), ranges=SPANS)
WIDE = make_fit(EPOCH, scattered(EPOCH, spread=0.005), ranges=SPANS)
PRICES = Prices(Machine(find_device("H100"), price=2.0), Simulation(price=1e-5))


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
    assert "A plan for 6 × 10²⁶ FLOPs lies 4 decades beyond the runs in C." in plan.sentence.replace("6.00", "6")
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


def test_a_law_on_one_axis_supports_a_decade_below_its_runs_and_three_above() -> None:
    """A law of N alone has no compute, so its supported range is in N: one decade below the runs to three above."""
    law = make_fit((0.05, 1e4, 0.5), law="power", axis="N", ranges={"N": (1e6, 1e9)})
    plan = plan_target(law, 0.050001)
    assert plan.support is not None
    assert plan.support.axis == "N"
    assert (plan.support.low, plan.support.high) == pytest.approx((1e5, 1e12))
    assert plan.sentence.startswith("These runs support plans from N = 10⁵ to 10¹² parameters.")
    for N, answers in ((0.9e12, True), (1.1e12, False)):
        assert plan_target(law, float(law.predict({"N": N}))).answers == answers, N


def test_the_cells_it_names_bring_the_plan_near_enough() -> None:
    plan = plan_budget(FIT, 6e26)
    assert plan.support is not None
    cells = plan.support.cells
    wider = {name: (SPANS[name][0], max(SPANS[name][1], cells[name])) for name in ("N", "D")}
    again = replace(FIT, data=replace(FIT.data, ranges=wider))
    assert plan_budget(again, 6e26).answers


def test_a_decade_below_the_runs_there_is_no_answer() -> None:
    """A budget far below the runs gives a nearly untrained model, which the law does not describe."""
    plan = plan_budget(FIT, 6e15 / 1000)
    assert not plan.answers
    assert stops(plan) == ["unsupported"]
    with pytest.raises(PlannerError, match="less than one"):
        plan_budget(FIT, 10.0)


def test_plans_survive_json_also_those_of_before() -> None:
    plan = plan_budget(FIT, 6e26)
    raw = to_json(plan)
    assert read_plan(raw) == plan.shown
    old = {key: value for key, value in raw.items() if key != "support"}
    old["warnings"] = [{"code": w["code"], "text": w["text"]} for w in raw["warnings"]]
    before = read_plan(old)
    assert not before.answers
    assert before.sentence.startswith("The runs do not support this plan.")


def test_a_metric_far_beyond_its_runs_is_marked() -> None:
    """R is measured up to 10, so a target of 400 is log10(40) = 1.6 decades beyond the runs."""
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


REFUSED: dict[str, Callable[[], Plan]] = {
    "budget above": lambda: plan_budget(FIT, 6e26, prices=PRICES, other=compute_rule("6npND", 2)),
    "budget below": lambda: plan_budget(FIT, 6e12, prices=PRICES),
    "target": lambda: plan_target(FIT, 1.83, prices=PRICES),
    "target that the best fit misses": lambda: plan_target(WIDE, 1.81, prices=PRICES),
}


@pytest.mark.parametrize("ask", REFUSED)
def test_no_output_states_a_number_of_a_plan_that_the_runs_do_not_support(ask: str) -> None:
    plan = REFUSED[ask]()
    assert not plan.answers
    raw, made = to_json(plan), as_document(plan)
    for q in (*raw["allocation"].values(), *raw["derived"].values()):
        assert (q["value"], q["ci68"], q["ci95"]) == (None, None, None)
        assert q["note"] == "not stated: too far beyond the runs"
    assert raw["flat"] is None
    assert {"bill", "worth", "restated"}.isdisjoint(raw)
    assert raw["sentence"] == plan.sentence
    assert made.lines == ()
    for text in (to_csv(made), to_markdown(made), to_latex(made), as_text(plan)):
        assert "These runs support plans from" in text
        assert "Stop: The plan lies too far beyond the runs to be an answer: " in text
        assert "Model size N" not in text
    assert "tabular" not in to_latex(made)
    assert not any(line.startswith("|") for line in to_markdown(made).splitlines())
    (side,) = side_by_side([Saved("far", plan)], PRICES).sides
    assert {q.value for q in side.allocation.values()} == {None}
    assert side.bill == {}


def test_a_target_that_the_best_fit_misses_is_refused_by_what_the_refits_cost() -> None:
    """If C has no best value, the low end of its interval determines how far the plan lies beyond the runs."""
    plan = plan_target(WIDE, 1.81)
    C = plan.allocation["C"]
    assert C.value is None
    assert C.ci68 is not None
    assert C.beyond == pytest.approx(math.log10(C.ci68[0] / SPANS["C"][1]))
    assert C.beyond > 3
    assert "The best fit does not reach loss 1.81 at any cost. The refits that reach it lie " in plan.sentence
    assert [w.code for w in plan.warnings if w.code == "best-fit-fails"] == ["best-fit-fails"]
    assert read_plan(to_json(plan)).sentence == plan.sentence


@pytest.mark.parametrize("C", [6e31, 6e40])
def test_cells_that_are_as_absurd_are_not_named(C: float) -> None:
    plan = plan_budget(FIT, C)
    assert plan.support is not None
    assert plan.support.high is not None
    assert plan.support.high < C / 1e4
    assert plan.support.cells == {}
    assert "Train cells" not in plan.sentence


def test_cells_within_a_decade_of_what_is_supported_are_named() -> None:
    for C in (6e26, 6e12):
        plan = plan_budget(FIT, C)
        assert plan.support is not None
        assert plan.support.low is not None
        assert plan.support.high is not None
        assert plan.support.low / 10.01 <= plan.support.cells["C"] <= 10.01 * plan.support.high
