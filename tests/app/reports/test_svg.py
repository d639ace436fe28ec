"""Tests of printed figures: positions of points on all kinds of axes, texts with tags, and unsupported traces."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import plotly.graph_objects as go
import pytest

from isoplan.app.figures.style.axes import axis, log_axis
from isoplan.app.figures.style.theme import Part, compose, paper
from isoplan.app.reports.svg_figure import draw_svg
from isoplan.app.reports.svg_text import read_lines

THEME = paper(172, 9)


def figure(*traces: Part, shapes: tuple[Part, ...] = (), notes: tuple[Part, ...] = (), **axes: Part) -> go.Figure:
    axes = {"xaxis": log_axis(THEME, "x", 1.0, 100.0), "yaxis": axis(THEME, "y", range=[0, 10])} | axes
    return compose(THEME, 400, "test", traces, shapes, notes, **axes)


def dots(x: list[float], y: list[float], **marker: object) -> Part:
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": {"size": 6, "color": "#123456", **marker}}


def places(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)]


def plot(svg: str) -> tuple[float, float, float, float]:
    """Return the left edge, top edge, width and height of the plot area in pixels."""
    found = re.search(
        r'<clipPath id="clip-x-y"><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg
    )
    assert found is not None
    left, top, width, high = map(float, found.groups())
    return left, top, width, high


def test_points_are_in_their_places() -> None:
    svg = draw_svg(figure(dots([1, 10, 100, -1], [0, 5, 10, 5])))
    left, top, width, high = plot(svg)
    middle = (left + width / 2, top + high / 2)
    expected = [left, top + high, *middle, left + width, top]
    assert [x for place in places(svg) for x in place] == pytest.approx(expected, abs=0.01)


def test_a_reversed_axis_has_ticks_in_reverse() -> None:
    svg = draw_svg(figure(dots([10], [5]), yaxis=axis(THEME, "y", range=[10, 0])))
    labels = {text: float(y) for y, text in re.findall(r'y="([\d.]+)"[^>]*text-anchor="end"[^>]*><tspan>(\d+)<', svg)}
    assert list(labels) == ["0", "2", "4", "6", "8", "10"]
    assert labels["0"] < labels["10"], "0 is at the top"


def test_notes_shapes_and_error_bars_use_the_axes() -> None:
    note = {"text": "here", "x": 1.0, "y": 5, "xref": "x", "yref": "y", "showarrow": False, "xanchor": "left",
            "yanchor": "bottom"}  # fmt: skip
    shape = {"type": "rect", "x0": 10, "x1": 100, "y0": 0, "y1": 1, "yref": "y domain", "fillcolor": "#abcdef"}
    bar = {"error_y": {"type": "data", "array": [2], "arrayminus": [1], "color": "#fedcba", "thickness": 1}}
    svg = draw_svg(figure(dots([10], [5]) | bar, shapes=(shape,), notes=(note,)))
    left, top, width, high = plot(svg)
    rect = re.search(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="([\d.]+)" fill="#abcdef"', svg)
    assert rect is not None
    assert [float(x) for x in rect.groups()] == pytest.approx([left + width / 2, width / 2, high], abs=0.02)
    text = re.search(r'<text x="([\d.]+)"[^>]*><tspan>here<', svg)
    assert text is not None
    assert float(text[1]) == pytest.approx(left + width / 2, abs=0.01), "the x of a note on a log axis is a logarithm"
    line = re.search(r'y1="([\d.]+)" x2="[\d.]+" y2="([\d.]+)" stroke="#fedcba"', svg)
    assert line is not None
    ends = [top + high * (1 - share) for share in (0.4, 0.7)]
    assert [float(y) for y in line.groups()] == pytest.approx(ends, abs=0.01)


def test_texts_are_escaped_and_the_drawing_is_xml() -> None:
    note = {"text": "a &lt;script&gt; 10<sup>5</sup> <i>N</i><br>b \x00 & c", "x": 0, "y": 0, "xref": "paper"}
    svg = draw_svg(figure(dots([1], [1], symbol="star"), dots([2], [2], symbol="x"), notes=(note,)))
    tree = ElementTree.fromstring(svg)
    texts = ["".join(one.itertext()) for one in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "a <script> 105 N" in texts
    assert "b   & c" in texts
    assert not list(tree.iter("{http://www.w3.org/2000/svg}script"))
    assert [run.raised for run in read_lines("10<sup>5</sup>x<sub>a</sub>")[0]] == [0, 1, 0, -1]


def test_a_colour_scale_has_its_bar_and_another_trace_is_refused() -> None:
    bar = {"title": {"text": "loss"}, "tickvals": [0.5], "ticktext": ["half"]}
    scaled = {"color": [0.0, 1.0], "cmin": 0.0, "cmax": 1.0, "colorscale": [[0, "#000001"], [1, "#000002"]],
              "showscale": True, "colorbar": bar}  # fmt: skip
    svg = draw_svg(figure(dots([1, 2], [1, 2]) | {"marker": {"size": 6, **scaled}}))
    assert svg.count("#000001") == svg.count("#000002") == 2
    assert ">half<" in svg
    assert ">loss<" in svg
    with pytest.raises(ValueError, match="heatmap is not drawn"):
        draw_svg(figure({"type": "heatmap", "z": [[1]]}))
