"""Parts of figures: lines of laws, tints of intervals, labels at line ends, notes, and shades beyond the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.app.figures.style.axes import tick_text
from isoplan.app.figures.style.palette import FLOOR, GREY, LIGHT_PAGE, PLAN
from isoplan.app.figures.style.theme import Part, Theme
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.curves import Band
from isoplan.engine.quantities import digits

Span = tuple[float, float]
Word = tuple[float, float, str]
"""The point that a text labels, and the text: (x, y, text)."""

TINT68, TINT95 = 0.24, 0.12
"""Opacities of the tints of intervals. The 68 % tint looks darker, because it is drawn on top of the 95 % tint."""
ONE_LINE = 0.07
"""Height of a line of text in a figure of a page, as a fraction of the y axis."""
BEYOND = 0.13
"""Opacity of the grey shade over the region beyond the runs."""


def pack(values: Floats) -> NDArray[np.float32] | Floats:
    """Return ``values`` as float32, which halves the data that is sent to the browser.

    The values stay float64 if float32 would overflow, underflow, or change large integers.
    """
    known = values[np.isfinite(values) & (values != 0)]
    if not known.size:
        return values.astype(np.float32)
    large, small = np.max(np.abs(known)), np.min(np.abs(known))
    whole = large >= 2**24 and np.all(known == np.rint(known))
    return values if whole or large > 1e37 or small < 1e-37 else values.astype(np.float32)


def line(theme: Theme, x: Floats, y: Floats, colour: str, width: float, dash: str = "solid", **trace: Any) -> Part:
    """Return the trace of a line. It has no hover text unless ``trace`` contains a hover template."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": pack(x),
        "y": pack(y),
        "line": {"color": colour, "width": theme.line(width), "dash": dash},
        **({} if "hovertemplate" in trace else {"hoverinfo": "skip"}),
        **trace,
    }


def law(theme: Theme, x: Floats, y: Floats, inside: Bools, colour: str, width: float, **trace: Any) -> list[Part]:
    """Return the line of a law: solid where it is ``inside`` the range of the runs, dashed elsewhere."""
    dash = f"{theme.line(5):g}px,{theme.line(4):g}px"
    dashed = line(theme, x, y, colour, width * 0.85, dash, **trace)
    return [dashed, line(theme, x, np.where(inside, y, np.nan), colour, width)] if np.any(inside) else [dashed]


def band(x: Floats, low: Floats, high: Floats, colour: str) -> list[Part]:
    """Return the tint of a 68 % interval along a line. The result is empty if no interval is known."""
    known = ~np.isnan(low) & ~np.isnan(high)
    if not known.any():
        return []
    return [area(np.r_[x[known], x[known][::-1]], np.r_[low[known], high[known][::-1]], colour, TINT68)]


def area(x: Floats, y: Floats, colour: str, opacity: float) -> Part:
    """Return the filled area inside a closed line, without outline and without hover text."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": pack(x),
        "y": pack(y),
        "fill": "toself",
        "fillcolor": colour,
        "opacity": opacity,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def bands(x: Floats, ends: Band, colour: str, values: Span) -> list[Part]:
    """Return the 95 % band as a light tint and the 68 % band as a darker tint; empty without intervals.

    An unbounded end is drawn far outside ``values``, the range of the y axis.
    """
    limits = (values[0] / 100, values[1] * 100) if values[0] > 0 else _around(values)
    parts = []
    for low, high, tint in ((ends.low95, ends.high95, TINT95), (ends.low68, ends.high68, TINT68)):
        known = ~np.isnan(low + high) | (np.isinf(low) & np.isinf(high))
        if np.any(known):
            at, low, high = x[known], np.clip(low[known], *limits), np.clip(high[known], *limits)
            parts.append(area(np.append(at, at[::-1]), np.append(low, high[::-1]), colour, tint))
    return parts


def _around(values: Span) -> Span:
    width = values[1] - values[0]
    return values[0] - 3 * width, values[1] + 3 * width


def labels(theme: Theme, words: Sequence[Word], place: str, **trace: Any) -> Part:
    """Return texts at points, in the text colour of the page.

    Plotly draws a text only if its point is inside the plot. The text itself can extend beyond the plot.
    """
    x, y, text = zip(*words, strict=True) if words else ((), (), ())
    return {
        "type": "scatter",
        "mode": "text",
        "x": x,
        "y": y,
        "text": text,
        "textposition": place,
        "textfont": {"size": theme.small},
        "cliponaxis": False,
        "hoverinfo": "skip",
        **trace,
    }


def unobstructed(
    theme: Theme, words: Iterable[Word], window: Span, values: Span, room: Span = (0.13, 0.045)
) -> list[Word]:
    """Return the words in order, without words whose label overlaps the label of a word that is kept.

    ``room`` contains two minimum distances of labels, one along x and one along y. They are fractions of the axes
    ``window`` (x) and ``values`` (y). Two labels do not overlap if one of the two distances is large enough.
    """
    room = room[0] * theme.crowding, room[1] * theme.crowding
    kept: list[Word] = []
    for word in words:
        at = position(word[0], window), position(word[1], values)
        others = ((position(x, window), position(y, values)) for x, y, _ in kept)
        if all(abs(at[0] - x) > room[0] or abs(at[1] - y) > room[1] for x, y in others):
            kept.append(word)
    return kept


def position(value: float, ends: Span) -> float:
    """Return the position of ``value`` along an axis as a fraction: 0 at the lower end, 1 at the upper end.

    The axis is logarithmic if its lower end is positive.
    """
    low, high = ends
    if low > 0 and value > 0:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def star(theme: Theme, x: float, y: float, hover: str, **trace: Any) -> Part:
    """Return the star that marks the result of a plan at (x, y)."""
    line = {"color": LIGHT_PAGE, "width": theme.line(1.2)}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "plan",
        "x": [x],
        "y": [y],
        "marker": {"symbol": "star", "size": theme.marker(16), "color": PLAN, "line": line},
        "hovertemplate": hover + "<extra></extra>",
        **trace,
    }


def note(theme: Theme, text: str, **place: Any) -> Part:
    """Return a short text inside the plot; by default it is in the lower left corner."""
    return {
        "text": text,
        "xref": "x domain",
        "yref": "y domain",
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": 6,
        "yshift": 3,
        "showarrow": False,
        "align": "left",
        "font": {"size": theme.small},
        **place,
    }


def keyed(*pairs: tuple[str, str], between: str = "   ") -> str:
    """Return names with a square of their colour, as text for a note. Such a note needs less space than a legend."""
    return between.join(f'<span style="color:{colour}">■</span> {name}' for name, colour in pairs)


def corner(theme: Theme, text: str, line: int = 0, top: bool = True, **place: Any) -> Part:
    """Return a note at the right edge of the plot, ``line`` lines of text below its top (or above its bottom)."""
    shift = 3 + line * 1.6 * theme.small
    right = {"x": 1, "xanchor": "right", "xshift": -6, "align": "right"}
    high = {"y": 1, "yanchor": "top", "yshift": -shift} if top else {"y": 0, "yanchor": "bottom", "yshift": shift}
    return note(theme, text, **right | high | place)


def upright(low: float, high: float, colour: str, opacity: float) -> Part:
    """Return a tint between the x values ``low`` and ``high``, over the full height of the plot."""
    ends = {"x0": low, "x1": high, "y0": 0, "y1": 1, "yref": "y domain"}
    return {"type": "rect", "fillcolor": colour, "opacity": opacity, "line": {"width": 0}, "layer": "below", **ends}


def across(low: float, high: float, colour: str, opacity: float) -> Part:
    """Return a tint between the y values ``low`` and ``high``, over the full width of the plot."""
    ends = {"x0": 0, "x1": 1, "xref": "x domain", "y0": low, "y1": high}
    return {"type": "rect", "fillcolor": colour, "opacity": opacity, "line": {"width": 0}, "layer": "below", **ends}


def level(theme: Theme, y: float, colour: str, dash: str = "solid") -> Part:
    """Return a horizontal line over the full width of the plot."""
    line = {"color": colour, "width": theme.line(1.5), "dash": dash}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "line": line, "layer": "below"}


def upright_line(theme: Theme, x: float, colour: str, dash: str = "solid") -> Part:
    """Return a vertical line over the full height of the plot."""
    line = {"color": colour, "width": theme.line(1.5), "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line, "layer": "below"}


def level_note(theme: Theme, text: str, y: float, log: bool) -> Part:
    """Return a note directly above the horizontal line at ``y``, at the left edge of the plot.

    ``log`` states whether the y axis is logarithmic.
    """
    return note(theme, text, yref="y", y=math.log10(y) if log else y, yshift=1)


def beyond(theme: Theme, x: Floats, inside: Bools, top: bool = True) -> tuple[list[Part], list[Part]]:
    """Return shapes and notes: grey shades over the ranges of x beyond the runs, and the note "beyond the runs"."""
    within = x[inside]
    parts = [(x[0], within[0]), (within[-1], x[-1])] if within.size else [(x[0], x[-1])]
    parts = [(float(low), float(high)) for low, high in parts if high > low]
    if not parts:
        return [], []
    side: Part = {} if parts[-1][1] == x[-1] else {"x": 0, "xanchor": "left", "xshift": 6, "align": "left"}
    return [upright(*part, GREY, BEYOND) for part in parts], [corner(theme, "beyond the runs", top=top, **side)]


def limit(
    theme: Theme, floor: Quantity | None, values: Span, called: str = "floor", taken: Sequence[float] = ()
) -> tuple[list[Part], list[Part]]:
    """Return the floor of a law as shapes (a dotted line, and tints for its intervals) and notes (a label).

    The label has the name ``called`` and the value of the floor. The label is above the line, or below it if the label
    of another line needs the space above it. ``taken`` are the heights of the other lines.
    """
    if floor is None or floor.value is None or not values[0] <= floor.value <= values[1]:
        return [], []
    pairs = ((floor.ci95, TINT95), (floor.ci68, TINT68))
    tints = [across(*cut(ends, *values), FLOOR, tint) for ends, tint in pairs if ends is not None]
    shown = level_note(theme, f"{called} {precise(floor)}", floor.value, values[0] > 0)
    shown |= {"yanchor": "top", "yshift": -1} if crowded(theme, floor.value, taken, values) else {}
    return [*tints, level(theme, floor.value, FLOOR, "dot")], [shown]


def crowded(theme: Theme, y: float, taken: Iterable[float], values: Span) -> bool:
    """Return whether the space between ``y`` and the next higher line in ``taken`` is too small for a text."""
    gaps = (position(other, values) - position(y, values) for other in taken)
    return any(0 <= gap < ONE_LINE * theme.crowding for gap in gaps)


def cut(ends: Span, low: float, high: float) -> Span:
    """Return the interval ``ends``, limited to the axis from ``low`` to ``high``."""
    return min(max(ends[0], low), high), min(max(ends[1], low), high)


def precise(q: Quantity) -> str:
    """Return the value of ``q`` as HTML, with a number of digits that suits its 68 % interval."""
    value = q.value or 0.0
    places = digits(value, q.ci68)
    return tick_text(value, max(2, min(places + 1 + math.floor(math.log10(abs(value) or 1.0)), 5)))
