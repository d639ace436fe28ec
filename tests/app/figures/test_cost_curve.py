"""Figure of a cost curve: law, interval band, runs and plan are drawn and named in the legend."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from isoplan.app.figures.plans.cost_curve import draw
from isoplan.app.figures.style.theme import DARK, WEB, Theme, paper
from isoplan.engine.planning.drawing.cost_curve import Mark, cost_curve
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.schema import Runs
from tests.app.figures.conftest import MakeFit


@pytest.mark.parametrize("theme", [WEB, DARK, paper(85)])
def test_every_part_is_named_in_the_legend(make_fit: MakeFit, runs: Runs, theme: Theme) -> None:
    fit = make_fit()
    drawing = draw(cost_curve(fit, plan_budget(fit, 1e20), runs=runs), theme)
    named = {trace.name for trace in drawing.figure.data if trace.showlegend}
    assert named == {"law", "68 % interval", "runs", "extrapolated", "plan"}
    dots = next(trace for trace in drawing.figure.data if trace.name == "runs")
    assert len(dots.x) == len(runs)
    assert dots.text[0] == "run 0"
    assert "54 runs" in drawing.alt
    assert "10²⁰ FLOPs" in drawing.alt
    assert list(drawing.data.columns) == ["compute", "loss", "low68", "high68", "inside"]


@pytest.mark.parametrize(("spread", "height"), [(1.5, 3.0), (50.0, math.log10(3.0))])
def test_the_target_has_a_label_on_a_linear_and_on_a_logarithmic_axis(
    make_fit: MakeFit, spread: float, height: float
) -> None:
    curve = cost_curve(make_fit())
    value = np.geomspace(2.5 * spread, 2.5, curve.x.size)
    drawing = draw(replace(curve, value=value, low68=value, high68=value, goal=3.0))
    label = next(note for note in drawing.figure.layout.annotations if note.text == "target 3")
    assert label.y == pytest.approx(height)
    low, high = drawing.figure.layout.yaxis.range
    assert low < label.y < high


def test_without_runs_and_plan_only_the_law_is_drawn(make_fit: MakeFit) -> None:
    drawing = draw(cost_curve(make_fit(draws=0)))
    assert {t.name for t in drawing.figure.data} == {"law", "extrapolated"}


def test_a_figure_that_compares_points_names_only_these_in_the_legend(make_fit: MakeFit, runs: Runs) -> None:
    fit = make_fit()
    curve = cost_curve(fit, plan_budget(fit, 1e20), runs=runs)
    drawing = draw(replace(curve, others=(("twice the model", Mark(1e20, 2.6)), ("ten times more", Mark(1e21, 2.4)))))
    shown = [trace.name for trace in drawing.figure.data if trace.showlegend is not False]
    assert shown == ["plan", "twice the model", "ten times more"]
    assert {"law", "runs"} <= {trace.name for trace in drawing.figure.data}
