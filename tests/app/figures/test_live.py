"""Figure of loss curves during training: colours, end points, and fixed axes.

If there are many curves, each is drawn with fewer points.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoplan.app.figures.style.palette import COMPUTE, PLAN
from isoplan.app.figures.style.theme import DARK, WEB, Theme
from isoplan.app.figures.training.curves import MOST, Curve, Ends, draw_live
from tests.app.figures.conftest import texts, traces


def curve(name: str, shade: float = math.nan, points: int = 4, ends: Ends = "") -> Curve:
    x = np.geomspace(256, 65536, points)
    return Curve(name, f"width {name}", x, 2 * x**-0.3, shade, ends)


@pytest.mark.parametrize("theme", [WEB, DARK], ids=lambda t: t.name)
def test_a_curve_has_the_colour_of_its_compute_and_names_its_cell(theme: Theme) -> None:
    drawing = draw_live([curve("8", 1e9), curve("16", 1e12, ends="running")], theme=theme)
    small, large = drawing.figure.data[:2]
    assert (small.line.color, large.line.color) == (COMPUTE[0], COMPUTE[-1])
    assert small.hovertemplate.startswith("width 8<br>")
    assert np.asarray(small.x) == pytest.approx(np.geomspace(256, 65536, 4))
    (dot,) = traces(drawing, name="running")
    assert (list(dot.x), list(dot.text)) == ([pytest.approx(65536)], ["width 16, running"])
    (bar,) = traces(drawing, name="scale")
    assert (bar.marker.cmin, bar.marker.cmax) == (9, 12)
    assert bar.marker.colorbar.title.text == "Compute of the cell [FLOPs]"
    assert drawing.alt == "2 curves of loss against D, 1 running."


@pytest.mark.parametrize(("by", "text"), [("N", "Size N of the model"), ("D", "Samples of the cell")])
def test_curves_are_coloured_by_size_or_samples_on_request(by: str, text: str) -> None:
    drawing = draw_live([curve("8", 1e3), curve("16", 1e5)], by=by)
    (bar,) = traces(drawing, name="scale")
    assert (bar.marker.cmin, bar.marker.cmax) == (3, 5)
    assert bar.marker.colorbar.title.text == text


def test_a_failed_curve_ends_in_a_cross_and_gaps_are_left_out() -> None:
    broken = Curve("a", "width 8", np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, np.nan]), ends="failed")
    (cross,) = traces(draw_live([broken], x="step"), name="failed")
    assert (list(cross.x), list(cross.y)) == ([2.0], [0.5])
    assert (cross.marker.symbol, cross.marker.color) == ("x", PLAN)


def test_axes_and_colours_stay_while_curves_grow() -> None:
    whole, begun = curve("8", 1e9, 40), curve("8", 1e9, 40)
    begun = Curve("8", begun.label, begun.x[:20], begun.y[:20], begun.shade, "running")
    early, late = (draw_live([c], "D", "loss", 65536, (1e8, 1e10)) for c in (begun, whole))
    assert early.figure.layout.xaxis.range == late.figure.layout.xaxis.range
    assert [10**x for x in late.figure.layout.xaxis.range] == pytest.approx([200, 1e5])
    assert early.figure.data[0].line.color == late.figure.data[0].line.color
    assert early.figure.layout.height == late.figure.layout.height == draw_live([]).figure.layout.height


def test_of_very_many_cells_so_many_are_drawn_with_fewer_points_and_their_ends() -> None:
    drawing = draw_live([curve(str(i), 1e9, 900) for i in range(MOST)], begun=MOST + 50)
    assert f"{MOST} of {MOST + 50} cells drawn" in texts(drawing)
    lines = [trace for trace in drawing.figure.data if trace.mode == "lines"]
    assert len(lines) == MOST
    assert len(lines[0].x) <= 50
    assert (lines[0].x[0], lines[0].x[-1]) == (pytest.approx(256), pytest.approx(65536))


def test_without_a_curve_the_figure_says_when_there_will_be_one() -> None:
    assert "when the cells report progress" in texts(draw_live([], end=65536))
    assert len(draw_live([]).data) == 0


def test_a_loss_below_zero_stands_on_a_linear_axis() -> None:
    falling = Curve("a", "a", np.array([1.0, 10.0]), np.array([1.0, -2.0]))
    assert draw_live([falling]).figure.layout.yaxis.type is None
