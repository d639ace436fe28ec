"""Comparison of saved plans at the same prices."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.app.figures.plans.compare import _said as figure_said
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.compare import (
    NO_TOTAL,
    Saved,
    as_text,
    ask_again,
    scenario,
    sentence,
    side_by_side,
    table,
    to_json,
)
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import read_plan
from isoplan.engine.planning.plan.document import to_json as plan_json
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from isoplan.engine.planning.scenario.prices_json import read_prices
from tests.app.terminal.asking import object_in
from tests.engine.planning.conftest import EPOCH, RANGES, curved, make_fit, scattered

H200 = Machine(find_device("H200"), 64, price=3.0)
TRAINING = Prices(H200)
ALL = Prices(H200, Simulation(price=1e-6, cpu_seconds=2.0), Inference(queries=1e9, tokens=100), grid=300)


def solved(fit: Fit, target: float) -> Point:
    """Compute the plan of least compute for each resample with the closed form of the law."""
    return fit.law.least_compute(fit.draws, np.asarray(target), fit.compute)  # type: ignore[misc]


def of(q: Quantity) -> float:
    assert q.value is not None
    return q.value


@pytest.fixture
def saved(epoch: Fit) -> tuple[Saved, ...]:
    """Return two saved plans for a target and one for a budget. All three were written as JSON and read again."""
    plans = {"frugal": plan_target(epoch, 2.2), "keen": plan_target(epoch, 2.0), "spent": plan_budget(epoch, 1e22)}
    return tuple(Saved(name, read_plan(plan_json(plan))) for name, plan in plans.items())


def test_lines_have_the_intervals_of_their_sizes(saved: tuple[Saved, ...]) -> None:
    found = side_by_side(saved, ALL)
    frugal, _, spent = found.sides
    C, D = (frugal.plan.allocation[name] for name in "CD")
    money, samples = frugal.bill["Training, money"], frugal.bill["Simulation, money"]
    assert of(money) == pytest.approx(float(H200.money(of(C))))
    assert C.ci68 is not None
    assert D.ci95 is not None
    assert money.ci68 == pytest.approx([float(H200.money(x)) for x in C.ci68])
    assert samples.ci95 == pytest.approx([1e-6 * x for x in D.ci95])
    total = frugal.bill["Total, money"]
    assert of(total) == pytest.approx(
        sum(of(frugal.bill[f"{p}, money"]) for p in ("Training", "Simulation", "Inference"))
    )
    assert (total.ci68, total.note) == (None, NO_TOTAL)
    assert spent.bill["Training, money"].note == "given"


def test_a_total_of_one_part_has_its_interval(saved: tuple[Saved, ...]) -> None:
    keen = side_by_side(saved, TRAINING).sides[1]
    assert keen.bill["Total, money"].ci95 == keen.bill["Training, money"].ci95
    assert keen.bill["Total, money"].ci95 is not None


def test_with_their_fit_totals_have_the_interval_of_the_sum(epoch: Fit, saved: tuple[Saved, ...]) -> None:
    """The costs of C, D and N are summed for each resample. The interval of the total is the interval of these sums."""
    known = [Saved(one.name, one.plan, ask_again(one.plan, epoch)) for one in saved]
    keen, spent = side_by_side(known, ALL).sides[1:]
    found = solved(epoch, 2.0)
    sums = 3.0 / (0.4 * 989.4e12 * 3600) * (found.C + 2 * 100 * 1e9 * found.N) + 1e-6 * found.D
    total = keen.bill["Total, money"]
    assert total.ci68 == pytest.approx(epoch.resampling.interval(of(total), sums, 0.68), rel=1e-3)
    assert total.note == ""
    assert total.ci95 is not None
    assert spent.bill["Training, money"].note == "given"
    assert spent.bill["Total, money"].ci68 is not None


def test_with_their_fit_lines_are_what_they_were(epoch: Fit, saved: tuple[Saved, ...]) -> None:
    known = [Saved(one.name, one.plan, ask_again(one.plan, epoch)) for one in saved]
    for one, other in zip(side_by_side(saved, ALL).sides, side_by_side(known, ALL).sides, strict=True):
        assert list(one.bill) == list(other.bill)
        for label in one.bill:
            assert other.bill[label].value == pytest.approx(one.bill[label].value), label
            if label != "Total, money":
                assert other.bill[label].ci68 == pytest.approx(one.bill[label].ci68, rel=1e-6), label


def test_a_plan_within_limits_is_asked_again_within_them(epoch: Fit) -> None:
    limits = Limits(parameters=1e8, hours=1e4)
    plan = read_plan(plan_json(plan_target(epoch, 2.4, limits=limits, prices=ALL)))
    (side,) = side_by_side([Saved("limited", plan, ask_again(plan, epoch))], ALL).sides
    assert side.bill == {line.row.quantity: line.amount for line in plan.bill}
    assert side.money["total"].ci68 is not None
    assert list(side.money) == ["training", "simulation", "inference", "total"]


def test_some_resamples_out_of_reach_make_the_total_unbounded() -> None:
    resamples = scattered(EPOCH, 200)
    resamples[:60, 0] = 2.1
    fit = make_fit(EPOCH, resamples, ranges=RANGES)
    plan = plan_target(fit, 2.0)
    (side,) = side_by_side([Saved("risky", plan, ask_again(plan, fit))], ALL).sides
    ends = side.bill["Total, money"].ci68
    assert ends is not None
    assert (math.isfinite(ends[0]), ends[1]) == (True, math.inf)


def test_a_plan_is_asked_again_of_its_own_fit_alone(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.2)
    with pytest.raises(PlannerError, match=r"This plan was made with the fit \w+ and not with \w+: give the fit"):
        ask_again(plan, make_fit((0.1, 1e6, 0.4), law="power", axis="D"))
    with pytest.raises(PlannerError, match=r"now gives a different answer\. Compute the plan again and save it"):
        ask_again(plan, make_fit((1.9, *EPOCH[1:]), scattered(EPOCH), ranges=RANGES))


def test_a_target_in_a_metric_is_asked_again_through_its_map(epoch: Fit) -> None:
    ranges = {"loss": (1.9, 4.0), "R": (1.0, 60.0)}
    theta = (2e4, -3.0, 0.1)
    map = replace(make_fit(theta, scattered(theta, 300, 0.01), law="metric-map", axis="loss", ranges=ranges))
    map = replace(map, spec=map.spec.model_copy(update={"y": "R"}), data=replace(map.data, direction="max"))
    plan = plan_target(epoch, 25.0, prices=ALL, map=through(epoch, map))
    assert ask_again(plan, epoch) is None
    (side,) = side_by_side([Saved("R", plan, ask_again(plan, epoch, map))], ALL).sides
    assert side.bill == {line.row.quantity: line.amount for line in plan.bill}


@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 1.0), st.floats(0.1, 100))
def test_a_scenario_moves_every_plan_at_once(hour: float, share: float, speed: float) -> None:
    fit = make_fit(EPOCH, scattered(EPOCH, 100), ranges=RANGES)
    saved = [Saved("one", plan_target(fit, 2.2)), Saved("other", plan_budget(fit, 1e22))]
    before = side_by_side(saved, ALL)
    after = side_by_side(saved, scenario(ALL, hour=hour, utilisation=share, speed=speed))
    for one, other in zip(before.sides, after.sides, strict=True):
        assert other.allocation == one.allocation
        ratio = hour / 3.0 * 0.4 / share
        assert of(other.bill["Training, money"]) == pytest.approx(ratio * of(one.bill["Training, money"]))
        assert of(other.bill["Training, time"]) == pytest.approx(0.4 / share * of(one.bill["Training, time"]))
        assert of(other.bill["Simulation, CPU time"]) == pytest.approx(of(one.bill["Simulation, CPU time"]) / speed)


def test_risk_stands_beside_the_price() -> None:
    resamples = scattered(EPOCH, 200)
    resamples[:60, 0] = 2.1
    risky = plan_target(curved(make_fit(EPOCH, resamples, ranges=RANGES | {"loss": (2.1, 4.0)})), 2.0)
    (side,) = side_by_side([Saved("risky", risky)], TRAINING).sides
    assert side.risk.p_reach == pytest.approx(0.7, abs=0.02)
    assert side.risk.spread == math.inf
    assert side.risk.warnings
    far = plan_budget(make_fit(EPOCH, scattered(EPOCH, 100), ranges=RANGES), 1e25)
    assert side_by_side([Saved("far", far)]).sides[0].risk.beyond == pytest.approx(2.2, abs=0.1)


def test_repeated_samples_are_simulated_once() -> None:
    theta = (1.8, 480.0, 2100.0, 0.35, 0.37, 15.0, 5.0)
    fit = make_fit(theta, scattered(theta, 100), law="data-constrained", ranges=RANGES)
    plan = plan_budget(fit, 1e21, limits=Limits(unique=1e9))
    assert of(plan.allocation["D"]) > 1e9
    for answer in (None, ask_again(plan, fit)):
        (side,) = side_by_side([Saved("capped", plan, answer)], ALL).sides
        assert of(side.bill["Simulation, money"]) == pytest.approx(1e3)
        assert side.bill["Simulation, money"].ci95 == pytest.approx((1e3, 1e3))


def test_sizes_that_a_law_does_not_say_have_no_price() -> None:
    plan = plan_target(make_fit((0.1, 1e6, 0.4), law="power", axis="C"), 0.2)
    (side,) = side_by_side([Saved("compute alone", plan)], ALL).sides
    assert side.bill["Inference, money"].value is None
    assert side.bill["Inference, money"].note == "the law on C does not determine N"
    assert of(side.bill["Training, money"]) > 0


def test_table_text_and_json(saved: tuple[Saved, ...]) -> None:
    found = side_by_side(saved, ALL)
    lines = {line[0]: line[1:] for line in table(found)}
    assert lines[""] == ("frugal", "keen", "spent")
    assert lines["Question"] == ("target 2.2 loss", "target 2 loss", "budget 1e+22 FLOPs")
    assert lines["Probability of reaching the target"] == ("more than 99 %", "more than 99 %", "-")
    assert (
        "Costs of all plans on 64 x H200 at 40 % of 989 TFLOP/s bf16 (peaks of the NVIDIA H200 data sheet"
        in as_text(found)
    )
    raw = object_in(json.dumps(to_json(found), allow_nan=False))
    assert raw["plans"][1]["bill"]["Training, money"]["value"] == of(found.sides[1].bill["Training, money"])
    assert "Total, money" not in {line[0] for line in table(side_by_side(saved))}


def test_json_holds_the_whole_question_and_the_prices(epoch: Fit) -> None:
    limits = Limits(parameters=1e8)
    plan = plan_target(epoch, 2.4, limits=limits)
    raw = object_in(json.dumps(to_json(side_by_side([Saved("one", plan)], ALL)), allow_nan=False))
    assert raw["plans"][0]["question"] == {"target": 2.4, "limits": {"parameters": 1e8}}
    assert read_prices(raw["prices"]) == ALL
    assert raw["machine"].startswith("64 x H200 at 40 % of 989 TFLOP/s bf16")
    bare = to_json(side_by_side([Saved("one", plan)]))
    assert (bare["machine"], bare["prices"], bare["sentence"]) == (None, None, "")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.52, "0.520 EUR"),
        (1400.0, "1400 EUR"),
        (402_000.0, "402,000 EUR"),
        (999_999.0, "1.00 M EUR"),
        (1.4e6, "1.40 M EUR"),
        (2.5e9, "2.50 B EUR"),
    ],
)
def test_sentence_table_and_figure_say_money_alike(value: float, said: str) -> None:
    """Sentence, table and figure write money in the same way: in full below a million, with M or B above."""
    plan = plan_budget(make_fit(EPOCH), 1e20)
    hours = H200.device_hours(1e20)
    price = value / float(hours)
    dear = Prices(replace(H200, price=price))
    found = side_by_side([Saved("one", plan), Saved("two", plan)], dear)
    total = {line[0]: line[1] for line in table(found)}["Total, money"]
    assert total == said
    assert sentence(found) == f"one costs least: {said}; two costs most: {said}."
    assert figure_said(found.sides[0].money["total"]) == said


def test_bad_input_is_one_sentence(epoch: Fit) -> None:
    plan: Plan = plan_budget(epoch, 1e22)
    with pytest.raises(PlannerError, match="There is no plan to compare: save one first"):
        side_by_side([])
    with pytest.raises(PlannerError, match=r"Two plans have the name 'a'\. Give them different names"):
        side_by_side([Saved("a", plan), Saved("a", plan)])
    with pytest.raises(PlannerError, match="The speed factor 0 of the simulation is not positive"):
        scenario(ALL, speed=0)
    with pytest.raises(PlannerError, match="The price of one hour of H200 is 0: give a positive number"):
        scenario(ALL, hour=0)
