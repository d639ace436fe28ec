"""Figure of a law over a column that the user chose: the axis, runs at zero, and the optimum with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoplan.app.figures.fits import slices
from isoplan.app.figures.style.theme import Drawing
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.drawing.sections import AxisCurve, one_axis_curve
from isoplan.engine.schema import Metric, Runs
from tests.engine.fitting.tables import make_runs

SHARE = np.geomspace(0.005, 0.5, 12)
NOISE = 1 + 0.002 * np.sin(5 * np.arange(12))


def starved(first: float, **spec: Any) -> tuple[AxisCurve, Runs]:
    y = (2 + 1.5 * SHARE**0.8 + 0.02 * SHARE**-0.6) * NOISE
    runs = make_runs({"share": np.r_[first, SHARE[1:]], "loss": y})
    made = fit(FitSpec(law="starvation", axis="share", objective="ols-log", bootstrap=60, **spec), runs)
    return one_axis_curve(made), runs


def trace(drawing: Drawing, name: str) -> Any:
    return next(t for t in drawing.figure.data if t.name == name)


def test_the_optimum_is_a_star_with_its_interval() -> None:
    curve, runs = starved(SHARE[0])
    drawing = slices.draw_line(curve, runs)
    star = trace(drawing, "optimum")
    expected = (0.02 * 0.6 / (1.5 * 0.8)) ** (1 / 1.4)
    assert star.x[0] == pytest.approx(expected, rel=0.1)
    assert star.y[0] == pytest.approx(2 + 1.5 * expected**0.8 + 0.02 * expected**-0.6, rel=0.01)
    assert curve.best is not None
    ends = curve.best.x.ci68
    assert ends is not None
    tinted = [(s.x0, s.x1) for s in drawing.figure.layout.shapes if s.type == "rect" and s.x0 is not None]
    assert any(t == pytest.approx(ends) for t in tinted)
    (said,) = [str(n.text) for n in drawing.figure.layout.annotations if "best share" in str(n.text)]
    assert said.startswith(f"best share {star.x[0]:.2g} (68 %: ")
    assert said.endswith("<br>inside the sweep")
    assert not any("floor" in str(n.text) for n in drawing.figure.layout.annotations)
    assert drawing.figure.layout.xaxis.type == "log"
    assert "best share is inside the sweep" in drawing.alt


def test_runs_at_zero_stand_at_the_margin_with_a_label_or_where_they_are_fitted() -> None:
    curve, runs = starved(0.0)
    drawing = slices.draw_line(curve, runs)
    at = float(trace(drawing, "runs").x[0])
    assert curve.x[0] < at < SHARE[1]
    assert any(t.mode == "text" and "share = 0, not fitted" in t.text[0] for t in drawing.figure.data)
    curve, runs = starved(0.0, realised=0.005)
    drawing = slices.draw_line(curve, runs)
    assert float(trace(drawing, "runs").x[0]) == pytest.approx(0.005)
    assert not any(t.mode == "text" for t in drawing.figure.data)


def test_a_map_is_drawn_over_a_linear_axis_without_a_floor() -> None:
    loss = np.linspace(0.5, 1.2, 12)
    metric = Metric(column="R", direction="max")
    runs = make_runs({"loss": loss, "R": (5e4 * np.exp(-7 * loss) + 12) * NOISE}, metrics=(metric,))
    made = fit(FitSpec(law="metric-map", axis="loss", y="R", objective="ols-log", bootstrap=30), runs)
    curve = one_axis_curve(made)
    drawing = slices.draw_line(curve, runs, "R")
    assert drawing.figure.layout.xaxis.type != "log"
    assert tuple(drawing.figure.layout.xaxis.range) == pytest.approx((0.5 - 0.7 / 6, 1.2 + 0.7 / 6))
    assert curve.floor is None
    assert curve.best is None
    assert (np.diff(curve.loss) < 0).all()
    assert curve.inside.sum() == np.sum((curve.x >= 0.5) & (curve.x <= 1.2))
