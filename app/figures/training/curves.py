"""Figures of training curves: curves of a run table, and live curves of cells (training runs) that still train."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.style.axes import (
    extent,
    hover_format,
    literal,
    log_axis,
    nice_ticks,
    tick_text,
    title,
    value_axis,
)
from isoplan.app.figures.style.palette import ACCENT, COMPUTE, GREY, LIGHT_PAGE, PLAN, compute_colour, scale
from isoplan.app.figures.style.theme import GROUP, WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.mixtures import colouring
from isoplan.engine.schema import Curves

HEIGHT = 460
MOST_CURVES = 200
"""Maximum number of curves in the figure of a run table. If there are more, a fixed random sample is drawn."""
MOST_POINTS = 150
"""Maximum number of points that are drawn per curve."""


def draw_curves(curves: Curves, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """Draw the valid training curves as thin grey lines; if there are several datasets, each has its own colour.

    The x axis is the first of compute, samples, steps and epochs that ``curves`` contains.
    """
    x = next(role for role in ("C", "D", "step", "epochs") if role in curves)
    traces = curve_lines(theme, curves, x, y)
    figure = compose(
        theme, HEIGHT, "training-curves", traces,
        xaxis=log_axis(theme, title(x) if x != "step" else "Training steps", *extent(curves[x], positive=True)),
        yaxis=value_axis(theme, y, *extent(curves[y])),
    )  # fmt: skip
    alt = f"{len(curves):,} training curves of {y} against {x}."
    return Drawing(figure, alt, "training-curves", lambda: _points(curves, x, y))


def curve_lines(theme: Theme, curves: Curves, x: str, y: str) -> list[Part]:
    """Return the valid curves as lines, one trace per dataset.

    Gaps separate the curves within a trace, because thousands of traces would be slow. If there are more than
    ``MOST_CURVES`` curves, the lines show a fixed random sample of all curves.
    """
    sound = np.flatnonzero(curves.marks == "")
    if len(sound) > MOST_CURVES:
        sound = np.sort(np.random.default_rng(0).choice(sound, MOST_CURVES, replace=False))
    colours = colouring(curves)
    if colours is None:
        return [_line(theme, curves, sound, (x, y), GREY)]
    parts, category = [], colours[1]
    for code, value in [*enumerate(category.values), (-1, "empty")]:
        rows = sound[category.codes[sound] == code]
        if rows.size:
            named = {"name": literal(value), "legendgroup": f"{GROUP}{value}", "showlegend": True}
            parts.append(_line(theme, curves, rows, (x, y), dots.group_colour(category, code)) | named)
    return parts


def _line(theme: Theme, curves: Curves, sound: Ints, roles: tuple[str, str], colour: str) -> Part:
    starts = curves.starts
    spans = zip(starts[sound], starts[sound + 1], strict=True)
    finite = [np.flatnonzero(np.isfinite(curves[roles[1]][a:b])) + a for a, b in spans]
    pieces = [rows[_thinned(len(rows), MOST_POINTS)] for rows in finite]
    at = np.concatenate([np.r_[piece, -1] for piece in pieces]) if pieces else np.empty(0, int)
    gap = at < 0
    across, up = (np.where(gap, np.nan, curves[role][at]) for role in roles)
    return lines.line(theme, across, up, colour, 0.8, opacity=0.55)


def _thinned(many: int, most: int) -> Ints:
    """Return at most ``most`` positions from 0 to ``many`` - 1, evenly spaced in the logarithm, with both ends."""
    if many <= most:
        return np.arange(many)
    return np.unique(np.geomspace(1, many, most).round().astype(int)) - 1


def _points(curves: Curves, x: str, y: str) -> pd.DataFrame:
    return pd.DataFrame({"run": curves.names[curves.of], x: curves[x], y: curves[y]})


LIVE_HEIGHT = 430
MOST = 120
"""Maximum number of curves of cells in the live figure."""
FEW_POINTS = 50
"""Maximum number of points per curve if more than ``MANY`` curves are drawn."""
MANY = 60
TITLES = {"step": "Training steps"}
COLOURS = {"C": "Compute of the cell [FLOPs]", "N": "Size N of the model", "D": "Samples of the cell"}
"""Titles of the colour bar, by the role that colours the curves."""
STEPS = (1.0, 2.0, 5.0, 10.0)
Ends = Literal["running", "failed", ""]
Span = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Curve:
    """Training curve of one cell: ``y`` at increasing ``x``.

    ``shade`` is a value of the whole cell, such as its compute in FLOPs (NaN if unknown). The colour of the curve shows
    this value. ``ends`` is the state of the cell if the cell still runs or has failed.
    """

    name: str
    label: str
    x: Floats
    y: Floats
    shade: float = math.nan
    ends: Ends = ""


def joined(name: str, label: str, points: Sequence[tuple[float, float]], shade: float, ends: Ends) -> Curve:
    """Return a ``Curve`` from ``points``, pairs of x and y."""
    x, y = np.array(points, float).reshape(-1, 2).T
    return Curve(name, label, x, y, shade, ends)


def draw_live(
    curves: Sequence[Curve],
    x: str = "D",
    y: str = "loss",
    end: float | None = None,
    shades: Span | None = None,
    begun: int = 0,
    theme: Theme = WEB,
    by: str = "C",
) -> Drawing:
    """Draw the curves of cells against ``x`` ("D", "C" or "step"). The colour shows the role ``by`` ("C", "N" or "D").

    A curve of a running cell ends in a dot, and a curve of a failed cell ends in a cross. ``end`` is the final x of the
    largest cell. ``shades`` are the smallest and the largest value on the colour scale, if known. These values keep the
    axis and the colours fixed while curves grow and new curves start. ``begun`` is the number of cells that have begun;
    if more cells have begun than are drawn, a note states this number.
    """
    shown = [curve for curve in curves if np.any(np.isfinite(curve.y) & (curve.x > 0))][:MOST]
    known = [curve.shade for curve in shown if curve.shade > 0]
    span = shades or ((min(known), max(known)) if known else (math.nan, math.nan))
    most = FEW_POINTS if len(shown) > MANY else MOST_POINTS
    traces = [_live_line(theme, curve, x, y, span, most) for curve in shown]
    traces += [_heads(theme, shown, span, ends) for ends in ("running", "failed")]
    traces += _bar(theme, span, COLOURS[by])
    figure = compose(
        theme, LIVE_HEIGHT, f"cells-{x}", traces, [], _notes(theme, len(shown), begun), **_room(span),
        xaxis=log_axis(theme, TITLES.get(x, title(x)), *_across(shown, end)),
        yaxis=value_axis(theme, y, *_snapped(*extent(*(curve.y for curve in shown), positive=_positive(shown)))),
    )  # fmt: skip
    running = sum(curve.ends == "running" for curve in shown)
    alt = f"{len(shown):,} curves of {y} against {TITLES.get(x, x).lower() if x == 'step' else x}, {running:,} running."
    return Drawing(figure, alt, "cells", lambda: _live_points(curves, x, y))


def _live_line(theme: Theme, curve: Curve, x: str, y: str, span: Span, most: int) -> Part:
    at = _thinned(len(curve.x), most)
    hover = f"{literal(curve.label)}<br>{_word(x)} %{{x:{hover_format(x)}}}<br>{literal(y)} %{{y:.4~g}}<extra></extra>"
    width = 1.2 if most == FEW_POINTS else 1.7
    return lines.line(theme, curve.x[at], curve.y[at], _colour(curve, span), width, hovertemplate=hover)


def _heads(theme: Theme, curves: Sequence[Curve], span: Span, ends: Ends) -> Part:
    """Return markers at the last points of the curves whose state is ``ends``: dots for running, crosses for failed."""
    ended = [curve for curve in curves if curve.ends == ends]
    last = [int(np.flatnonzero(np.isfinite(curve.y))[-1]) for curve in ended]
    sign = {"symbol": "circle", "size": theme.marker(9), "line": {"color": LIGHT_PAGE, "width": theme.line(1.2)}}
    colour: Part = {"color": [_colour(curve, span) for curve in ended]}
    if ends == "failed":
        sign, colour = {"symbol": "x", "size": theme.marker(8), "line": {"width": 0}}, {"color": PLAN}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": ends,
        "x": [float(curve.x[i]) for curve, i in zip(ended, last, strict=True)],
        "y": [float(curve.y[i]) for curve, i in zip(ended, last, strict=True)],
        "text": [f"{literal(curve.label)}, {ends}" for curve in ended],
        "marker": {**sign, **colour},
        "hovertemplate": "%{text}<br>%{y:.4~g}<extra></extra>",
    }


def _bar(theme: Theme, span: Span, text: str) -> list[Part]:
    """Return an empty trace with the colour bar called ``text``; no trace if all curves have the same colour."""
    if not span[1] > span[0]:
        return []
    ticks = nice_ticks(*span)
    place = {"tickvals": [math.log10(t) for t in ticks], "ticktext": [tick_text(t) for t in ticks]}
    ends = {"cmin": math.log10(span[0]), "cmax": math.log10(span[1]), "colorscale": scale(COMPUTE), "showscale": True}
    bar = dots.colour_bar(theme, text, len=1.0, **place)
    empty = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "hoverinfo": "skip", "name": "scale"}
    return [empty | {"marker": {"color": [math.log10(span[0])], **ends, "colorbar": bar}}]


def _room(span: Span) -> Part:
    return {"margin": {"r": 84}} if span[1] > span[0] else {}


def _colour(curve: Curve, span: Span) -> str:
    return compute_colour(curve.shade, span) if curve.shade > 0 and span[1] > span[0] else ACCENT


def _across(curves: Sequence[Curve], end: float | None) -> Span:
    """Return the range of the x axis. Its ends are 1, 2 or 5 times a power of ten, so that the range rarely changes."""
    if not curves:
        return _snapped((end or 1e3) / 1e3, end or 1e3)
    low, high = extent(*(curve.x for curve in curves), positive=True, room=0.0)
    return _snapped(low, max(high, end or high))


def _snapped(low: float, high: float) -> Span:
    """Return ``low`` rounded down and ``high`` rounded up to 1, 2 or 5 times a power of ten.

    If ``low`` is not positive, ``low`` and ``high`` are unchanged.
    """
    if low <= 0:
        return low, high
    down, up = (10.0 ** math.floor(math.log10(value)) for value in (low, high))
    below = max(step * down for step in STEPS if step * down <= low * (1 + 1e-9))
    above = min((step * up for step in STEPS if step * up >= high * (1 - 1e-9)), default=10 * up)
    return below, above if above > below else 10 * below


def _positive(curves: Sequence[Curve]) -> bool:
    """Return whether more than 99 % of the values are positive; a log axis then shows nearly all of them."""
    values = np.concatenate([curve.y for curve in curves]) if curves else np.ones(1)
    finite = values[np.isfinite(values)]
    return bool(np.mean(finite > 0) > 0.99) if finite.size else True


def _word(x: str) -> str:
    return {"D": "samples", "C": "FLOPs", "step": "training steps"}.get(x, x)


def _notes(theme: Theme, drawn: int, begun: int) -> list[Part]:
    if drawn:
        return [lines.note(theme, f"{drawn:,} of {begun:,} cells drawn")] if begun > drawn == MOST else []
    text = "Curves appear here when the cells report progress."
    return [lines.note(theme, text, x=0.5, y=0.5, xanchor="center", yanchor="middle", xshift=0, yshift=0)]


def _live_points(curves: Sequence[Curve], x: str, y: str) -> pd.DataFrame:
    frames = [pd.DataFrame({"cell": curve.name, "fields": curve.label, x: curve.x, y: curve.y}) for curve in curves]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["cell", "fields", x, y])
