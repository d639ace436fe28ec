"""Cost of models that are too small for the assumed fraction of a device's peak. Cost from times measured in runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.compare import Saved, sentence, side_by_side
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.bill import SMALL_MODEL
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import bill_rows, rows, summary, unknown_time
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation
from tests.engine.planning.conftest import EPOCH, JETS, RANGES, make_fit, scattered

H100 = Machine(find_device("H100"), price=2.0)
PRICES = Prices(H100, Simulation(price=1e-5), grid=300)
SMALL = {"N": (1e3, 1e5), "D": (1e4, 1e7), "C": (1e8, 1e13), "loss": (0.5, 2.0)}
TIMES = Runtime(start=5.0, sample=1e-4, product=2e-9, scatter=0.2, runs=40, column="seconds")


@pytest.fixture
def jets() -> Fit:
    """Return a jets law with measured run times. Its best models for small budgets have thousands of parameters."""
    made = make_fit(JETS, scattered(JETS, 200), ranges=SMALL)
    return replace(made, data=replace(made.data, runtime=TIMES))


def amount(plan: Plan, part: str, what: str) -> Quantity:
    return next(line.amount for line in plan.bill if (line.part, line.what) == (part, what))


@pytest.mark.parametrize("what", ["time", "device hours", "money", "energy", "CO2"])
def test_a_model_of_thousands_of_parameters_has_no_time_at_a_share_of_the_peak(jets: Fit, what: str) -> None:
    plan = plan_budget(jets, 1e11, prices=PRICES)
    N = plan.allocation["N"].value
    assert N is not None
    assert 1e3 < N < 1e5
    found = amount(plan, "training", what)
    assert (found.value, found.ci68, found.ci95) == (None, None, None)
    assert found.note.startswith("not known")


def test_the_total_is_not_known_without_the_money_of_training(jets: Fit) -> None:
    plan = plan_budget(jets, 1e11, prices=PRICES)
    assert amount(plan, "total", "money").value is None
    assert amount(plan, "simulation", "money").value == pytest.approx(1e-5 * (plan.allocation["D"].value or 0))
    free = plan_budget(jets, 1e11, prices=replace(PRICES, machine=replace(H100, price=None)))
    assert amount(free, "total", "money").value == amount(free, "simulation", "money").value


def test_the_reason_names_the_size_and_the_share_that_it_can_reach(jets: Fit) -> None:
    plan = plan_budget(jets, 1e11, prices=PRICES)
    assert amount(plan, "training", "time").note == (
        "not known: a model of 14 k parameters does not reach 40 % of the peak of H100 (at most about 1.5 %); give "
        "the share that you measured"
    )
    assert amount(plan, "training", "money").note == "not known: it is computed from the time, which is not known"


def test_a_share_that_such_a_model_reaches_is_taken(jets: Fit) -> None:
    machine = replace(H100, utilisation=0.01)
    plan = plan_budget(jets, 1e11, prices=replace(PRICES, machine=machine))
    assert amount(plan, "training", "time").value == pytest.approx(float(machine.hours(1e11)))


def test_large_models_are_priced_by_the_peak() -> None:
    plan = plan_budget(make_fit(EPOCH, ranges=RANGES), 1e22, prices=PRICES)
    assert amount(plan, "training", "time").value == pytest.approx(1e22 / (0.4 * 989e12 * 3600))
    assert "8.8" not in summary(plan)


@pytest.mark.parametrize(("share", "least"), [(0.4, 1e7), (0.1, 6.25e5), (0.04, 1e5), (0.8, 4e7)])
def test_the_smallest_model_grows_with_the_square_of_the_share(share: float, least: float) -> None:
    assert replace(H100, utilisation=share).least == pytest.approx(least)


def test_inference_of_a_small_model_has_no_time_either(jets: Fit) -> None:
    plan = plan_budget(jets, 1e11, prices=replace(PRICES, inference=Inference(queries=1e9)))
    assert amount(plan, "inference", "compute").value is not None
    assert amount(plan, "inference", "money").value is None


def test_the_time_of_the_runs_stands_in_its_place(jets: Fit) -> None:
    plan = plan_budget(jets, 1e11, prices=PRICES)
    N, D, time = plan.allocation["N"].value, plan.allocation["D"].value, plan.derived["time"]
    assert N is not None
    assert D is not None
    assert time.value is not None
    assert time.value == pytest.approx(5.0 + 1e-4 * D + 2e-9 * N * D)
    assert time.unit == "s"
    assert time.ci68 is not None
    assert time.ci68[0] < time.value < time.ci68[1]
    assert [row.quantity for row in rows(plan)][-1] == "Training time on the machine of the runs"
    said = summary(plan)
    assert said.startswith("It trains for 2.6 min (68 %: ")
    assert "on the machine of the runs" in said
    assert unknown_time(plan).startswith("Time and money on 1 x H100 are not known: a model of ")
    assert unknown_time(plan_budget(jets, 1e11)) == ""


def test_the_interval_of_the_time_holds_the_scatter_of_the_runs() -> None:
    made = make_fit(JETS, scattered(JETS, 500, spread=1e-6), ranges=SMALL)
    fit = replace(made, data=replace(made.data, runtime=replace(TIMES, scatter=0.5)))
    time = plan_budget(fit, 1e11).derived["time"]
    assert time.value is not None
    assert time.ci68 is not None
    assert time.ci68[1] / time.ci68[0] == pytest.approx(2.7, rel=0.15)  # exp(2 * 0.5), from a scatter of 0.5
    assert plan_budget(fit, 1e11).derived["time"] == time


def test_without_times_and_prices_nothing_is_said_of_time() -> None:
    plan = plan_budget(make_fit(EPOCH, ranges=RANGES), 1e22)
    assert "time" not in plan.derived
    assert summary(plan) == ""


def test_a_target_has_the_time_of_the_runs_too(jets: Fit) -> None:
    plan = plan_target(jets, 0.7)
    assert plan.derived["time"].value is not None


def test_limits_of_time_and_money_are_a_caution(jets: Fit) -> None:
    for limits, name in ((Limits(hours=1.0), "hours"), (Limits(money=5.0), "money")):
        plan = plan_budget(jets, 1e11, limits=limits, prices=PRICES)
        (said,) = [w.text for w in plan.warnings if w.code == SMALL_MODEL]
        assert said.startswith(f"The limit on {name} assumes 40 % of the peak of H100; a model of ")
        assert [worth.limit for worth in plan.worth] == ["budget"]
    assert all(w.code != SMALL_MODEL for w in plan_budget(jets, 1e11, limits=Limits(unique=1e9)).warnings)


def test_least_money_is_a_caution(jets: Fit) -> None:
    plan = plan_target(jets, 0.7, prices=Prices(H100, Simulation(price=1e-14)))
    assert SMALL_MODEL in {w.code for w in plan.warnings}
    assert plan.sentence.startswith("To reach loss 0.7 spend ")
    assert "EUR" not in plan.sentence


def test_plans_side_by_side_are_compared_in_compute_where_money_is_not_known(jets: Fit) -> None:
    small, large = plan_budget(jets, 1e11, prices=PRICES), plan_budget(jets, 2e11, prices=PRICES)
    found = side_by_side([Saved("small", small), Saved("large", large)], PRICES)
    assert all(side.bill["Total, money"].value is None for side in found.sides)
    assert "FLOPs" in sentence(found)
    assert "EUR" not in sentence(found)


def test_the_bill_still_lists_every_line(jets: Fit) -> None:
    labels = [row.quantity for row in bill_rows(plan_budget(jets, 1e11, prices=PRICES))]
    assert labels == [
        *("Training, time", "Training, device hours", "Training, money", "Training, energy", "Training, CO2"),
        *("Simulation, money", "Total, money"),
    ]
