"""Actual results of planned runs: the predicted loss, its interval, and the count of results inside intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.diagnostics.single_runs import freedom, scatter
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.actual.outcome import (
    SCATTER_UNKNOWN,
    Actual,
    Outcome,
    differs,
    of_run,
    outcome,
    read_actual,
)
from isoplan.engine.planning.actual.results import shared, tally
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs, surface
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered


def law(N: float, D: float, theta: tuple[float, ...] = EPOCH) -> float:
    E, A, B, alpha, beta = theta
    return float(E + A * N**-alpha + B * D**-beta)


@pytest.fixture(scope="module")
def noisy() -> Fit:
    """Fit 60 runs whose loss has 1 % noise around a known law."""
    return fit(FitSpec(bootstrap=200), make_runs(surface(60, 0.01)))


@pytest.mark.parametrize("objective", ["huber-log", "ols-log", "lad"])
def test_scatter_is_the_noise_of_the_runs_in_log_loss(objective: str) -> None:
    """The median scatter of 15 fits equals the simulated noise of 1 %."""
    found = [
        scatter(fit(FitSpec(bootstrap=0, objective=objective), make_runs(surface(60, 0.01, seed=i))))  # type: ignore[arg-type]
        for i in range(15)
    ]
    assert np.median([x for x in found if x is not None]) == pytest.approx(0.01, rel=0.1)


def test_scatter_of_squares_is_the_root_mean_square(noisy: Fit) -> None:
    runs = make_runs(surface(60, 0.01))
    made = fit(FitSpec(bootstrap=0, objective="ols"), runs)
    residual = runs["loss"] - made.predict({"N": runs["N"], "D": runs["D"]})
    assert freedom(made) == 55
    assert scatter(made) == pytest.approx(math.sqrt(float(np.sum(residual**2)) / 55))


def test_scatter_is_not_known_of_published_laws_and_of_lower_edges(noisy: Fit) -> None:
    assert scatter(make_fit(EPOCH, objective=None)) is None
    assert scatter(replace(noisy, n=5)) is None
    edge = noisy.spec.model_copy(update={"objective": "asymmetric"})
    assert scatter(replace(noisy, spec=edge)) is None
    stated = noisy.spec.model_copy(update={"relative_error": "sigma"})
    assert scatter(replace(noisy, spec=stated)) is None


def test_a_run_as_planned_is_held_against_the_law_there(noisy: Fit) -> None:
    plan = plan_budget(noisy, 1e22)
    loss = plan.allocation["loss"]
    assert loss.value is not None
    assert loss.ci68 is not None
    found = outcome(plan, noisy, Actual(loss.value))
    assert found.planned == loss
    assert found.expected.value == pytest.approx(loss.value)
    assert found.expected.ci68 == pytest.approx(loss.ci68, rel=1e-3)  # computed at the planned N and D
    assert (found.inside(0.68), found.inside(0.95)) == (True, True)
    assert found.at["C"] == 1e22
    assert differs(plan, found.actual) == ""


def test_scatter_and_law_add_in_quadrature_in_logarithms(noisy: Fit) -> None:
    plan = plan_budget(noisy, 1e22)
    found = outcome(plan, noisy, Actual(2.0))
    value, own, wide = found.expected.value, found.expected.ci68, found.predicted.ci68
    sd = scatter(noisy)
    assert value is not None
    assert own is not None
    assert wide is not None
    assert sd is not None
    by = sd * 1.0036  # 84 % quantile of Student's t with 55 degrees of freedom
    assert math.log(wide[1] / value) == pytest.approx(math.hypot(math.log(own[1] / value), by), rel=2e-3)
    assert math.log(value / wide[0]) == pytest.approx(math.hypot(math.log(value / own[0]), by), rel=2e-3)


def test_a_run_of_another_size_is_predicted_where_it_was(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21)
    actual = Actual(2.3, N=1e9, D=5e10)
    found = outcome(plan, epoch, actual)
    assert found.expected.value == pytest.approx(law(1e9, 5e10))
    assert found.at == {"N": 1e9, "D": 5e10, "C": pytest.approx(3e20)}
    assert differs(plan, actual).startswith("N 1.00 B instead of 2.79 B, D 50.0 B instead of ")
    by_compute = outcome(plan, epoch, Actual(2.3, N=1e9, C=3e20))
    assert by_compute.at["D"] == pytest.approx(5e10)
    assert by_compute.expected.value == pytest.approx(law(1e9, 5e10))


def test_compute_of_the_plan_counts_by_its_own_rule(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21, ComputeRule(rule="6npND", n_p=40.0))
    assert outcome(plan, epoch, Actual(2.3, N=1e8, D=1e9)).at["C"] == pytest.approx(6 * 40 * 1e17)


def test_a_target_plan_predicts_its_own_target(epoch: Fit) -> None:
    plan = plan_target(epoch, 2.4)
    found = outcome(plan, epoch, Actual(2.41))
    assert found.expected.value == pytest.approx(2.4)
    assert found.expected.ci68 is not None
    assert found.expected.ci68[0] < 2.4 < found.expected.ci68[1]


def test_a_law_on_compute_alone_reads_what_was_spent() -> None:
    theta = (1.7, 1e12, 0.15)
    made = make_fit(theta, scattered(theta, 200), law="power", axis="C")
    plan = plan_target(made, 1.9)
    at = plan.allocation["C"].value
    assert at is not None
    assert outcome(plan, made, Actual(1.9)).expected.value == pytest.approx(1.9)
    more = outcome(plan, made, Actual(1.9, C=10 * at))
    assert more.expected.value == pytest.approx(1.7 + (1e12 / (10 * at)) ** 0.15)


def test_repeated_samples_are_those_of_the_limit() -> None:
    theta = (1.8, 480.0, 2100.0, 0.35, 0.37, 15.0, 6.0)
    made = make_fit(theta, scattered(theta, 100, 0.005), law="data-constrained")
    plan = plan_budget(made, 1e21, limits=Limits(unique=1e9))
    assert outcome(plan, made, Actual(3.0)).expected.value == pytest.approx(plan.allocation["loss"].value, rel=1e-6)


def test_a_metric_is_predicted_through_its_map() -> None:
    values = surface(60, 0.01)
    R = (4e4 * np.exp(-4 * values["loss"]) + 20) * np.exp(np.random.default_rng(5).normal(0, 0.02, 60))
    runs = make_runs(values | {"R": R}, metrics=(Metric(column="R", direction="max"),))
    made = fit(FitSpec(bootstrap=200), runs)
    maps = through(made, fit(FitSpec(law="metric-map", axis="loss", y="R", bootstrap=200), runs))
    target = float(maps.map.predict({"loss": 2.2}))
    plan = plan_target(made, target, map=maps)
    found = outcome(plan, made, Actual(target, metric="R"), maps)
    assert found.y == "R"
    assert found.expected.value == pytest.approx(target)
    own, wide = found.expected.ci68, found.predicted.ci68
    assert own is not None
    assert wide is not None
    assert wide[0] < own[0] < target < own[1] < wide[1]
    # Two sources of noise in R: 1 % noise of L, times the slope of ln R in ln L at L = 2.2, and 2 % noise of R itself.
    slope = -4 * 2.2 * 4e4 * math.exp(-8.8) / (4e4 * math.exp(-8.8) + 20)
    sd = math.hypot(0.01 * slope, 0.02)
    assert math.log(wide[1] / target) == pytest.approx(math.hypot(math.log(own[1] / target), sd), rel=0.15)
    assert outcome(plan, made, Actual(2.2)).y == "loss"
    with pytest.raises(PlannerError, match="A result in R needs the map from loss to R"):
        outcome(plan, made, Actual(target, metric="R"))


def test_where_larger_is_better_the_interval_keeps_its_order() -> None:
    theta = (-0.9, 3.0, 5.0, 0.3, 0.3)
    made = make_fit(theta, scattered(theta, 200, 0.01), direction="max", ranges={"N": (1e7, 1e10), "D": (1e8, 1e12)})
    plan = plan_budget(made, 1e21)
    found = outcome(plan, made, Actual(0.8))
    assert found.expected.value == pytest.approx(plan.allocation["loss"].value)
    assert found.predicted.ci68 is not None
    assert found.predicted.ci68[0] < found.predicted.ci68[1]


def test_without_scatter_the_law_stands_alone_and_says_so() -> None:
    made = make_fit(EPOCH, scattered(EPOCH), ranges=RANGES, objective=None)
    found = outcome(plan_budget(made, 1e21), made, Actual(2.3))
    assert found.predicted.ci68 == found.expected.ci68
    assert found.predicted.note == SCATTER_UNKNOWN


def test_without_resamples_nothing_is_inside_or_out() -> None:
    made = make_fit(EPOCH, ranges=RANGES)
    found = outcome(plan_budget(made, 1e21), made, Actual(2.3))
    assert found.inside(0.68) is None
    assert tally([found], 0.68).sentence == "No result has a prediction interval to compare with."


def test_bad_results_are_named(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21)
    with pytest.raises(PlannerError, match="The result nan is not a finite number"):
        Actual(math.nan)
    with pytest.raises(PlannerError, match="N = 0 of the run is not positive"):
        Actual(2.0, N=0.0)
    other = make_fit(tuple(1.01 * x for x in EPOCH), scattered(EPOCH))
    with pytest.raises(PlannerError, match="The plan was made from the fit"):
        outcome(plan, replace(other, data=replace(other.data, sha256="cd" * 32)), Actual(2.0))
    far = scattered(EPOCH, 200, 0.02)
    far[:50, 0] = 1.5
    beyond = make_fit(EPOCH, far, ranges=RANGES)
    with pytest.raises(PlannerError, match="Neither the plan nor the result contains N and D"):
        outcome(plan_target(beyond, 1.7), beyond, Actual(1.8))
    with pytest.raises(PlannerError, match="not a result that Isoplan wrote"):
        read_actual({"N": 3})


@pytest.mark.parametrize("value", [0.0, -2.1])
def test_no_result_is_below_zero_beside_runs_that_are_above(epoch: Fit, value: float) -> None:
    """A loss of zero or below is refused if the law was fitted to ln loss, or if all runs have positive losses."""
    squares = replace(epoch, spec=epoch.spec.model_copy(update={"objective": "ols"}))
    for law, why in ((epoch, "a fit of its logarithm"), (squares, "runs with a loss of at least 2")):
        with pytest.raises(
            PlannerError, match=f"A loss of {value:g} cannot be compared with {why}. Give a positive value"
        ):
            outcome(plan_budget(law, 1e21), law, Actual(value))
    signed = replace(squares, data=replace(squares.data, ranges={**RANGES, "loss": (-1.0, 4.0)}))
    assert outcome(plan_budget(signed, 1e21), signed, Actual(value)).actual.value == value


def test_results_come_back_as_they_were() -> None:
    for actual in (Actual(2.3), Actual(2.3, 1e9, 2e10, 1.2e20, "R", "seed 3", "2026-11-22")):
        assert read_actual(actual.to_json()) == actual


def test_a_run_of_a_table_is_a_result() -> None:
    runs = replace(make_runs(surface(10, 0.01)), source="runs.csv")
    found = of_run(runs, 3, "loss")
    assert (found.value, found.N, found.D) == (runs["loss"][3], runs["N"][3], runs["D"][3])
    assert found.note == f"row {runs.ids[3]} of runs.csv"
    with pytest.raises(PlannerError, match=r"The table runs\.csv has no column R"):
        of_run(runs, 3, "loss", "R")


def known(inside: bool, fit: str) -> Outcome:
    """Return an outcome. The actual loss is 2.0, which is inside the interval, or 3.0, which is above the interval."""
    q = Quantity(2.0, (1.9, 2.1), (1.8, 2.2))
    return Outcome(fit, "loss", Actual(2.0 if inside else 3.0), {}, None, q, q)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_count_is_binomial(results: list[bool]) -> None:
    found = tally([known(x, str(i)) for i, x in enumerate(results)], 0.68)
    n, k = len(results), sum(results)
    assert (found.inside, found.total, found.shared) == (k, n, False)
    tail = binom.cdf(k, n, 0.68) if k < 0.68 * n else 1 - binom.cdf(k - 1, n, 0.68)
    assert found.chance == pytest.approx(tail)
    assert found.few == (0.32**n >= 0.05)


def test_the_count_in_words() -> None:
    few = tally([known(True, "a"), known(False, "b")], 0.68)
    assert few.sentence == (
        "1 of 2 actual results lie inside the 68 % prediction interval; 1.4 are expected. There are too few "
        "results to judge the intervals."
    )
    fine = tally([known(i < 6, str(i)) for i in range(9)], 0.68)
    assert "or fewer lie inside in 59 % of cases, which agrees" in fine.sentence
    off = tally([known(i < 2, str(i)) for i in range(9)], 0.68)
    assert off.sentence.endswith("or fewer lie inside in 0.64 % of cases, so the intervals are probably too narrow.")
    wide = tally([known(True, str(i)) for i in range(20)], 0.68)
    assert wide.sentence.endswith("so the intervals are probably too wide.")
    assert shared(tally([known(True, "a"), known(True, "a")], 0.68)).startswith("Results of one fit share its error")
    assert shared(fine) == ""
