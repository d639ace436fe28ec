"""Training curves: loss against compute, or against what else says how far training had come."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.style.axes import extent, log_axis, title, value_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import GREY
from isoplan.app.figures.style.theme import GROUP, WEB, Part, Theme, compose
from isoplan.app.figures.style.words import literal
from isoplan.engine.arrays import Ints
from isoplan.engine.mixtures import colouring
from isoplan.engine.schema import Curves

HEIGHT = 460
MOST_CURVES = 200
"""Curves drawn at most, always the same ones."""
MOST_POINTS = 150
"""Points of a curve that are drawn."""


def draw(curves: Curves, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """The sound curves, thin and grey, against compute, or what else says how far training had come.

    Of several data sets each is coloured by its own.
    """
    x = next(role for role in ("C", "D", "step", "epochs") if role in curves)
    traces = curve_lines(theme, curves, x, y)
    figure = compose(
        theme, HEIGHT, "training-curves", traces,
        xaxis=log_axis(theme, title(x) if x != "step" else "Updates", *extent(curves[x], positive=True)),
        yaxis=value_axis(theme, y, *extent(curves[y])),
    )  # fmt: skip
    alt = f"{len(curves):,} training curves of {y} against {x}."
    return Drawing(figure, alt, "training-curves", lambda: _points(curves, x, y))


def curve_lines(theme: Theme, curves: Curves, x: str, y: str) -> list[Part]:
    """All curves of a data set as one line with gaps, so that thousands of points are one part of the figure."""
    sound = np.flatnonzero(curves.marks == "")
    if len(sound) > MOST_CURVES:
        sound = np.sort(np.random.default_rng(0).choice(sound, MOST_CURVES, replace=False))
    found = colouring(curves)
    if found is None:
        return [_line(theme, curves, sound, (x, y), GREY)]
    parts, category = [], found[1]
    for code, value in [*enumerate(category.values), (-1, "empty")]:
        rows = sound[category.codes[sound] == code]
        if rows.size:
            named = {"name": literal(value), "legendgroup": f"{GROUP}{value}", "showlegend": True}
            parts.append(_line(theme, curves, rows, (x, y), dots.group_colour(category, code)) | named)
    return parts


def _line(theme: Theme, curves: Curves, sound: Ints, roles: tuple[str, str], colour: str) -> Part:
    starts = curves.starts
    spans = zip(starts[sound], starts[sound + 1], strict=True)
    pieces = [_thinned(np.flatnonzero(np.isfinite(curves[roles[1]][a:b])) + a) for a, b in spans]
    at = np.concatenate([np.r_[piece, -1] for piece in pieces]) if pieces else np.empty(0, int)
    gap = at < 0
    across, up = (np.where(gap, np.nan, curves[role][at]) for role in roles)
    return lines.line(theme, across, up, colour, 0.8, opacity=0.55)


def _thinned(points: Ints) -> Ints:
    """At most ``MOST_POINTS`` of the points, evenly spaced in the logarithm of their place, the last among them."""
    if len(points) <= MOST_POINTS:
        return points
    keep = np.unique(np.geomspace(1, len(points), MOST_POINTS).astype(int)) - 1
    return points[keep]


def _points(curves: Curves, x: str, y: str) -> pd.DataFrame:
    return pd.DataFrame({"run": curves.names[curves.of], x: curves[x], y: curves[y]})
