"""Figure of a cost curve: the law, its interval band, the runs and the plan are drawn and named in the legend."""

from __future__ import annotations

import pytest

from isoplan.app.figures.plans.cost_curve import draw
from isoplan.app.figures.style.theme import DARK, WEB, Theme, paper
from isoplan.engine.planning.drawing.cost_curve import cost_curve
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


def test_without_runs_and_plan_only_the_law_is_drawn(make_fit: MakeFit) -> None:
    drawing = draw(cost_curve(make_fit(draws=0)))
    assert {t.name for t in drawing.figure.data} == {"law", "extrapolated"}
