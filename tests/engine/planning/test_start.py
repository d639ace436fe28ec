"""Default values of a question, and the label that states whether its answer is extrapolated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.fitting.types.warnings import Level
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.answer.standing import Standing, standing_of
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import key_rows
from isoplan.engine.planning.plan.start import best_of_runs, largest_inside, usual_metric, usual_target
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.prices import Prices
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered, with_floors


def analytic(C: float) -> tuple[float, float, float]:
    """Return the best N, the best D and their loss at budget C = 6 N D, in closed form."""
    E, A, B, alpha, beta = EPOCH
    G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    N = G * (C / 6) ** (beta / (alpha + beta))
    D = (C / 6) / N
    return N, D, E + A * N**-alpha + B * D**-beta


@pytest.mark.parametrize(
    ("ranges", "limit"),
    [
        ({"N": (1e7, 1e10), "D": (1e8, 1e12), "C": (6e15, 1e20)}, "C"),
        ({"N": (1e7, 1e9), "D": (1e8, 1e12), "C": (6e15, 6e22)}, "N"),
        ({"N": (1e7, 1e10), "D": (1e8, 1e10), "C": (6e15, 6e22)}, "D"),
    ],
)
def test_the_largest_budget_inside_is_the_one_at_which_the_first_size_leaves_the_runs(
    ranges: dict[str, Interval], limit: str
) -> None:
    C = largest_inside(make_fit(EPOCH, ranges=ranges))
    N, D, _ = analytic(C)
    sizes = {"N": N, "D": D, "C": C}
    for name, (low, high) in ranges.items():
        assert low <= sizes[name] * (1 + 1e-6)
        assert sizes[name] <= high * (1 + 1e-6)
    N, D, _ = analytic(1.12 * C)
    assert {"N": N, "D": D, "C": 1.12 * C}[limit] > ranges[limit][1]
    assert float(f"{C:.1e}") == C


def test_without_a_budget_inside_the_start_is_the_largest_compute_of_the_runs(epoch: Fit) -> None:
    apart = make_fit(EPOCH, ranges={"N": (1e3, 1e4), "D": (1e11, 1e12), "C": (1e15, 1e16)})
    assert largest_inside(apart) == 1e16
    assert largest_inside(make_fit(EPOCH, ranges={"N": (1e7, 1e10), "D": (1e8, 1e12)})) > 1e20
    one_axis = make_fit((0.1, 1e6, 0.4), law="power", axis="C", ranges={"C": (1e15, 1e18)})
    assert largest_inside(one_axis) == 1e18


def test_the_usual_target_is_reached_by_the_largest_budget_inside(epoch: Fit) -> None:
    C, target = largest_inside(epoch), usual_target(epoch)
    loss = analytic(C)[2]
    assert loss <= target < loss + 0.01
    assert float(f"{target:.3g}") == target
    plan = plan_target(epoch, target)
    assert (plan.allocation["C"].value or 0) <= C * (1 + 1e-9)
    assert standing_of(plan) == Standing("inside the runs")


def test_the_usual_target_of_a_metric_that_grows_is_rounded_down() -> None:
    theta = (-0.9, 0.1, 0.1, 0.3, 0.3)
    fit = make_fit(theta, direction="max", ranges={"N": (1e3, 1e6), "D": (1e3, 1e6), "C": (6e6, 6e12)})
    target = usual_target(fit)
    assert 0.85 < target < 0.9
    C = largest_inside(fit)
    assert (plan_budget(fit, C).allocation["loss"].value or 0) >= target


def test_the_usual_target_of_a_law_of_one_size_is_at_the_largest_run() -> None:
    fit = make_fit((0.1, 10.0, 0.5), law="power", axis="D", ranges={"D": (1e2, 1e4), "loss": (0.2, 1.1)})
    assert usual_target(fit) == 0.132  # 0.1 + (10 / 10^4)^0.5 = 0.1316, rounded up


def test_an_answer_stands_inside_extrapolated_or_not_supported(epoch: Fit) -> None:
    assert standing_of(plan_budget(epoch, 1e20)) == Standing("inside the runs")
    near = standing_of(plan_budget(epoch, 6e23))
    assert near == Standing("extrapolated 1 decade (10 times)", Level.CAUTION)
    assert standing_of(plan_budget(epoch, 1e30)) == Standing("not supported", Level.STOP)
    saved = plan_budget(epoch, 1e30).shown
    assert standing_of(saved) == Standing("not supported", Level.STOP)


def test_a_target_that_only_some_resamples_reach_is_not_reached() -> None:
    plan = plan_target(with_floors(np.linspace(1.6, 2.4, 200)), 1.81)
    assert plan.fails
    assert standing_of(replace(plan, support=None)).level is Level.STOP


def test_resamples_do_not_move_the_start() -> None:
    plain, resampled = (make_fit(EPOCH, many, ranges=RANGES) for many in (None, scattered(EPOCH)))
    assert largest_inside(plain) == largest_inside(resampled)


@pytest.mark.parametrize(
    ("best", "target", "sentence"),
    [
        (354.4, 5000.0, "Best of your runs: 354.4. 5000 is 14 times that."),
        (6993.0, 5000.0, "Best of your runs: 6993. 5000 is 28 % below that."),
        (0.7377, 0.853, "Best of your runs: 0.7377. 0.853 is 16 % above that."),
        (0.5, 0.1, "Best of your runs: 0.5. 0.1 is 5 times less."),
        (2.0, 2.0, "Best of your runs: 2."),
    ],
)
def test_a_target_is_compared_with_the_best_run(best: float, target: float, sentence: str) -> None:
    up = target > 1000 or best > 1000
    fit = make_fit(
        EPOCH, ranges={"loss": (best / 2, best) if up else (best, 2 * best)}, direction="max" if up else "min"
    )
    assert best_of_runs(fit, target) == sentence
    assert best_of_runs(make_fit(EPOCH), target) == ""


def test_a_metric_starts_at_the_best_run() -> None:
    assert usual_metric(make_fit(EPOCH, ranges={"loss": (1.0, 354.36)}, direction="max")) == 354
    assert usual_metric(make_fit(EPOCH, ranges={"loss": (0.73774, 2.0)})) == 0.738


def test_the_short_table_has_at_most_six_rows(epoch: Fit) -> None:
    prices = Prices(Machine(find_device("H100"), 8, price=2.5))
    short = key_rows(plan_budget(epoch, 1e20, prices=prices))
    assert [row.quantity for row in short] == [
        "loss", "Model size N", "Training samples D", "Compute C", "Total cost", "Training time"
    ]  # fmt: skip
    assert short[4].value == "176"
    assert short[5].value == "8.8 h"
    assert key_rows(plan_budget(epoch, 1e30)) == ()
