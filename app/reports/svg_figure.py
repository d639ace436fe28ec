"""Conversion of Plotly figures to SVG for printed reports.

Plotly itself needs a browser to draw, but a report is written without a browser. This module draws the elements that
figures of Isoplan use: lines, areas, dots, error bars, shapes, notes and axes. ``draw_svg`` raises ValueError for a
trace of any other kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from isoplan.app.figures.style.axes import tick_text
from isoplan.app.reports.svg_axes import Part, Scale, dashes, draw_axis, draw_line, read_scales, read_values
from isoplan.app.reports.svg_text import LEADING, draw_text, width_of
from isoplan.engine.arrays import Floats

FONT = "Libertinus Serif"
"""Font of printed figures. The typst package contains this font, so no system font is needed."""
MARKERS = {
    "star": [(math.pi * k / 5, 1.0 if k % 2 == 0 else 0.4) for k in range(10)],
    "diamond": [(math.pi * k / 2, 1.0) for k in range(4)],
    "square": [(math.pi * (2 * k + 1) / 4, 1.25) for k in range(4)],
    "triangle-up": [(2 * math.pi * k / 3, 1.15) for k in range(3)],
}
"""Corners of each marker shape as (angle from the top in radians, distance from the centre in marker radii)."""


def draw_svg(figure: go.Figure) -> str:
    """Return ``figure`` as SVG. The layout of the figure must have a width and a height.

    Raises ValueError for an unsupported trace.
    """
    whole = figure.to_plotly_json()
    layout, traces = whole["layout"], whole["data"]
    width, height = float(layout["width"]), float(layout["height"])
    scales = read_scales(layout, traces, width, height)
    size = float(layout["font"]["size"])
    ink = layout["font"].get("color", "#000000")
    shapes = layout.get("shapes", ())
    body = [draw_axis(scales, name, size, ink) for name in scales]
    body += [_shape(scales, one) for one in shapes if one.get("layer") == "below"]
    body += [_trace(scales, one, size, ink) for one in traces]
    body += [_shape(scales, one) for one in shapes if one.get("layer") != "below"]
    body += [_note(scales, one, size, ink) for one in layout.get("annotations", ())]
    body += [_colours(one, scales, size, ink) for one in traces]
    body += [_legend(layout, traces, scales, size, ink)] if layout.get("showlegend") else []
    plots = "".join(
        f'<clipPath id="{name}"><rect x="{min(x.start, x.end):.2f}" y="{min(y.start, y.end):.2f}" '
        f'width="{abs(x.end - x.start):.2f}" height="{abs(y.end - y.start):.2f}"/></clipPath>'
        for name, x, y in _plots(scales)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}"><defs>{plots}</defs>{"".join(body)}</svg>'
    )


def _plots(scales: Mapping[str, Scale]) -> Iterator[tuple[str, Scale, Scale]]:
    """Yield the name, the x scale and the y scale of each plot of the figure."""
    for name, x in scales.items():
        if name.startswith("x"):
            y = str(x.part.get("anchor") or f"y{name[1:]}")
            for other in scales:
                if other == y or (other.startswith("y") and scales[other].part.get("anchor") == name):
                    yield f"clip-{name}-{other}", x, scales[other]


def _of(scales: Mapping[str, Scale], ref: str, value: Any, raw: bool = True) -> float:
    """Return the position in pixels of ``value``, a coordinate of a shape or note.

    ``ref`` states whether ``value`` is a value on an axis or a fraction of an axis. ``raw`` is False if a value on a
    log axis is given as its log10.
    """
    if ref == "paper":
        ref = "x domain"
    name, _, domain = ref.partition(" ")
    scale = scales[name]
    if domain:
        return scale.along(float(value))
    if not raw:
        return scale.along((float(value) - scale.low) / (scale.high - scale.low))
    return float(scale.at(float(value)))


def _shape(scales: Mapping[str, Scale], one: Part) -> str:
    refs = str(one.get("xref") or "x"), str(one.get("yref") or "y")
    x, y = ([_of(scales, ref, one[f"{axis}{i}"]) for i in (0, 1)] for axis, ref in zip("xy", refs, strict=True))
    line = one.get("line") or {}
    width, colour = float(line.get("width", 1)), line.get("color") or "none"
    opacity = f' opacity="{one["opacity"]}"' if one.get("opacity") is not None else ""
    if one["type"] == "line":
        return f"<g{opacity}>{draw_line(x[0], y[0], x[1], y[1], colour, width, line.get('dash', ''))}</g>"
    edge = f' stroke="{colour}" stroke-width="{width:.2f}"' if width else ""
    return (
        f'<rect x="{min(x):.2f}" y="{min(y):.2f}" width="{abs(x[1] - x[0]):.2f}" height="{abs(y[1] - y[0]):.2f}" '
        f'fill="{one.get("fillcolor") or "none"}"{opacity}{edge}/>'
    )


def _note(scales: Mapping[str, Scale], one: Part, size: float, ink: str) -> str:
    x = _of(scales, str(one.get("xref") or "x"), one["x"], raw=False) + float(one.get("xshift") or 0)
    yref = str(one.get("yref") or "y")
    y = _of(scales, "y domain" if yref == "paper" else yref, one["y"], raw=False) - float(one.get("yshift") or 0)
    font = one.get("font") or {}
    across, along = str(one.get("xanchor") or "center"), str(one.get("yanchor") or "middle")
    across, along = across.replace("auto", "center"), along.replace("auto", "middle")
    colour, turn = font.get("color") or ink, float(one.get("textangle") or 0)
    return draw_text(str(one["text"]), x, y, float(font.get("size") or size), colour, across, along, turn)


def _trace(scales: Mapping[str, Scale], one: Part, size: float, ink: str) -> str:
    if one["type"] not in ("scatter", "scattergl"):
        raise ValueError(f"a trace of type {one['type']} is not drawn in print")
    names = one.get("xaxis", "x"), one.get("yaxis", "y")
    sx, sy = scales[names[0]], scales[names[1]]
    x, y = sx.at(read_values(one["x"])), sy.at(read_values(one["y"]))
    mode = str(one.get("mode", "lines"))
    out = []
    if one.get("fill") == "toself":
        out.append(_path(x, y, f'fill="{one.get("fillcolor", "none")}" stroke="none"', closed=True))
    line = one.get("line") or {}
    if "lines" in mode and float(line.get("width", 2)):
        width = float(line.get("width", 2))
        style = f'fill="none" stroke="{line.get("color", ink)}" stroke-width="{width:.2f}" stroke-linejoin="round"'
        out.append(_path(x, y, style + dashes(str(line.get("dash") or ""), width)))
    for key, along in (("error_x", True), ("error_y", False)):
        if one.get(key):
            out += _bars(one, one[key], along, sx, sy)
    if "markers" in mode:
        out += _markers(one.get("marker") or {}, x, y)
    opacity = f' opacity="{one["opacity"]}"' if one.get("opacity") is not None else ""
    clip = "" if one.get("cliponaxis") is False else f' clip-path="url(#clip-{names[0]}-{names[1]})"'
    drawn = f"<g{opacity}{clip}>{''.join(out)}</g>" if out else ""
    return drawn + (_words(one, x, y, size, ink) if "text" in mode else "")


def _path(x: Floats, y: Floats, style: str, closed: bool = False) -> str:
    """Return an SVG path through the points, with a gap at each point whose x or y is not finite."""
    steps, drawing = [], False
    for a, b in zip(x, y, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            drawing = False
            continue
        a, b = min(max(a, -1e5), 1e5), min(max(b, -1e5), 1e5)
        steps.append(f"{'L' if drawing else 'M'}{a:.2f} {b:.2f}")
        drawing = True
    return f'<path d="{"".join(steps)}{"Z" if closed else ""}" {style}/>' if steps else ""


def _each(value: Any, n: int, usual: Any) -> list[Any]:
    """Return one value per point (n points): the list ``value``, or a single ``value`` repeated.

    If ``value`` is None, the default ``usual`` is repeated.
    """
    if isinstance(value, Mapping) and "bdata" in value:
        value = read_values(value).tolist()
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return list(value)
    return [usual if value is None else value] * n


def _markers(marker: Part, x: Floats, y: Floats) -> list[str]:
    n = len(x)
    line = marker.get("line") or {}
    given = {
        "size": _each(marker.get("size"), n, 6.0), "symbol": _each(marker.get("symbol"), n, "circle"),
        "edge": _each(line.get("color"), n, "none"), "width": _each(line.get("width"), n, 0.0),
        "opacity": _each(marker.get("opacity"), n, 1.0), "colour": _coloured(marker, n),
    }  # fmt: skip
    out = []
    for i in range(n):
        if math.isfinite(x[i]) and math.isfinite(y[i]):
            out.append(_marker(float(x[i]), float(y[i]), {key: values[i] for key, values in given.items()}))
    return out


def _coloured(marker: Part, n: int) -> list[str]:
    """Return the colour of each point. A number is drawn in the nearest colour of the colour scale."""
    colours = _each(marker.get("color"), n, "#000000")
    scale = marker.get("colorscale")
    if not scale or all(isinstance(c, str) for c in colours):
        return [str(c) for c in colours]
    low, high = float(marker.get("cmin", 0)), float(marker.get("cmax", 1))
    stops = [(float(at), str(colour)) for at, colour in scale]
    share = [(float(c) - low) / ((high - low) or 1) for c in colours]
    return [min(stops, key=lambda stop: abs(stop[0] - one))[1] for one in share]


def _marker(x: float, y: float, look: Part) -> str:
    symbol, radius, colour = str(look["symbol"]), float(look["size"]) / 2, look["colour"]
    opened = symbol.endswith("-open")
    edge, width = (colour, float(look["width"]) or 1.2) if opened else (look["edge"], float(look["width"]))
    style = f'fill="{"none" if opened else colour}"' + (f' stroke="{edge}" stroke-width="{width:.2f}"' if width else "")
    style += f' opacity="{look["opacity"]:g}"' if float(look["opacity"]) < 1 else ""
    name = symbol.removesuffix("-open")
    if name == "x":
        r = radius * 0.8
        both = (
            f"M{x - r:.2f} {y - r:.2f}L{x + r:.2f} {y + r:.2f}",
            f"M{x - r:.2f} {y + r:.2f}L{x + r:.2f} {y - r:.2f}",
        )
        return f'<path d="{"".join(both)}" stroke="{colour}" stroke-width="{max(width, 1.6):.2f}" fill="none"/>'
    if name not in MARKERS:
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{radius:.2f}" {style}/>'
    points = (f"{x + r * radius * math.sin(a):.2f},{y - r * radius * math.cos(a):.2f}" for a, r in MARKERS[name])
    return f'<polygon points="{" ".join(points)}" {style}/>'


def _bars(one: Part, bar: Part, along: bool, sx: Scale, sy: Scale) -> list[str]:
    """Return error bars without caps: along x if ``along`` is true, else along y."""
    x, y = read_values(one["x"]), read_values(one["y"])
    up = read_values(bar.get("array"))
    down = read_values(bar["arrayminus"]) if bar.get("arrayminus") is not None else up
    middle = x if along else y
    scale = sx if along else sy
    low, high = scale.at(middle - down), scale.at(middle + up)
    low = np.where(np.isfinite(low), low, scale.start)
    other = (sy.at(y) if along else sx.at(x)).tolist()
    colour, width = str(bar.get("color") or "#000000"), float(bar.get("thickness") or 1.2)
    ends = [(a, b, o) for a, b, o in zip(low, high, other, strict=True) if math.isfinite(b) and math.isfinite(o)]
    return [draw_line(a, o, b, o, colour, width) if along else draw_line(o, a, o, b, colour, width) for a, b, o in ends]


def _words(one: Part, x: Floats, y: Floats, size: float, ink: str) -> str:
    font = one.get("textfont") or {}
    shown = _each(one.get("text"), len(x), "")
    places = _each(one.get("textposition"), len(x), "middle center")
    colours = _each(font.get("color"), len(x), ink)
    small = float(font.get("size") or size)
    out = []
    for i, words in enumerate(shown):
        if words and math.isfinite(x[i]) and math.isfinite(y[i]):
            high, side = str(places[i]).split()
            across = {"left": "right", "right": "left"}.get(side, "center")
            along = {"top": "bottom", "bottom": "top"}.get(high, "middle")
            shift = {"left": 4.0, "right": -4.0}.get(across, 0.0)
            out.append(draw_text(str(words), float(x[i]) + shift, float(y[i]), small, str(colours[i]), across, along))
    return "".join(out)


def _colours(one: Part, scales: Mapping[str, Scale], size: float, ink: str) -> str:
    """Return the colour bar of a trace at the right of the plot; "" if the trace has no colour bar."""
    marker = one.get("marker") or {}
    if not marker.get("showscale") or not marker.get("colorscale"):
        return ""
    bar, stops = marker.get("colorbar") or {}, [str(colour) for _, colour in marker["colorscale"]]
    plot, small = scales["y"], float(((marker.get("colorbar") or {}).get("tickfont") or {}).get("size") or size)
    x, top, high = scales["x"].end + 8, plot.end, float(bar.get("len") or 1) * (plot.start - plot.end)
    step, low = high / len(stops), float(marker.get("cmin", 0))
    out = [
        f'<rect x="{x:.2f}" y="{top + high - (i + 1) * step:.2f}" width="9" height="{step + 0.3:.2f}" fill="{colour}"/>'
        for i, colour in enumerate(stops)
    ]
    span, wide = (float(marker.get("cmax", 1)) - low) or 1.0, 0.0
    given = list(bar.get("tickvals") or (low, low + span))
    named = list(bar.get("ticktext") or map(tick_text, given))
    for value, name in zip(given, named, strict=True):
        share = (float(value) - low) / span
        if -0.01 <= share <= 1.01:
            out.append(draw_text(str(name), x + 12, top + high * (1 - share), small, ink, "left", "middle"))
            wide = max(wide, width_of(str(name), small))
    title = str((bar.get("title") or {}).get("text") or "")
    out.append(draw_text(title, x + 14 + wide, top + high / 2, small, ink, "center", "top", -90))
    return "".join(out)


def _legend(layout: Part, traces: Sequence[Part], scales: Mapping[str, Scale], size: float, ink: str) -> str:
    """Return the legend, drawn above the plot in as many lines as needed."""
    small = float(((layout.get("legend") or {}).get("font") or {}).get("size") or size)
    named = [one for one in traces if one.get("showlegend") is not False and one.get("name")]
    left, right, y = scales["x"].start, scales["x"].end, scales["y"].end - 0.6 * small
    x, out = left, []
    for one in named:
        wide = width_of(str(one["name"]), small) + 3 * small
        if x + wide > right and x > left:
            x, y = left, y - LEADING * small
        marker, line = one.get("marker") or {}, one.get("line") or {}
        if "markers" in str(one.get("mode")):
            out += _markers({**marker, "size": min(float(_each(marker.get("size"), 1, 6.0)[0]), small)},
                            np.array([x + 0.6 * small]), np.array([y]))  # fmt: skip
        elif one.get("fill") == "toself":
            tint = f'fill="{one.get("fillcolor")}" opacity="{one.get("opacity") or 1}"'
            sides = f'width="{1.2 * small:.2f}" height="{0.66 * small:.2f}"'
            out.append(f'<rect x="{x:.2f}" y="{y - 0.33 * small:.2f}" {sides} {tint}/>')
        else:
            out.append(draw_line(x, y, x + 1.2 * small, y, str(line.get("color", ink)), 2, str(line.get("dash") or "")))
        out.append(draw_text(str(one["name"]), x + 1.6 * small, y, small, ink, "left", "middle"))
        x += wide
    return "".join(out)
