"""Data of the figures: the arrays agree with the plans, and are computed fast enough for a slider."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.quantity import thin
from isoplan.engine.planning.drawing.contours import contour_levels, contours_of
from isoplan.engine.planning.drawing.curves import frontier_curve, isoflop_curves, nice_budgets, surface
from isoplan.engine.planning.drawing.picture import plan_curve
from isoplan.engine.planning.drawing.sections import one_axis_curve
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from tests.engine.planning.conftest import EPOCH, JETS, RANGES, make_fit, scattered

POWER = (0.1, 1e6, 0.4)


def test_the_surface_is_the_law_and_a_decade_wider_than_the_runs(epoch: Fit) -> None:
    s = surface(epoch)
    assert s.loss.shape == s.inside.shape == (len(s.N), len(s.D)) == (62, 62)
    assert set(s.region["N"]) <= set(s.N)
    assert (s.N[0], s.N[-1]) == pytest.approx((1e6, 1e11))
    assert (s.D[0], s.D[-1]) == pytest.approx((1e7, 1e13))
    assert s.loss[10, 50] == pytest.approx(epoch.predict({"N": s.N[10], "D": s.D[50]}), rel=1e-12)
    inside = (s.N[:, None] >= 1e7) & (s.N[:, None] <= 1e10) & (s.D >= 1e8) & (s.D <= 1e12)
    np.testing.assert_array_equal(s.inside, inside)
    assert s.region["N"] == (1e7, 1e10)


def test_iso_flop_lines_spend_their_budget_inside_the_window(epoch: Fit) -> None:
    s = surface(epoch)
    assert len(s.isoflops) >= 5
    for line in s.isoflops:
        np.testing.assert_allclose(6 * line.N * line.D, line.C, rtol=1e-12)
        assert s.N[0] <= line.N.min() <= line.N.max() <= s.N[-1] * (1 + 1e-12)
        assert s.D[0] <= line.D.min() <= line.D.max() <= s.D[-1]


def test_the_trajectory_lies_in_its_ribbon(epoch: Fit) -> None:
    s = surface(epoch)
    for ribbon in (s.ribbon68, s.ribbon95):
        assert (ribbon.N_low < s.path.N).all()
        assert (s.path.N < ribbon.N_high).all()
        np.testing.assert_allclose(6 * ribbon.N_low * ribbon.D_low, s.path.C, rtol=1e-12)
        np.testing.assert_allclose(6 * ribbon.N_high * ribbon.D_high, s.path.C, rtol=1e-12)
    assert (s.ribbon95.N_low < s.ribbon68.N_low).all()


def test_contour_levels_are_round_and_inside(epoch: Fit) -> None:
    s = surface(epoch)
    assert 5 <= len(s.levels) <= 9
    assert list(s.levels) == sorted(set(s.levels))
    assert s.loss.min() < s.levels[0] < s.levels[-1] < s.loss.max()
    assert all(len(f"{level:g}") <= 4 for level in s.levels)


def test_iso_loss_lines_lie_on_their_level(epoch: Fit) -> None:
    s = surface(epoch)
    lines = contours_of(s.N, s.D, s.loss, s.levels)
    assert len(lines) >= 5
    for line in lines:
        np.testing.assert_allclose(epoch.predict({"N": line.N, "D": line.D}), line.level, rtol=0.01)
        assert (np.diff(line.N) >= 0).all()


def test_the_minimum_of_each_iso_flop_curve_is_the_plan(epoch: Fit) -> None:
    curves = isoflop_curves(epoch, (1e19, 1e21))
    for curve in curves:
        plan = plan_budget(epoch, curve.C)
        assert plan.allocation["N"].value == pytest.approx(curve.N_best)
        assert plan.allocation["loss"].value == pytest.approx(curve.loss_best)
        assert curve.loss.min() == pytest.approx(curve.loss_best, rel=1e-3)
        assert curve.loss.min() >= curve.loss_best
        np.testing.assert_allclose(6 * curve.N * curve.D, curve.C, rtol=1e-12)
        assert (curve.band.low95 < curve.band.low68).all()
        assert (curve.band.low68 < curve.loss).all()
        assert (curve.loss < curve.band.high68).all()
        assert curve.inside.any()
        assert not curve.inside.all()


def test_default_budgets_lie_in_the_runs(epoch: Fit) -> None:
    budgets = [c.C for c in isoflop_curves(epoch)]
    assert 3 <= len(budgets) <= 6
    assert RANGES["C"][0] <= budgets[0] <= budgets[-1] <= RANGES["C"][1]


def test_the_frontier_agrees_with_the_plans(epoch: Fit) -> None:
    path = frontier_curve(epoch, np.array([1e18, 1e20, 1e25]))
    plan = plan_budget(epoch, 1e20)
    N, loss = plan.allocation["N"], plan.allocation["loss"]
    assert path.N[1] == pytest.approx(N.value)
    assert path.loss[1] == pytest.approx(loss.value)
    assert N.ci68 is not None
    assert (path.N_band.low68[1], path.N_band.high68[1]) == pytest.approx(N.ci68, rel=0.02)
    assert path.inside.tolist() == [True, True, False]


def test_bands_use_four_hundred_resamples_spread_over_all() -> None:
    fit = make_fit(EPOCH, scattered(EPOCH, 1000))
    few = thin(fit).resamples
    assert few.shape == (400, 5)
    np.testing.assert_array_equal(few[[0, -1]], fit.resamples[[0, -1]])
    assert thin(make_fit(EPOCH, scattered(EPOCH, 50))).resamples.shape == (50, 5)


def test_a_published_law_is_drawn_without_bands() -> None:
    s = surface(make_fit(JETS, objective=None, rule=compute_rule("6npND", 40)))
    assert np.isfinite(s.loss).all()
    assert np.isnan(s.path.N_band.low68).all()
    assert s.path.inside.all()


def test_one_axis_and_its_floor() -> None:
    fit = make_fit(POWER, scattered(POWER), law="power", axis="D", ranges={"D": (1e3, 1e6), "loss": (0.2, 9.0)})
    curve = one_axis_curve(fit)
    assert (curve.x[0], curve.x[-1]) == pytest.approx((1e2, 1e7))
    assert curve.axis == "D"
    assert curve.floor is not None
    assert curve.floor.value == 0.1
    assert curve.inside.sum() == ((curve.x >= 1e3 * (1 - 1e-9)) & (curve.x <= 1e6 * (1 + 1e-9))).sum()
    np.testing.assert_allclose(curve.loss, 0.1 + (1e6 / curve.x) ** 0.4)


@pytest.mark.parametrize("law", ["power", "isoflop"])
def test_only_a_law_over_both_sizes_has_a_surface(law: str) -> None:
    theta = POWER if law == "power" else (3.33e-4, 0.6175, 499.0, 0.3825, 1.0, 1e12, 0.1)
    fit = make_fit(theta, law=law, axis="C" if law == "power" else None)
    with pytest.raises(PlannerError, match="is not a surface over N and D: fit the law 'chinchilla'"):
        surface(fit)
    with pytest.raises(PlannerError, match="is not a surface"):
        isoflop_curves(fit, (1e18,))
    with pytest.raises(PlannerError, match="has the axes N, D: draw its surface"):
        one_axis_curve(make_fit(EPOCH))


def test_the_picture_of_a_plan_holds_its_answer(epoch: Fit) -> None:
    far = plan_curve(plan_budget(epoch, 1e26), epoch)
    assert far.frontier is not None
    assert far.isoflop is not None
    assert far.axis is None
    assert far.frontier.C[-1] > 1e26
    assert far.isoflop.N[0] < far.isoflop.N_best < far.isoflop.N[-1]
    size = make_fit(POWER, scattered(POWER), law="power", axis="N", ranges={"N": (1e3, 1e6)})
    picture = plan_curve(plan_target(size, 0.11), size)
    assert picture.axis is not None
    assert picture.axis.x[-1] > 1e8
    compute = make_fit((0.1, 1e12, 0.1), law="power", axis="C", ranges={"C": (1e15, 1e18)})
    picture = plan_curve(plan_budget(compute, 1e20), compute)
    assert picture.frontier is not None
    assert picture.axis is not None
    assert picture.isoflop is None


def test_a_plan_that_nothing_reaches_still_has_a_picture() -> None:
    resamples = np.tile(EPOCH, (100, 1))
    resamples[:40, 0] = 1.5
    fit = make_fit(EPOCH, resamples, ranges=RANGES)
    picture = plan_curve(plan_target(fit, 1.7), fit)
    assert picture.frontier is not None
    assert picture.isoflop is None


def test_a_law_whose_term_vanished_is_drawn_without_a_frontier() -> None:
    theta = (1.8, 0.0, 2000.0, 0.3, 0.3)
    fit = make_fit(theta, scattered(theta), ranges=RANGES)
    s = surface(fit)
    assert np.isfinite(s.loss).all()
    assert np.isnan(s.path.N).all()
    assert all(np.isnan(c.N_best) and np.isfinite(c.loss).all() for c in isoflop_curves(fit))


def test_runs_at_one_point_have_a_window(epoch: Fit) -> None:
    s = surface(epoch, {"N": (1e8, 1e8), "D": (1e9, 1e9), "C": (6e17, 6e17)})
    assert (s.N[0], s.N[-1]) == pytest.approx((1e7, 1e9))


def test_a_typed_formula_moves_every_curve(epoch: Fit) -> None:
    rule = compute_rule("formula", formula="6*N*D + 1e10*D")
    s = surface(epoch, rule=rule)
    np.testing.assert_allclose(rule.flops(s.path.N, s.path.D), s.path.C, rtol=1e-9)
    line = s.isoflops[len(s.isoflops) // 2]
    np.testing.assert_allclose(rule.flops(line.N, line.D), line.C, rtol=1e-9)


@given(st.floats(5, 30), st.floats(1e-3, 12))
def test_budgets_to_draw_are_few_and_in_range(low: float, decades: float) -> None:
    ends = 10.0**low, 10.0 ** (low + decades)
    budgets = nice_budgets(*ends)
    assert 1 <= len(budgets) <= 8
    assert all(ends[0] * 0.99 <= b <= ends[1] * 1.01 for b in budgets)


def test_budgets_are_round() -> None:
    assert nice_budgets(1e18, 1e20) == (1e18, 2e18, 5e18, 1e19, 2e19, 5e19, 1e20)
    assert nice_budgets(1e18, 1e22) == pytest.approx((1e18, 1e19, 1e20, 1e21, 1e22))
    assert nice_budgets(1e18, 1e21) == pytest.approx((1e18, 3e18, 1e19, 3e19, 1e20, 3e20, 1e21))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_contour_levels_never_leave_the_surface(values: list[float]) -> None:
    loss = np.array([values])
    assert all(loss.min() < x < loss.max() for x in contour_levels(loss))


def test_a_flat_or_unknown_surface_has_no_levels() -> None:
    assert contour_levels(np.ones((3, 3))) == ()
    assert contour_levels(np.full((3, 3), math.nan)) == ()


def test_the_curve_within_limits_is_refined_by_a_factor_of_five_around_the_optimum(epoch: Fit) -> None:
    n = 40
    plan = plan_budget(epoch, 1e21, limits=Limits(parameters=1e12))
    curve = plan_curve(plan, epoch, n=n).isoflop
    assert curve is not None
    N_best = plan.allocation["N"].value
    assert N_best is not None
    assert N_best == curve.N_best
    for N in np.geomspace(N_best / 5, N_best * 5, n // 2):
        assert np.isclose(curve.N, N, rtol=1e-12).any(), N
    near = (curve.N >= N_best / 5 * (1 - 1e-9)) & (curve.N <= N_best * 5 * (1 + 1e-9))
    finest = np.log(25) / (n // 2 - 1)  # spacing in ln N of the n / 2 points from N_best / 5 to 5 * N_best
    assert np.diff(np.log(curve.N[near])).max() <= finest * (1 + 1e-9)
