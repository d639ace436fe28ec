"""Targets in a metric. The resamples of a map from loss to metric are paired with the resamples of the law."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit, FitData
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import read_plan, to_json
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs, surface
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered

MAP = (4e4, -4.0, 20.0)
"""A, B, C of the map R = A e^(B L) + C: the rejection R increases from 20 as the loss L decreases."""


def rejection(theta: tuple[float, ...] = MAP, r: int = 500, spread: float = 0.01, **changes: Any) -> Fit:
    made = make_fit(theta, scattered(theta, r, spread, seed=1), law="metric-map", axis="loss", direction="max")
    data = FitData("runs.csv", "ab" * 32, {}, {"loss": (2.0, 4.0), "R": (20.0, 40.0)}, direction="max")
    return replace(made, spec=made.spec.model_copy(update={"y": "R"}), data=replace(data, **changes))


@pytest.fixture(scope="module")
def fits() -> tuple[Fit, Fit]:
    """Fit a law and a map from loss to R to one simulated table, both with the same seed."""
    values = surface(60, 0.003)
    R = (4e4 * np.exp(-4 * values["loss"]) + 20) * np.exp(np.random.default_rng(5).normal(0, 0.02, 60))
    runs = make_runs(values | {"R": R}, metrics=(Metric(column="R", direction="max"),))
    law = fit(FitSpec(bootstrap=200), runs)
    return law, fit(FitSpec(law="metric-map", axis="loss", y="R", bootstrap=200), runs)


def test_a_metric_costs_what_the_loss_behind_it_costs(epoch: Fit) -> None:
    R = MAP[0] * np.exp(MAP[1] * 2.3) + MAP[2]
    plan = plan_target(epoch, float(R), map=through(epoch, rejection(), "R"))
    direct = plan_target(epoch, 2.3)
    assert plan.allocation["loss"].value == pytest.approx(2.3)
    assert plan.allocation["C"].value == pytest.approx(direct.allocation["C"].value)
    assert plan.question.metric == "R"
    assert plan.sentence.startswith(f"To reach R {R:g} (loss 2.30")
    one, other = plan.allocation["C"].ci68, direct.allocation["C"].ci68
    assert one is not None
    assert other is not None
    assert one[1] / one[0] > other[1] / other[0]  # the uncertainty of the map widens the interval
    assert plan.maps == (rejection().hash,)
    assert read_plan(to_json(plan)) == plan


def test_a_plan_names_its_maps_in_their_order(epoch: Fit) -> None:
    one, other = rejection(), rejection((5e4, -4.0, 20.0), snapshot="other")
    both = plan_budget(epoch, 1e22, maps=(through(epoch, other), through(epoch, one)))
    assert both.maps == (other.hash, one.hash)
    assert to_json(both)["maps"] == [other.hash, one.hash]
    assert read_plan(to_json(both)) == both
    assert "maps" not in to_json(plan_budget(epoch, 1e22))


def test_law_and_map_of_one_table_go_together(fits: tuple[Fit, Fit]) -> None:
    """If law and map are fits of the same rows, their resamples are paired. If not, those of the map are shuffled."""
    law, map = fits
    assert through(law, map).map.resamples == pytest.approx(map.resamples)
    elsewhere = replace(law, data=replace(law.data, where="N > 1e8"))
    shuffled = through(elsewhere, map).map.resamples
    assert not np.array_equal(shuffled, map.resamples)
    assert np.sort(shuffled, axis=0) == pytest.approx(np.sort(map.resamples, axis=0))
    target = float(map.predict({"loss": 2.2}))
    plan = plan_target(law, target, map=through(law, map))
    assert plan.allocation["C"].ci95 is not None
    assert plan.allocation["loss"].ci68 is not None
    assert plan.p_reach is not None


def test_a_budget_says_which_metric_to_expect(epoch: Fit) -> None:
    plan = plan_budget(epoch, 1e21, maps=(through(epoch, rejection()),))
    loss = plan.allocation["loss"].value or 0.0
    found = plan.derived["R"]
    assert found.value == pytest.approx(MAP[0] * np.exp(MAP[1] * loss) + MAP[2])
    assert found.ci68 is not None
    assert found.value is not None
    assert found.ci68[0] < found.value < found.ci68[1]
    fewer = plan_budget(epoch, 1e21, maps=(through(epoch, rejection(r=100)),))
    assert fewer.derived["R"].ci68 is not None


def test_metrics_that_some_resamples_cannot_reach_are_not_numbers(epoch: Fit) -> None:
    """The metric approaches its maximum C = 0.95. C is uncertain, so some resamples cannot reach the target."""
    map = rejection((-0.01, 1.0, 0.95), 500, 0.01, ranges={"loss": (2.0, 4.0), "R": (0.4, 0.88)})
    plan = plan_target(epoch, 0.95 - 0.01 * np.exp(1.85), map=through(epoch, map))
    assert plan.p_reach is not None
    assert 0.1 < plan.p_reach < 0.9
    assert plan.allocation["C"].ci95 is not None
    assert plan.allocation["C"].ci95[1] == np.inf
    with pytest.raises(
        PlannerError, match=r"R of 2 is out of reach: by the map no loss gives this value; ask for an easier target"
    ):
        plan_target(epoch, 2.0, map=through(epoch, map))
    with pytest.raises(
        PlannerError,
        match=r"R of 100 is out of reach: no .* floor of the loss, 1.8.*, allows R 47.9 at best; ask for an easier",
    ):
        plan_target(epoch, 100.0, map=through(epoch, rejection()))
    with pytest.raises(PlannerError, match="By the map every loss gives a R better than 5: ask for a harder target"):
        plan_target(epoch, 5.0, map=through(epoch, rejection()))


def test_a_target_that_only_an_impossible_loss_gives_is_not_reached() -> None:
    """R = 4e4 e^(-4 L) + 20 is at most 40,020, at loss L = 0. A target 5 % above this maximum is not reached."""
    spans = {"N": (1e7, 1e30), "D": (1e8, 1e30), "loss": (0.01, 4.0)}
    law = make_fit((0.0, *EPOCH[1:]), scattered((0.0, *EPOCH[1:]), 200), ranges=spans)
    map = rejection(MAP, 200, 0.2, ranges={"loss": (0.01, 4.0), "R": (20.0, 4e4)})
    plan = plan_target(law, 1.05 * (MAP[0] + MAP[2]), map=through(law, map))
    assert [plan.allocation[name].value for name in ("N", "D", "C", "loss")] == [None] * 4
    assert "The best fit does not reach R " in plan.sentence
    assert "impossible" not in {w.code for w in plan.warnings}
    for ends in (plan.allocation["loss"].ci68, plan.allocation["loss"].ci95):
        assert ends is not None
        assert 0 <= ends[0] <= ends[1] < 4
    with pytest.raises(
        PlannerError, match="out of reach: by the map no loss gives this value; ask for an easier target"
    ):
        plan_target(law, 1e9, map=through(law, map))


def test_a_map_that_turns_within_its_runs_is_refused(epoch: Fit) -> None:
    spec = FitSpec(law="formula", formula="a + b*(loss - c)^2", columns=("loss",), y="R", turned=True)
    theta = (20.0, 5.0, 3.0)
    turning = replace(rejection(), spec=spec, theta=np.array(theta), resamples=scattered(theta))
    with pytest.raises(
        PlannerError,
        match=r"map from loss to R is not monotone: its slope changes sign at loss = 3.*Fit the law metric-map",
    ):
        through(epoch, turning)
    inside = replace(turning.data, ranges={"loss": (2.0, 2.9), "R": (20.0, 25.0)})
    found = through(epoch, replace(turning, data=inside)).goal(20 + 5 * 0.7**2)
    assert found.best == pytest.approx(2.3)


@pytest.mark.parametrize(
    ("map", "name", "why"),
    [
        (rejection(), "recall", "The map describes R, not recall: fit a map to recall, or ask for R"),
        (rejection(ranges={}), "", "The map of R contains no runs"),
        (replace(rejection(), n=0), "", "The map of R contains no runs"),
        (rejection(direction="min"), "", "By this map R gets worse as loss gets better"),
        (make_fit(EPOCH), "", "The map of loss uses N and D, but the law describes loss: fit a metric-map on loss"),
    ],
)
def test_maps_that_do_not_fit_the_question_are_refused(epoch: Fit, map: Fit, name: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        through(epoch, map, name)


def test_central_values_where_one_of_the_two_has_no_resamples() -> None:
    law = make_fit(EPOCH, ranges=RANGES)
    plan = plan_target(law, 25.0, map=through(law, rejection()))
    assert plan.p_reach is None
    assert plan.allocation["C"].value is not None
    assert plan.allocation["C"].ci68 is None
