"""Figures of amplitude surrogates: pulls beside a Gaussian, intrinsic dimensions beside the phase-space dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from isoplan.app.figures.amplitudes import intrinsic
from isoplan.app.figures.amplitudes.intrinsic import Estimate, Measured, Pulls
from isoplan.app.figures.style.palette import GREY
from isoplan.app.figures.style.theme import DARK, PAPER, WEB, Theme
from tests.app.figures.conftest import texts, traces

THEMES = [WEB, DARK, PAPER]
EDGES = np.linspace(-6, 6, 61)
GAUSSIAN = 1000 * np.diff(ndtr(EDGES))


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_pulls_are_a_density_beside_that_of_the_unit_gaussian(theme: Theme) -> None:
    """The density of pulls with standard deviation 2 has half the peak of the unit Gaussian.

    0.27 % of these pulls are below -6 or above 6. They belong to the outermost bars.
    """
    wide = np.diff(np.r_[0, ndtr(EDGES[1:-1] / 2), 1])
    drawing = intrinsic.draw_pulls(Pulls(EDGES, 500 * wide, GAUSSIAN), theme)
    (bars,), (line,) = traces(drawing, name="pulls"), traces(drawing, name="unit Gaussian")
    assert np.sum(np.asarray(bars.y) * 0.2) == pytest.approx(1)
    assert max(line.y) == pytest.approx(1 / np.sqrt(2 * np.pi), rel=0.01)
    assert bars.y[30] == pytest.approx(line.y[30] / 2, rel=0.01)
    assert list(bars.x[:2]) == pytest.approx([-5.9, -5.7])
    beyond = 200 * ndtr(-2.9)
    assert f"{beyond:.2g} % in the outermost bars" in texts(drawing)
    assert drawing.alt == (
        "Histogram of pulls compared with the unit Gaussian. Its peak is 0.5 times as high as that of the Gaussian. "
        f"Its outermost bars include pulls beyond 6 and contain {beyond:.2g} % of the points."
    )
    assert list(drawing.data.columns) == ["low", "high", "points", "density", "gaussian"]
    assert drawing.data["points"].sum() == pytest.approx(500)


@pytest.mark.parametrize(("target", "learned"), [("log", "log <i>A</i>"), ("raw", "<i>A</i>")])
def test_the_axis_of_the_pulls_says_what_was_learned(target: str, learned: str) -> None:
    drawing = intrinsic.draw_pulls(Pulls(EDGES, GAUSSIAN, GAUSSIAN, target))
    title = drawing.figure.layout.xaxis.title.text
    assert title == f"Pull <i>t</i> = ({learned}<sub>NN</sub> − {learned}) / <i>σ</i>"


def test_pulls_without_tails_have_no_remark() -> None:
    drawing = intrinsic.draw_pulls(Pulls(EDGES, GAUSSIAN, GAUSSIAN))
    assert texts(drawing) == ""
    assert list(drawing.data["density"]) == pytest.approx(list(drawing.data["gaussian"]))


FOUND = [
    Measured("ttH", "points 100", 1e4, 100, Estimate(4.2, 0.1), Estimate(4.6, 0.2), 5),
    Measured("ttH", "points 1,000", 1e4, 1000, Estimate(4.7, 0.05), Estimate(4.7, 0.1), 5),
    Measured("Zg", "points 100", 9e3, 100, Estimate(2.0), None, 2),
    Measured("<i>.npz", "points 100", 9e3, 100, Estimate(4.9), None, 5),
]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
def test_dimensions_have_spreads_and_a_line_for_each_phase_space(theme: Theme) -> None:
    drawing = intrinsic.draw_dimensions(FOUND, "D", theme)
    (layer,), (inputs,) = traces(drawing, name="ttH"), traces(drawing, name="ttH, inputs")
    assert (list(layer.x), list(layer.y), list(layer.error_y.array)) == ([100, 1000], [4.2, 4.7], [0.1, 0.05])
    assert layer.text[1] == "points 1,000<br>4.7 ± 0.05"
    assert (list(inputs.y), inputs.marker.symbol, list(inputs.error_y.array)) == ([4.6, 4.7], "circle-open", [0.2, 0.1])
    assert 100 < inputs.x[0] < 110
    assert inputs.marker.color == layer.marker.color
    assert not traces(drawing, name="Zg, inputs")
    assert traces(drawing, name="&lt;i&gt;.npz")
    lines = {shape.y0: shape.line.color for shape in drawing.figure.layout.shapes}
    (zg,) = traces(drawing, name="Zg")
    assert lines == {5: GREY, 2: zg.marker.color}
    assert texts(drawing) == "<i>d</i> = 5 <i>d</i> = 2"
    assert drawing.figure.layout.yaxis.range[1] > 5
    assert "ttH 4.7 (d = 5); Zg 2 (d = 2); <i>.npz 4.9 (d = 5)." in drawing.alt


def test_dimensions_against_the_size_and_of_one_size_alone() -> None:
    drawing = intrinsic.draw_dimensions(FOUND[:2], "N")
    (layer,) = traces(drawing, name="ttH")
    assert list(layer.x) == [1e4, 1e4]
    assert drawing.figure.layout.xaxis.title.text == "Model size <i>N</i> [parameters]"
    low, high = drawing.figure.layout.xaxis.range
    assert low < 4 < high
    assert list(drawing.data["dimension"]) == [4.2, 4.7]
    unknown = intrinsic.draw_dimensions([Measured("mine.npz", "a", 1e3, 50, Estimate(3.0))])
    assert not unknown.figure.layout.shapes
    assert unknown.alt == "Intrinsic dimension of the last hidden layer against D. At the largest D: mine.npz 3."
