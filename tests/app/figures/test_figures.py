"""Tests of properties common to all figures, and of the figures of residuals, resamples, runs and plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from isoplan.app.figures.fits import frontier, isoflop, resamples, residuals, slices, surface, validation
from isoplan.app.figures.fits import runs as overview
from isoplan.app.figures.marks import dots  # fmt: skip
from isoplan.app.figures.marks.along import of_frontier
from isoplan.app.figures.plans import plan  # fmt: skip
from isoplan.app.figures.style import axes as words  # fmt: skip
from isoplan.app.figures.style.palette import COMPUTE, GREY, PLAN
from isoplan.app.figures.style.theme import DARK, INK, LIGHT, STYLE, WEB, Drawing, Theme, paper
from isoplan.engine.fitting import Fit, FitSpec, validate
from isoplan.engine.fitting.diagnostics.residuals import compare
from isoplan.engine.fitting.diagnostics.residuals import residuals as residuals_of
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.drawing.curves import frontier_curve, isoflop_curves
from isoplan.engine.planning.drawing.curves import surface as surface_of
from isoplan.engine.planning.drawing.picture import Picture, plan_curve
from isoplan.engine.planning.drawing.sections import one_axis_curve
from isoplan.engine.planning.drawing.sections import slices as slices_of
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.schema import Roles, Runs
from tests.app.figures.conftest import POWER, MakeFit, texts, traces


def everything(fit: Fit, power: Fit, runs: Runs) -> dict[str, Callable[[Theme], Drawing]]:
    s, path, curve = surface_of(fit), frontier_curve(fit), one_axis_curve(power)
    found, budget, target = residuals_of(fit, runs), plan_budget(fit, 1e22), plan_target(fit, 2.1)
    curves, floor = isoflop_curves(fit), floor_of(fit)
    left_out = validate(FitSpec(objective="ols-log", bootstrap=0), runs)
    lines = {"one": of_frontier(path, runs, "loss", None), "other": of_frontier(path, None, "loss", None)}
    return {
        "surface": lambda theme: surface.draw(s, runs, plan=budget, theme=theme),
        "isoflop": lambda theme: isoflop.draw(curves, runs, path=path, theme=theme),
        "frontier": lambda theme: frontier.draw(path, runs, floor=floor, theme=theme),
        "one axis": lambda theme: slices.draw_line(curve, runs, theme=theme),
        "residuals": lambda theme: residuals.draw(found, runs, theme=theme),
        "runs": lambda theme: overview.draw(runs, theme=theme),
        "slices": lambda theme: slices.draw_slices(slices_of(fit, runs), theme=theme),
        "validation": lambda theme: validation.draw(left_out, theme=theme),
        "overlay": lambda theme: slices.draw_overlay(lines, theme=theme),
        "plan of a budget": lambda theme: plan.draw(budget, plan_curve(budget, fit), runs, theme=theme),
        "plan of a target": lambda theme: plan.draw(target, plan_curve(target, fit), runs, floor, theme),
    }


@pytest.mark.parametrize("theme", [WEB, LIGHT, DARK, paper(85)])
def test_every_figure_is_valid_small_named_and_described(fit: Fit, power: Fit, runs: Runs, theme: Theme) -> None:
    for name, draw in everything(fit, power, runs).items():
        drawing = draw(theme)
        sent = drawing.figure.to_json()
        assert len(sent) < 200_000, name
        assert json.loads(sent)["data"], name
        assert 40 < len(drawing.alt) < 500, name
        assert any(c.isdigit() for c in drawing.alt), name
        assert "<" not in drawing.alt, name
        assert len(drawing.data) > 3, name
        assert drawing.name.replace("-", "").isalpha(), name
        assert drawing.figure.layout.uirevision, name
        assert drawing.figure.layout.height > 100, name


def test_the_page_recolours_text_and_ink(fit: Fit) -> None:
    drawing = frontier.draw(frontier_curve(fit))
    assert drawing.figure.layout.font.color is None
    assert drawing.figure.layout.paper_bgcolor is None
    r, g, b = (int(INK[i : i + 2], 16) for i in (1, 3, 5))
    assert f"stroke: rgb({r}, {g}, {b})" in STYLE
    assert f"fill: rgb({r}, {g}, {b})" in STYLE
    assert any(t.line.color == INK for t in drawing.figure.data)
    assert all(t.line.color != INK for t in frontier.draw(frontier_curve(fit), theme=DARK).figure.data)


def test_a_printed_figure_has_the_width_that_was_asked_for(fit: Fit) -> None:
    for width, pixels in ((85, 321), (175, 661)):
        layout = frontier.draw(frontier_curve(fit), theme=paper(width)).figure.layout
        assert layout.width == pixels
        assert layout.font.size == pytest.approx(8 * 96 / 72)
        assert layout.paper_bgcolor == "#ffffff"


class TestResiduals:
    def test_a_panel_an_axis_and_a_histogram(self, fit: Fit, runs: Runs) -> None:
        found = residuals_of(fit, runs)
        drawing = residuals.draw(found, runs)
        assert [t.xaxis for t in traces(drawing, name="runs")] == ["x", "x2", "x3", "x4"]
        assert [t.type for t in drawing.figure.data][-1] == "histogram"
        assert drawing.figure.layout.yaxis2.matches == "y"
        assert f"rms {found.rms:.3g}" in texts(drawing)
        assert set(drawing.data.columns) >= {"row", "residual", "z", "outlier"}

    def test_outliers_are_ringed_and_named(self, fit: Fit, runs: Runs) -> None:
        predicted = fit.predict({"N": runs["N"], "D": runs["D"]})
        y = runs["loss"].copy()
        y[7] *= 1.3
        drawing = residuals.draw(compare(predicted, y, True), runs)
        ringed = [t for t in traces(drawing, name="runs") if t.marker.symbol == "circle-open"]
        assert len(ringed) == 4
        assert [row[0] for row in ringed[0].customdata] == [107]
        assert traces(drawing, mode="text")[0].text == ("run 7",)
        assert "1 outlier." in drawing.alt

    def test_a_perfect_fit(self, fit: Fit, runs: Runs) -> None:
        predicted = fit.predict({"N": runs["N"], "D": runs["D"]})
        assert residuals.draw(compare(predicted, predicted, True), runs).figure.layout.yaxis.range == (-1.0, 1.0)

    def test_many_runs_are_drawn_as_densities_that_count_them_all(self, fit: Fit, runs: Runs) -> None:
        many = runs.take(np.tile(np.arange(54), 100))
        y = many["loss"].copy()
        y[4321] *= 2
        predicted = fit.predict({"N": many["N"], "D": many["D"]})
        drawing = residuals.draw(compare(predicted, y, True), many)
        dense = [t for t in drawing.figure.data if t.type == "heatmap"]
        assert [int(np.sum(t.customdata)) for t in dense] == [5400] * 4
        assert np.nanmax(dense[0].z) == pytest.approx(np.log10(np.max(dense[0].customdata)))
        assert [row[0] for row in traces(drawing, name="runs")[0].customdata] == [many.ids[4321]]


class TestResamples:
    def test_a_panel_a_pair(self, fit: Fit) -> None:
        drawing = resamples.draw_pairs(fit)
        assert drawing is not None
        assert len(drawing.figure.data) == 2 * 10
        assert list(drawing.data.columns) == ["E", "A", "B", "alpha", "beta"]
        first = drawing.figure.data[0]
        np.testing.assert_allclose(first.x, fit.draws["E"], rtol=1e-6)
        np.testing.assert_allclose(first.y, fit.draws["A"], rtol=1e-6)
        assert drawing.figure.data[1].x == (1.8172,)

    def test_a_published_law_has_none(self, make_fit: MakeFit) -> None:
        assert resamples.draw_pairs(make_fit(draws=0)) is None


class TestRuns:
    def test_budgets_are_joined_and_labelled(self, budget_runs: Runs) -> None:
        drawing = overview.draw(budget_runs)
        lines = traces(drawing, mode="lines")
        assert [t.line.color for t in lines][:: len(lines) - 1] == [COMPUTE[0], COMPUTE[-1]]
        assert len(lines) == 5
        assert list(traces(drawing, mode="text")[0].text) == [f"10<sup>{k}</sup> FLOPs" for k in range(18, 23)]

    @pytest.mark.parametrize(("roles", "axes"), [(("N", "loss"), ("N", "Loss")), (("D", "C"), ("D", "C"))])
    def test_missing_roles(self, runs: Runs, roles: tuple[str, ...], axes: tuple[str, str]) -> None:
        some = Runs(runs.ids, {r: runs[r] for r in roles}, Roles(), {})
        layout = overview.draw(some).figure.layout
        assert axes[0] in layout.xaxis.title.text
        assert axes[1] in layout.yaxis.title.text

    @pytest.mark.parametrize("values", [{}, {"N": np.array([1.0, 2.0])}, {"N": np.empty(0), "D": np.empty(0)}])
    def test_too_little_to_draw_says_what_to_do(self, values: dict[str, Any]) -> None:
        drawing = overview.draw(Runs(np.arange(2), values, Roles(), {}))
        assert "Map two of N, D, C and loss" in drawing.alt
        assert len(drawing.data) == 0
        none = Runs(np.empty(0, np.int64), {name: np.empty(0) for name in ("N", "D", "loss")}, Roles(), {})
        assert overview.draw(none).alt == "Every run is left out."

    def test_one_run_and_holes(self) -> None:
        one = Runs(np.array([1]), {"N": np.array([1e6]), "D": np.array([1e9]), "loss": np.array([np.nan])}, Roles(), {})
        low, high = overview.draw(one).figure.layout.xaxis.range
        assert low < 6 < high

    def test_at_most_so_many_points_and_the_figure_says_so(self) -> None:
        n = 50_000
        rng = np.random.default_rng(0)
        values = {role: rng.lognormal(20, 3, n) for role in ("N", "D", "C", "loss")}
        drawing = overview.draw(Runs(np.arange(n), values, Roles(), {}), most=20_000)
        (shown,) = traces(drawing, name="runs")
        assert shown.type == "scattergl"
        assert len(shown.x) == 20_000
        assert len(set(row[0] for row in shown.customdata)) == 20_000
        assert "20,000 of 50,000 runs drawn" in texts(drawing)
        assert len(drawing.figure.to_json()) < 2_500_000
        again = overview.draw(Runs(np.arange(n), values, Roles(), {}), most=20_000)
        assert np.array_equal(traces(again, name="runs")[0].x, shown.x)

    def test_row_ids_survive_even_when_they_are_large(self) -> None:
        ids = np.array([2**40 + 1, 2**40 + 2])
        some = Runs(ids, {"N": np.array([1e6, 1e7]), "D": np.array([1e9, 1e8])}, Roles(), {})
        (shown,) = traces(overview.draw(some), name="runs")
        assert [int(row[0]) for row in shown.customdata] == ids.tolist()

    def test_names_of_users_are_text(self) -> None:
        label = np.array(["<b>x</b>", "%{y}"])
        values = {"N": np.array([1e6, 1e7]), "D": np.array([1e9, 1e8]), "<i>lr</i>": np.array([1.0, 2.0])}
        (shown,) = traces(overview.draw(Runs(np.arange(2), values, Roles(), {"run": label})), name="runs")
        assert shown.text[0] == "&lt;b&gt;x&lt;/b&gt;"
        assert "&lt;i&gt;lr&lt;/i&gt;" in shown.hovertemplate


class TestPlan:
    def test_a_budget_shows_the_flat_stretch_and_the_optimum(self, fit: Fit) -> None:
        asked = plan_budget(fit, 1e21)
        drawing = plan.draw(asked, plan_curve(asked, fit))
        assert asked.flat is not None
        (flat,) = drawing.figure.layout.shapes
        assert (flat.x0, flat.x1) == pytest.approx(asked.flat.N)
        assert "within 1 % of the best" in texts(drawing)
        assert "10<sup>21</sup> FLOPs" in texts(drawing)
        (star,) = traces(drawing, name="plan")
        assert star.y[0] == asked.allocation["loss"].value
        assert star.error_x.array[0] > 0
        assert "is within 1 %" in drawing.alt

    def test_a_target_shows_where_it_crosses_and_how_sure_that_is(self, fit: Fit) -> None:
        asked = replace(plan_target(fit, 2.1), p_reach=1.0)
        drawing = plan.draw(asked, plan_curve(asked, fit), floor=floor_of(fit))
        C = asked.allocation["C"]
        assert C.ci68 is not None
        costs = [s for s in drawing.figure.layout.shapes if s.fillcolor == PLAN]
        assert (costs[1].x0, costs[1].x1) == pytest.approx(C.ci68)
        (star,) = traces(drawing, name="plan")
        assert (star.x[0], star.y[0]) == (C.value, 2.1)
        assert "target 2.1" in texts(drawing)
        assert "probability more than 99 %" in texts(drawing)

    def test_limits_part_from_the_curve_without_them(self, fit: Fit) -> None:
        asked = plan_budget(fit, 1e22, limits=Limits(unique=1e10, parameters=2e11))
        drawing = plan.draw(asked, plan_curve(asked, fit))
        (name,) = traces(drawing, mode="text")
        assert list(name.text) == ["without limits"]
        (dotted,) = (t for t in traces(drawing) if t.line.dash == "dot")
        (star,) = traces(drawing, name="plan")
        below = np.interp(np.log(star.x[0] / 3), np.log(np.float64(dotted.x)), np.float64(dotted.y))
        assert below < star.y[0]
        assert "larger than allowed" not in texts(drawing)

    def test_a_model_that_may_not_be_larger(self, fit: Fit) -> None:
        asked = plan_budget(fit, 1e22, limits=Limits(parameters=1e9))
        drawing = plan.draw(asked, plan_curve(asked, fit))
        assert "larger than allowed" in texts(drawing)
        (grey,) = (s for s in drawing.figure.layout.shapes if s.fillcolor == GREY)
        assert grey.x0 == 1e9
        assert grey.x1 > 1e9

    def test_hours_end_the_frontier(self, fit: Fit) -> None:
        machine = Machine(find_device("H100"), 8)
        asked = plan_target(fit, 2.1, limits=Limits(hours=3000.0), prices=Prices(machine))
        drawing = plan.draw(asked, plan_curve(asked, fit), floor=floor_of(fit))
        assert "more compute than allowed" in texts(drawing)
        assert float(machine.flops(3000.0)) in [s.x0 for s in drawing.figure.layout.shapes]

    def test_a_target_in_a_metric_stands_at_what_the_law_must_reach(self, fit: Fit) -> None:
        asked = plan_target(fit, 2.1)
        asked = replace(asked, question=replace(asked.question, value=5000.0, metric="R_top"))
        drawing = plan.draw(asked, plan_curve(asked, fit), floor=floor_of(fit))
        levels = [s.y0 for s in drawing.figure.layout.shapes if s.type == "line" and s.line.color == PLAN]
        assert levels == [2.1]
        assert "target R_top 5000, loss 2.1" in texts(drawing)

    def test_a_target_below_the_best_fits_floor(self, make_fit: MakeFit) -> None:
        fit = make_fit(draws=400)
        asked = plan_target(fit, 1.81)
        drawing = plan.draw(asked, plan_curve(asked, fit), floor=floor_of(fit))
        assert asked.allocation["C"].value is None
        assert not traces(drawing, name="plan")
        assert "not reached by the best fit" in texts(drawing)

    def test_one_axis(self, make_fit: MakeFit, runs: Runs) -> None:
        fit = make_fit(spec=POWER, theta=[1.9, 3e8, 0.4])
        asked = plan_target(fit, 2.0)
        drawing = plan.draw(asked, plan_curve(asked, fit), runs)
        assert "<i>D</i> = " in texts(drawing)
        assert "D" in drawing.data.columns

    def test_a_budget_on_the_frontier(self, fit: Fit) -> None:
        asked = plan_budget(fit, 1e21)
        drawing = plan.draw(asked, Picture(frontier_curve(fit), None, None))
        (star,) = traces(drawing, name="plan")
        assert star.x[0] == 1e21
        assert "target" not in texts(drawing)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (2.07, 3.41, [2.2, 2.4, 2.6, 2.8, 3.0, 3.2, 3.4]),
        (0.69, 0.93, [0.7, 0.75, 0.8, 0.85, 0.9]),
        (0.95, 4.6, [1.0, 2.0, 3.0, 4.0]),
        (1e-7, 1e-2, [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]),
        (1.0, 50.0, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert words.nice_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (0.125, "0.125"), (1e20, "10<sup>20</sup>"), (6e18, "6×10<sup>18</sup>"), (1e-5, "10<sup>-5</sup>")],
)
def test_numbers_on_figures(value: float, text: str) -> None:
    assert words.tick_text(value) == text


def test_drawn_runs_are_always_the_same(runs: Runs) -> None:
    assert dots.drawn(runs, 10).ids.tolist() == dots.drawn(runs, 10).ids.tolist()
    assert len(dots.drawn(runs, 10)) == 10
    assert dots.drawn(runs, 100) is runs


class TestCorrelations:
    def test_ranks_are_compared_and_shown_once(self, fit: Fit) -> None:
        names, matrix = resamples.correlations(fit)
        assert names == ["E", "A", "B", "alpha", "beta"]
        assert matrix == pytest.approx(stats.spearmanr(fit.resamples).statistic)
        drawing = resamples.draw_correlations(fit)
        assert drawing is not None
        words = next(t for t in drawing.figure.data if t.type == "scatter")
        assert len(words.text) == 15
        assert "strongest" in drawing.alt
        assert len(drawing.data) == 25

    def test_a_held_parameter_or_no_refits_leave_nothing(self, make_fit: MakeFit) -> None:
        assert resamples.draw_correlations(make_fit(draws=0)) is None


class TestValidation:
    def test_laws_and_baselines_are_told_apart(self, budget_runs: Runs) -> None:
        found = validate(FitSpec(objective="ols-log"), budget_runs)
        drawing = validation.draw(found)
        lines = [t for t in drawing.figure.data if t.mode == "lines+markers"]
        simple = ["no further improvement", "power law without floor", "nearest run"]
        assert [t.name for t in lines] == ["chinchilla", *(f"baseline: {words}" for words in simple)]
        assert len({t.line.color for t in lines}) == len({t.line.dash for t in lines}) == 4
        named = validation.draw(found, titles={"chinchilla": "Loss over size and data (Chinchilla)"})
        assert "Loss over size and data (Chinchilla)" in [t.name for t in named.figure.data]
        best = validation.draw(found, "best")
        assert [t.name for t in best.figure.data if t.mode == "markers"] == ["chinchilla", "isoflop"]
        (dots_,) = [t for t in drawing.figure.data if t.mode == "markers"]
        assert np.asarray(dots_.x, float) == pytest.approx(np.asarray(dots_.y, float), rel=1e-3)
        assert set(drawing.data["method"]) == set(found.methods)
