"""Figures of a fitted law: the loss surface, iso-FLOP curves, the frontier, and the loss along one axis."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.app.figures.fits import frontier, isoflop, slices, surface
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.palette import ACCENT, COMPUTE, LOSS, PLAN
from isoplan.app.figures.style.theme import KEY, WEB, Drawing
from isoplan.engine.fitting import Fit, FitSpec
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.contours import contours_of
from isoplan.engine.planning.drawing.curves import frontier_curve, isoflop_curves
from isoplan.engine.planning.drawing.curves import surface as surface_of
from isoplan.engine.planning.drawing.sections import one_axis_curve
from isoplan.engine.planning.drawing.sections import slices as slices_of
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.feasibility import floor_of
from isoplan.engine.schema import Runs
from tests.app.figures.conftest import POWER, MakeFit, texts, traces


class TestSurface:
    def test_axes_are_logs_over_the_window(self, fit: Fit) -> None:
        s = surface_of(fit)
        layout = surface.draw(s).figure.layout
        assert layout.xaxis.type == layout.yaxis.type == "log"
        np.testing.assert_allclose(layout.xaxis.range, np.log10([s.N[0], s.N[-1]]))
        assert "parameters" in layout.xaxis.title.text
        assert "samples" in layout.yaxis.title.text

    def test_iso_loss_lines_are_where_the_law_has_that_loss(self, fit: Fit) -> None:
        s = surface_of(fit)
        lines = contours_of(s.N, s.D, s.loss, s.levels)
        assert [line.level for line in lines] == list(s.levels)
        for line in lines:
            np.testing.assert_allclose(fit.predict({"N": line.N, "D": line.D}), line.level, rtol=2e-3)
            assert np.all(np.diff(line.N) >= 0)

    def test_contours_carry_their_levels_where_they_lie(self, fit: Fit) -> None:
        s = surface_of(fit)
        (labels,) = traces(surface.draw(s), name="iso-loss")
        assert len(labels.text) >= len(s.levels) - 2
        for N, D, text in zip(labels.x, labels.y, labels.text, strict=True):
            assert fit.predict({"N": np.array(N), "D": np.array(D)}) == pytest.approx(float(text), rel=5e-3)

    def test_labels_of_contours_do_not_touch(self, fit: Fit) -> None:
        s = surface_of(fit)
        (labels,) = traces(surface.draw(s), name="iso-loss")
        height = np.log(s.D[-1] / s.D[0])
        order = np.argsort(labels.y)
        x, y = np.array(labels.x)[order], np.array(labels.y)[order]
        touching = (np.diff(np.log(y)) / height < 0.03) & (np.abs(np.diff(np.log(x))) / np.log(s.N[-1] / s.N[0]) < 0.05)
        assert not touching.any()

    def test_iso_flop_lines_are_coloured_by_compute_and_labelled(self, fit: Fit) -> None:
        s = surface_of(fit)
        drawing = surface.draw(s)
        lines = [t for t in drawing.figure.data if t.hovertemplate and "C = 10" in t.hovertemplate]
        assert len(lines) == len(s.isoflops)
        assert lines[0].line.color == COMPUTE[0]
        assert lines[-1].line.color == COMPUTE[-1]
        for trace, line in zip(lines, s.isoflops, strict=True):
            np.testing.assert_allclose(6 * np.asarray(trace.x, float) * np.asarray(trace.y, float), line.C, rtol=1e-5)
        words = [w for t in traces(drawing, name="iso-FLOP") for w in t.text]
        assert len(words) == len(s.isoflops)
        assert sum("FLOPs" in w for w in words) == 1

    def test_lines_are_dashed_and_solid_only_within_the_runs(self, fit: Fit) -> None:
        s = surface_of(fit)
        solid = [t for t in traces(surface.draw(s), mode="lines") if t.line.dash == "solid"]
        assert solid
        for trace in solid:
            known = np.isfinite(np.asarray(trace.y, float))
            assert np.all(np.asarray(trace.x, float)[known] <= s.region["N"][1] * 1.0001)
            assert np.all(np.asarray(trace.y, float)[known] <= s.region["D"][1] * 1.0001)

    def test_the_trajectory_lies_in_its_bands(self, fit: Fit) -> None:
        s = surface_of(fit)
        wide, narrow = (t for t in traces(surface.draw(s), fill="toself"))
        n = len(s.path.C)
        assert wide.opacity == marks.TINT95 < narrow.opacity == marks.TINT68
        assert np.all(np.asarray(wide.x, float)[:n] <= s.path.N)
        assert np.all(np.asarray(narrow.x, float)[n:][::-1] >= s.path.N)

    def test_hovering_a_run_shows_its_identity_and_roles(self, fit: Fit, runs: Runs) -> None:
        (shown,) = traces(surface.draw(surface_of(fit), runs), name="runs")
        assert shown.text[3] == "run 3"
        assert shown.customdata[3][0] == 103
        assert "%{text}" in shown.hovertemplate
        for i, role in enumerate(("N", "D", "C", "loss", "recall@10"), start=1):
            assert f"{role}  %{{customdata[{i}]" in shown.hovertemplate
            assert shown.customdata[3][i] == pytest.approx(runs[role][3], rel=1e-6)

    def test_the_region_beyond_the_runs_is_shaded(self, fit: Fit) -> None:
        s = surface_of(fit)
        (shape,) = surface.draw(s).figure.layout.shapes
        assert shape.fillrule == "evenodd"
        assert str(s.region["N"][0]) in shape.path

    def test_a_plan_is_a_star_at_its_allocation(self, fit: Fit) -> None:
        asked = plan_budget(fit, 1e21)
        drawing = surface.draw(surface_of(fit), plan=asked)
        (star,) = traces(drawing, name="plan")
        assert star.x[0] == asked.allocation["N"].value
        assert star.marker.color == PLAN
        assert "The plan is at N = " in drawing.alt

    def test_a_law_card_without_resamples_and_ranges_has_no_bands(self, make_fit: MakeFit) -> None:
        drawing = surface.draw(surface_of(make_fit(draws=0, ranges=False)))
        assert not traces(drawing, fill="toself")
        assert traces(drawing, name="iso-loss")

    def test_better_is_darker_in_either_direction(self, fit: Fit, runs: Runs) -> None:
        for y, darkest in (("loss", 0), ("recall@10", -1)):
            (shown,) = traces(surface.draw(surface_of(fit), runs, y), name="runs")
            assert shown.marker.colorscale[darkest][1] == LOSS[0]
            assert shown.marker.colorbar.title.text == y


class TestIsoFlop:
    def test_a_line_a_budget_and_its_minimum(self, fit: Fit, runs: Runs) -> None:
        curves = isoflop_curves(fit, (1e19, 1e20, 1e21))
        drawing = isoflop.draw(curves, runs, path=frontier_curve(fit))
        (minima,) = traces(drawing, name="minima")
        np.testing.assert_allclose(minima.x, [c.N_best for c in curves])
        assert list(minima.marker.color) == [COMPUTE[0], COMPUTE[5], COMPUTE[-1]]
        assert "D*" in minima.text[0]
        assert len(traces(drawing, fill="toself")) == 6
        assert "3 budgets" in drawing.alt

    def test_labels_stand_inside_the_plot(self, fit: Fit) -> None:
        drawing = isoflop.draw(isoflop_curves(fit))
        (labels,) = traces(drawing, mode="text")
        x, y = (np.log10(np.array(v)) for v in (labels.x, labels.y))
        low, high = drawing.figure.layout.xaxis.range
        assert np.all((x >= low) & (x <= high))
        low, high = drawing.figure.layout.yaxis.range
        assert np.all((y >= low) & (y <= high))
        assert labels.text[-1].endswith("FLOPs")

    def test_dots_have_the_colour_of_their_budget(self, fit: Fit, budget_runs: Runs) -> None:
        drawing = isoflop.draw(isoflop_curves(fit, tuple(np.unique(budget_runs["budget"]))), budget_runs)
        (shown,) = traces(drawing, name="runs")
        assert shown.marker.cmin == pytest.approx(18)
        assert shown.marker.cmax == pytest.approx(22)
        np.testing.assert_allclose(shown.marker.color, np.log10(budget_runs["C"]), rtol=1e-6)

    def test_parabolas_alone(self, budget_runs: Runs) -> None:
        from isoplan.engine.fitting.estimators.isoflop import parabolas

        found = parabolas(budget_runs, FitSpec(law="isoflop", objective="ols", bootstrap=0))
        drawing = isoflop.draw((), budget_runs, parabolas=found)
        (minima,) = traces(drawing, name="minima")
        assert set(minima.marker.symbol) <= {"star", "star-open"}
        assert len(minima.x) == len(found) == 5
        assert set(drawing.data["line"]) == {"parabola"}

    def test_nothing_to_draw(self) -> None:
        assert "No budget" in isoflop.draw(()).alt


class TestAlong:
    def test_bands_are_closed_lines_around_the_law(self, fit: Fit) -> None:
        path = frontier_curve(fit)
        wide, narrow = traces(frontier.draw(path), fill="toself")
        n = len(path.C)
        np.testing.assert_allclose(wide.y[:n], path.loss_band.low95, rtol=1e-6)
        np.testing.assert_allclose(wide.y[n:], path.loss_band.high95[::-1], rtol=1e-6)
        np.testing.assert_allclose(narrow.y[:n], path.loss_band.low68, rtol=1e-6)
        assert wide.opacity < narrow.opacity

    def test_the_floor_is_a_band_with_its_value(self, fit: Fit) -> None:
        floor = floor_of(fit)
        drawing = frontier.draw(frontier_curve(fit), floor=floor)
        assert "floor <i>E</i> 1.8" in texts(drawing)
        assert floor.ci95 is not None
        assert any(s.y0 == pytest.approx(floor.ci95[0]) and s.y1 == pytest.approx(floor.ci95[1])
                   for s in drawing.figure.layout.shapes if s.xref == "x domain")  # fmt: skip

    def test_beyond_the_runs_is_shaded_and_named(self, fit: Fit) -> None:
        path = frontier_curve(fit)
        drawing = frontier.draw(path)
        shades = [s for s in drawing.figure.layout.shapes if s.yref == "y domain"]
        assert [s.x0 for s in shades] == [path.C[0], path.C[path.inside][-1]]
        assert "beyond the runs" in texts(drawing)

    def test_an_unbounded_interval_is_cut_not_left_out(self, fit: Fit) -> None:
        band = frontier_curve(fit).loss_band
        ends = type(band)(band.low68, band.high68, band.low95, np.full_like(band.high95, np.inf))
        wide, _ = marks.bands(np.arange(1.0, 1 + len(band.low68)), ends, ACCENT, (1.0, 10.0))
        assert np.max(wide["y"]) == 1000.0
        assert len(wide["x"]) == 2 * len(band.low68)

    def test_remarks_keep_out_of_the_way_of_a_line_that_rises(self, fit: Fit) -> None:
        path = frontier_curve(fit)
        rising = type(path)(**{**path.__dict__, "loss": 1 / path.loss})
        for curve, anchor in ((path, "top"), (rising, "bottom")):
            (remark,) = frontier.draw(curve).figure.layout.annotations
            assert remark.yanchor == anchor

    @pytest.mark.parametrize(("floor", "low"), [(0.0, 3.9), (1e-9, 3.9), (3.0, 2.9)])
    def test_a_floor_far_below_the_law_does_not_squeeze_it(self, fit: Fit, floor: float, low: float) -> None:
        path = frontier_curve(fit)
        bare = type(path)(**{**path.__dict__, "loss": path.loss + 2})
        axis = frontier.draw(bare, floor=Quantity(floor)).figure.layout.yaxis
        assert axis.type == "log"
        assert low - 0.2 < 10 ** axis.range[0] < low + 0.2

    def test_a_metric_that_rises_keeps_its_direction_and_name(self, make_fit: MakeFit, runs: Runs) -> None:
        drawing = slices.draw_line(one_axis_curve(make_fit(spec=POWER, theta=[1.9, 3e8, 0.4])), runs, y="recall@10")
        assert drawing.figure.layout.yaxis.title.text == "recall@10"

    def test_a_value_below_zero_makes_the_axis_linear(self, make_fit: MakeFit) -> None:
        curve = one_axis_curve(make_fit(spec=POWER, theta=[1.9, 3e8, 0.4]))
        shifted = type(curve)(curve.axis, curve.x, curve.loss - 3, curve.band, curve.inside, curve.floor)
        assert slices.draw_line(shifted).figure.layout.yaxis.type is None

    @pytest.mark.parametrize(("target", "below"), [(1.83, True), (2.2, False)])
    def test_the_floor_keeps_off_the_name_of_a_target(self, fit: Fit, target: float, below: bool) -> None:
        """The label of the floor is above the floor line, or below this line if a target is just above the line."""
        values = (float(floor_of(fit).value or 0) - 0.05, 4.0)
        _, (note,) = marks.limit(WEB, floor_of(fit), values, "floor", [target])
        assert (note.get("yanchor") == "top") == below


FLOOR = "floor with intervals"


def legend_of(drawing: Drawing) -> list[str]:
    """Return the legend entries that explain the marks of a figure."""
    assert drawing.figure.layout.showlegend is True
    return [t.name for t in drawing.figure.data if str(t.legendgroup).startswith(KEY)]


class TestLegend:
    def test_a_surface(self, fit: Fit, runs: Runs) -> None:
        s, plan = surface_of(fit), plan_budget(fit, 1e18)
        assert legend_of(surface.draw(s, runs, plan=plan)) == [
            "run", "equal loss", "equal compute", "compute-optimal <i>N</i>*, <i>D</i>*", "68 % interval", "95 %",
            "beyond the runs", "plan: best <i>N</i>*, <i>D</i>*",
        ]  # fmt: skip
        assert "run" not in legend_of(surface.draw(s))

    def test_iso_flop_curves(self, fit: Fit, runs: Runs) -> None:
        named = legend_of(isoflop.draw(isoflop_curves(fit), runs, path=frontier_curve(fit)))
        assert named[0] == "law at one budget"
        assert {"run", "best <i>N</i>*", "compute-optimal <i>N</i>*, <i>D</i>*", "beyond the runs"} <= set(named)
        assert "outside the sweep" not in named

    def test_a_frontier_and_one_axis(self, fit: Fit, make_fit: MakeFit, runs: Runs) -> None:
        both = ["68 % interval", "95 %"]
        assert legend_of(frontier.draw(frontier_curve(fit), runs)) == [
            "compute-optimal loss", *both, "run", "beyond the runs",
        ]  # fmt: skip
        curve = one_axis_curve(make_fit(spec=POWER, theta=[1.9, 3e8, 0.4]))
        assert legend_of(slices.draw_line(curve, runs)) == ["law", *both, "run", "beyond the runs", FLOOR]
        bare = one_axis_curve(make_fit(spec=POWER, theta=[1.9, 3e8, 0.4], draws=0))
        assert legend_of(slices.draw_line(bare)) == ["law", "beyond the runs", FLOOR]

    def test_slices(self, fit: Fit, runs: Runs) -> None:
        named = legend_of(slices.draw_slices(slices_of(fit, runs)))
        assert named == ["law", "68 % interval", "95 %", "run", "beyond the runs"]
