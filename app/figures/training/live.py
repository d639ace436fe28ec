"""Cells as they train: loss against samples, compute or updates, coloured by the compute of each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.style.axes import extent, log_axis, title, value_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, COMPUTE, LIGHT_PAGE, PLAN, compute_colour, scale
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import hover_format, literal, nice_ticks, tick_text
from isoplan.engine.arrays import Floats

HEIGHT = 430
MOST = 120
"""Curves drawn at most."""
MOST_POINTS, FEW_POINTS = 150, 50
"""Points of a curve that are drawn, and where there are more than ``MANY`` curves."""
MANY = 60
TITLES = {"step": "Updates"}
STEPS = (1.0, 2.0, 5.0, 10.0)
Ends = Literal["running", "failed", ""]
Span = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of a cell by rising ``x``; ``C`` is the compute of the whole cell in FLOPs, NaN where not known."""

    name: str
    label: str
    x: Floats
    y: Floats
    C: float = math.nan
    ends: Ends = ""


def joined(name: str, label: str, points: Sequence[tuple[float, float]], C: float, ends: Ends) -> Curve:
    """The curve through ``points``, pairs of x and y."""
    x, y = np.array(points, float).reshape(-1, 2).T
    return Curve(name, label, x, y, C, ends)


def draw(
    curves: Sequence[Curve],
    x: str = "D",
    y: str = "loss",
    end: float | None = None,
    compute: Span | None = None,
    begun: int = 0,
    theme: Theme = WEB,
) -> Drawing:
    """The curves over ``x`` (D, C or step); a running one ends in a dot, a failed one in a cross.

    ``end`` is how far the cells will get and ``compute`` what the smallest and the largest of them takes, where that is
    known: axis and colours then stay while the curves grow and others begin. Where more cells have ``begun`` than are
    drawn, a note says so.
    """
    shown = [curve for curve in curves if np.any(np.isfinite(curve.y) & (curve.x > 0))][:MOST]
    known = [curve.C for curve in shown if curve.C > 0]
    span = compute or ((min(known), max(known)) if known else (math.nan, math.nan))
    most = FEW_POINTS if len(shown) > MANY else MOST_POINTS
    traces = [_line(theme, curve, x, y, span, most) for curve in shown]
    traces += [_heads(theme, shown, span, ends) for ends in ("running", "failed")]
    traces += _bar(theme, span)
    figure = compose(
        theme, HEIGHT, f"cells-{x}", traces, [], _notes(theme, len(shown), begun), **_room(span),
        xaxis=log_axis(theme, TITLES.get(x, title(x)), *_across(shown, end)),
        yaxis=value_axis(theme, y, *_snapped(*extent(*(curve.y for curve in shown), positive=_positive(shown)))),
    )  # fmt: skip
    running = sum(curve.ends == "running" for curve in shown)
    alt = f"{len(shown):,} curves of {y} against {TITLES.get(x, x).lower() if x == 'step' else x}, {running:,} running."
    return Drawing(figure, alt, "cells", lambda: _points(curves, x, y))


def _line(theme: Theme, curve: Curve, x: str, y: str, span: Span, most: int) -> Part:
    at = _thinned(len(curve.x), most)
    hover = f"{literal(curve.label)}<br>{_word(x)} %{{x:{hover_format(x)}}}<br>{literal(y)} %{{y:.4~g}}<extra></extra>"
    width = 1.2 if most == FEW_POINTS else 1.7
    return lines.line(theme, curve.x[at], curve.y[at], _colour(curve, span), width, hovertemplate=hover)


def _heads(theme: Theme, curves: Sequence[Curve], span: Span, ends: Ends) -> Part:
    """Where the curves that end like this have got to."""
    found = [curve for curve in curves if curve.ends == ends]
    last = [int(np.flatnonzero(np.isfinite(curve.y))[-1]) for curve in found]
    sign = {"symbol": "circle", "size": theme.marker(9), "line": {"color": LIGHT_PAGE, "width": theme.line(1.2)}}
    colour: Part = {"color": [_colour(curve, span) for curve in found]}
    if ends == "failed":
        sign, colour = {"symbol": "x", "size": theme.marker(8), "line": {"width": 0}}, {"color": PLAN}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": ends,
        "x": [float(curve.x[i]) for curve, i in zip(found, last, strict=True)],
        "y": [float(curve.y[i]) for curve, i in zip(found, last, strict=True)],
        "text": [f"{literal(curve.label)}, {ends}" for curve in found],
        "marker": {**sign, **colour},
        "hovertemplate": "%{text}<br>%{y:.4~g}<extra></extra>",
    }


def _bar(theme: Theme, span: Span) -> list[Part]:
    """The scale of the colours, where they differ: a part of the figure that shows nothing else."""
    if not span[1] > span[0]:
        return []
    ticks = nice_ticks(*span)
    place = {"tickvals": [math.log10(t) for t in ticks], "ticktext": [tick_text(t) for t in ticks]}
    ends = {"cmin": math.log10(span[0]), "cmax": math.log10(span[1]), "colorscale": scale(COMPUTE), "showscale": True}
    bar = dots.colour_bar(theme, "Compute of the cell [FLOPs]", len=1.0, **place)
    empty = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "hoverinfo": "skip", "name": "scale"}
    return [empty | {"marker": {"color": [math.log10(span[0])], **ends, "colorbar": bar}}]


def _room(span: Span) -> Part:
    return {"margin": {"r": 84}} if span[1] > span[0] else {}


def _colour(curve: Curve, span: Span) -> str:
    return compute_colour(curve.C, span) if curve.C > 0 and span[1] > span[0] else ACCENT


def _across(curves: Sequence[Curve], end: float | None) -> Span:
    """The ends of the x axis, at round numbers so that they move seldom."""
    if not curves:
        return _snapped((end or 1e3) / 1e3, end or 1e3)
    low, high = extent(*(curve.x for curve in curves), positive=True, room=0.0)
    return _snapped(low, max(high, end or high))


def _snapped(low: float, high: float) -> Span:
    """The next 1, 2 or 5 below and above; as they are where they are not positive."""
    if low <= 0:
        return low, high
    down, up = (10.0 ** math.floor(math.log10(value)) for value in (low, high))
    below = max(step * down for step in STEPS if step * down <= low * (1 + 1e-9))
    above = min((step * up for step in STEPS if step * up >= high * (1 - 1e-9)), default=10 * up)
    return below, above if above > below else 10 * below


def _positive(curves: Sequence[Curve]) -> bool:
    """Whether nearly all values can stand on a log axis."""
    values = np.concatenate([curve.y for curve in curves]) if curves else np.ones(1)
    known = values[np.isfinite(values)]
    return bool(np.mean(known > 0) > 0.99) if known.size else True


def _thinned(many: int, most: int) -> list[int]:
    """Places of at most ``most`` points, evenly spaced in the logarithm, the first and the last among them."""
    if many <= most:
        return list(range(many))
    return [int(i) - 1 for i in np.unique(np.geomspace(1, many, most).round().astype(int))]


def _word(x: str) -> str:
    return {"D": "samples", "C": "FLOPs", "step": "updates"}.get(x, x)


def _notes(theme: Theme, drawn: int, begun: int) -> list[Part]:
    if drawn:
        return [lines.note(theme, f"{drawn:,} of {begun:,} cells drawn")] if begun > drawn == MOST else []
    text = "The curves appear here once the cells say how they go."
    return [lines.note(theme, text, x=0.5, y=0.5, xanchor="center", yanchor="middle", xshift=0, yshift=0)]


def _points(curves: Sequence[Curve], x: str, y: str) -> pd.DataFrame:
    frames = [pd.DataFrame({"cell": curve.name, "fields": curve.label, x: curve.x, y: curve.y}) for curve in curves]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["cell", "fields", x, y])
