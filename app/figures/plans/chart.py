"""Figure of a ``Chart``, which is part of the answer of a planner question."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, keys, lines
from isoplan.app.figures.style import axes
from isoplan.app.figures.style.palette import ACCENT, CATEGORIES, GREY, PARTS, PLAN, tints
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.questions.chart import Area, Axis, Chart, Curve, Label, Marker, Points, Shade

HEIGHT, TALLER = 420, 1.25
"""Height of a chart in pixels, and the factor for a chart with points or with a legend above a small plot."""
CROWDED = 1.3
"""Value of ``Theme.crowding`` above which labels marked as spare are left out."""
DISC = 1.55
"""Diameter of a point with a number inside, divided by the font size of the number."""
DEEP = 0.8
"""If the value of a point is above this fraction of the largest value, the number on the point is white. Such a point
is dark, so a dark number on it would be hard to read.
"""
ROOMY = 600
"""If a group has more points than this, its points are drawn smaller, so that they do not overlap."""
FORBIDDEN = 0.22
"""Opacity of the grey over the part of the x axis that limits exclude."""
REGION = 0.07
"""Opacity of the colour over a part of the x axis that has a title."""
COLOURS = {"law": ACCENT, "second": CATEGORIES[2], **PARTS}


def draw_chart(chart: Chart, theme: Theme = WEB) -> Drawing:
    """Draw the areas of ``chart``, then its lines with bands, then its points, and then its markers.

    The figure also contains labels, vertical lines, and shades with notes.
    """
    traces: list[Part] = [lines.area(*_outline(area), COLOURS[area.colour], 0.35) for area in chart.areas]
    for curve in chart.curves:
        traces += _curve(theme, curve)
    traces += _points(theme, chart.points)
    traces += [_marker(theme, marker) for marker in chart.markers]
    traces += [keys.star(theme, marker.key) for marker in chart.markers if marker.key]
    shapes, notes = _outside(theme, chart)
    for shade in chart.shades:
        colour, opacity = (COLOURS[shade.colour], REGION) if shade.colour else (GREY, FORBIDDEN)
        shapes.append(lines.upright(shade.low, shade.high, colour, opacity))
        notes += [_in_shade(theme, chart.x, shade)] if shade.text else []
    small = theme.crowding > CROWDED
    notes += [_label(theme, chart, label) for label in chart.labels if not (label.spare and small)]
    notes += [note for area in chart.areas for note in _name(theme, chart, area)]
    for x, text, rest in chart.uprights:
        line = {"color": GREY, "width": theme.line(1.4), "dash": "dot"}
        shapes.append({"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line})
        notes.append(_beside(theme, chart, x, text if small else text + rest))
    named = [(curve.key, COLOURS[curve.colour]) for curve in chart.curves if curve.key]
    above = bool(named) and small
    if named:  # the note is in the lower right corner, or above the plot if the plot is small
        place: Part = {"y": 1, "yshift": 4, "xshift": 0} if above else {"x": 1, "xanchor": "right", "xshift": -14}
        notes.append(lines.note(theme, lines.keyed(*named, between="<br>"), **place))
    figure = compose(
        theme, HEIGHT * (TALLER if above or chart.points else 1), chart.name, traces, shapes, notes,
        xaxis=_axis(theme, chart.x), yaxis=_axis(theme, chart.y), margin={"t": 44} if above else {},
    )  # fmt: skip
    return Drawing(figure, chart.alt, chart.name, lambda: pd.DataFrame(dict(chart.columns)))


def _axis(theme: Theme, axis: Axis) -> Part:
    label = f"{axis.label} [{axis.unit}]" if axis.unit else axis.label
    if axis.log:
        marks = {"tickvals": list(axis.ticks), "ticktext": [f"{x:g}" for x in axis.ticks], "minor": {"ticks": ""}}
        return axes.log_axis(theme, label, axis.low, axis.high, **(marks if axis.ticks else {}))
    extra: Part = {"rangemode": "tozero"} if axis.low == 0 else {}
    if axis.share:
        zero = {"zeroline": True, "zerolinecolor": GREY, "zerolinewidth": theme.line(1)}
        extra |= {"tickformat": "+.0%", **zero}
    extra |= {"exponentformat": "B"} if axis.short else {}  # labels such as 1.5M or 2B
    return axes.axis(theme, label, range=[axis.low, axis.high], **extra)


def _along(axis: Axis, x: float) -> float:
    """Return ``x`` in the units of Plotly's annotations: log10 of ``x`` on a log axis."""
    return math.log10(x) if axis.log else x


def _outline(area: Area) -> tuple[Floats, Floats]:
    return np.r_[area.x, area.x[::-1]], np.r_[area.low, area.high[::-1]]


def _curve(theme: Theme, curve: Curve) -> list[Part]:
    band = lines.band(curve.x, *curve.band, COLOURS[curve.colour]) if curve.band is not None else []
    words: Part = {"text": list(curve.texts)} if curve.texts else {}
    words |= {"hovertemplate": curve.hover} if curve.hover else {}
    words |= {"name": curve.name} if curve.name else {}
    colour = theme.text if curve.colour == "text" else COLOURS[curve.colour]
    return [*band, *lines.law(theme, curve.x, curve.y, curve.within & curve.seen, colour, curve.width, **words)]


def _points(theme: Theme, groups: Sequence[Points]) -> list[Part]:
    """Return the points, their legend entries, and one colour scale for all points with values."""
    known = [group for group in groups if group.values is not None and len(group.values)]
    top = max((float(np.max(group.values)) for group in known if group.values is not None), default=0.0)
    scale = {"colorscale": tints(ACCENT), "cmin": 0.0, "cmax": top or 1.0}
    parts = []
    for group in groups:
        bar = {"colorbar": dots.colour_bar(theme, group.title), "showscale": True} if group in known[:1] else {}
        parts += _group(theme, group, scale | bar)
    return parts


def _group(theme: Theme, group: Points, scale: Part) -> list[Part]:
    """Return one group of points and its legend entry. ``scale`` contains the marker properties of the colours."""
    look, words = dots.faint(theme) | {"size": theme.marker(5)}, Part()
    if group.values is not None:
        look = {
            "size": theme.marker(9 * min(1.0, (ROOMY / max(len(group.x), 1)) ** 0.5)),
            "color": ACCENT,
            "line": {"width": 0},
        }
    if group.numbers:
        known = np.zeros(len(group.x)) if group.values is None else group.values
        inks = ["#ffffff" if value > DEEP * scale["cmax"] else theme.text for value in known]
        font: Part = {"size": theme.small - 1, "weight": "bold", "color": inks}
        look |= {"size": DISC * font["size"], "line": {"color": PLAN, "width": theme.line(2)}}
        words = {"text": list(group.numbers), "textposition": "middle center", "textfont": font}
    at = np.arange(len(group.x)) if group.values is not None else dots.chosen(len(group.x), dots.MOST_DOTS)
    drawn = {
        "type": "scattergl" if len(at) > dots.WEBGL_ABOVE else "scatter",
        "mode": "markers+text" if words else "markers",
        "name": group.key,
        "x": lines.pack(group.x[at]),
        "y": lines.pack(group.y[at]),
        "marker": look if group.values is None else look | scale | {"color": lines.pack(group.values)},
        "customdata": [group.texts[i] for i in at],
        "hovertemplate": group.hover + "<extra></extra>",
        **words,
    }
    return [drawn, *([keys.mark(group.key, look)] if group.key else [])]


def _marker(theme: Theme, at: Marker) -> Part:
    """Return a marker: the answer as a star with its 68 % intervals, or another point as a ring."""
    if at.ring:
        look = {"symbol": "circle-open", "size": theme.marker(12), "color": PLAN, "line": {"width": theme.line(2.4)}}
        return {"type": "scatter", "mode": "markers", "x": [at.x], "y": [at.y], "marker": look, "name": at.ring,
                "hovertemplate": at.hover + "<extra></extra>"}  # fmt: skip
    errors: Part = {}
    for key, middle, ends in (("error_x", at.x, at.x68), ("error_y", at.y, at.y68)):
        if ends is not None and all(map(math.isfinite, ends)):
            away = {"array": [max(ends[1] - middle, 0.0)], "arrayminus": [max(middle - ends[0], 0.0)]}
            bar = {"type": "data", "symmetric": False, "color": PLAN, "thickness": theme.line(1.6), "width": 4}
            errors[key] = bar | away
    return lines.star(theme, at.x, at.y, at.hover, **errors)


def _label(theme: Theme, chart: Chart, label: Label) -> Part:
    side: Part = {"xanchor": "right", "xshift": -8} if label.left else {"xanchor": "left", "xshift": 8}
    place = {"xref": "x", "yref": "y", "x": _along(chart.x, label.x), "y": _along(chart.y, label.y)}
    side |= {"yanchor": "top", "yshift": -4} if label.below else {"yanchor": "bottom"}
    return lines.note(theme, label.text, **place, **side)


def _in_shade(theme: Theme, axis: Axis, shade: Shade) -> Part:
    """Return the text of a shade: at the right end of a grey shade, or in the middle of a coloured shade."""
    place: Part = {"xref": "x", "y": 1, "yanchor": "top"}
    if shade.colour is None:
        return lines.note(theme, shade.text, **place, x=_along(axis, shade.high))
    middle = (_along(axis, shade.low) + _along(axis, shade.high)) / 2
    return lines.note(theme, shade.text, **place, x=middle, xanchor="center", xshift=0, yshift=-4)


def _name(theme: Theme, chart: Chart, area: Area) -> list[Part]:
    """Return the name of an area as a label at the tallest part of the area; empty if the area is too thin.

    The outer tenths of the area are not used, because a label there could extend beyond the plot.
    """
    tall = area.high - area.low
    edge = len(area.x) // 10
    i = int(np.argmax(tall[edge : len(area.x) - edge])) + edge
    if tall[i] < 0.07 * chart.y.high * theme.crowding:
        return []
    middle = float(area.low[i] + area.high[i]) / 2
    place = {"xref": "x", "yref": "y", "x": _along(chart.x, float(area.x[i])), "y": middle}
    return [lines.note(theme, area.name, **place, xanchor="center", yanchor="middle", xshift=0, yshift=0)]


def _beside(theme: Theme, chart: Chart, x: float, text: str) -> Part:
    """Return the text of the vertical line at ``x``, on the side of the line with more space."""
    right = lines.position(x, (chart.x.low, chart.x.high)) < 0.6
    side: Part = {"xanchor": "left", "xshift": 6} if right else {"xanchor": "right", "xshift": -6, "align": "right"}
    end: Part = {} if chart.top else {"y": 1, "yanchor": "top", "yshift": -4}
    return lines.note(theme, text, xref="x", x=_along(chart.x, x), **end, **side)


def _outside(theme: Theme, chart: Chart) -> tuple[list[Part], list[Part]]:
    """Return two kinds of grey shades, and a note for each kind.

    The first kind covers the x values that limits exclude. The second kind covers the x values beyond the runs. Both
    are determined from the first curve.
    """
    if not chart.curves:
        return [], []
    curve, top = chart.curves[0], chart.top
    shapes, notes = _disallowed(theme, curve.x, curve.within, top)
    shades, remarks = lines.beyond(theme, curve.x, curve.seen, top)
    # If both notes are at the same edge of the plot, the second note is moved by one line.
    lower = 1.6 * theme.small if notes and top == (notes[0]["yanchor"] == "top") else 0.0
    moved = [one | {"yshift": one["yshift"] + (-lower if top else lower)} for one in remarks]
    return [*shapes, *shades], [*notes, *moved]


def _disallowed(theme: Theme, x: Floats, within: Bools, top: bool) -> tuple[list[Part], list[Part]]:
    """Return grey shades over the values of ``x`` that limits exclude, and the note "beyond the limits"."""
    allowed = x[within]
    if not allowed.size or within.all():
        return [], []
    parts = [(float(low), float(high)) for low, high in ((x[0], allowed[0]), (allowed[-1], x[-1])) if high > low]
    place: Part = {}
    if parts[-1][1] != x[-1]:
        place, top = {"x": 0, "xanchor": "left", "xshift": 6, "align": "left"}, False
    words = lines.corner(theme, "beyond the limits", top=top, **place)
    return [lines.upright(*part, GREY, lines.BEYOND) for part in parts], [words]
