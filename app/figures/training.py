"""Training curves: loss against compute, with the lower envelope and the power law along it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from app.figures import dots, marks
from app.figures.axes import extent, log_axis, title, value_axis
from app.figures.drawing import Drawing
from app.figures.palette import COMPUTE, GREY, scale
from app.figures.theme import WEB, Part, Theme, compose
from app.figures.words import literal, nice_ticks, tick_text
from engine.fitting.envelope import Envelope
from engine.fitting.result import Fit
from engine.schema import Curves, Ints

HEIGHT = 460
MOST_CURVES = 200
"""Curves drawn at most, always the same ones."""
MOST_POINTS = 150
"""Points of a curve that are drawn."""


def draw(curves: Curves, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """The sound curves, thin and grey, against compute, or what else says how far training had come."""
    x = next(role for role in ("C", "D", "step", "epochs") if role in curves)
    traces = _curves(theme, curves, x, y)
    figure = compose(
        theme, HEIGHT, "training-curves", traces,
        xaxis=log_axis(theme, title(x) if x != "step" else "Updates", *extent(curves[x], positive=True)),
        yaxis=value_axis(theme, y, *extent(curves[y])),
    )  # fmt: skip
    alt = f"{len(curves):,} training curves of {y} against {x}."
    return Drawing(figure, alt, "training-curves", lambda: _points(curves, x, y))


def envelope(found: Envelope, fit: Fit, curves: Curves | None = None, theme: Theme = WEB) -> Drawing:
    """The lower envelope over the training curves (or the runs), its points coloured by N*, and the fitted law."""
    y, span = fit.spec.y, (float(found.N.min()), float(found.N.max()))
    C = np.geomspace(found.C.min(), found.C.max(), 200)
    bar = dots.colour_bar(theme, "<i>N</i>*")
    ticks = nice_ticks(*span)
    bar |= {"tickvals": [math.log10(t) for t in ticks], "ticktext": [tick_text(t) for t in ticks]}
    colours = {"color": np.log10(found.N), "colorscale": scale(COMPUTE), "colorbar": bar, "showscale": True}
    best: Part = {
        "type": "scatter", "mode": "markers", "name": "envelope", "x": found.C, "y": found.y,
        "marker": {"size": theme.marker(6), "symbol": np.where(found.used, "circle", "circle-open"), **colours},
        "customdata": np.stack([found.N, found.D], axis=1),
        "hovertemplate": f"C %{{x:.3~e}}<br>{literal(y)} %{{y:.4~g}}<br>N* %{{customdata[0]:.3~s}}"
        "<br>D* %{customdata[1]:.3~s}<extra></extra>",
    }  # fmt: skip
    behind = _curves(theme, curves, "C", y) if curves is not None else []
    line = marks.line(theme, C, fit.predict({"C": C}), theme.text, 2)
    values = extent(found.y, *([curves[y]] if curves is not None else []))
    ends = marks.corner(theme, "open: the first and last model size of the envelope, left out of the law")
    figure = compose(
        theme, HEIGHT, "envelope", [*behind, line, best], notes=[] if found.used.all() else [ends],
        xaxis=log_axis(theme, title("C"), *extent(found.C, positive=True)),
        yaxis=value_axis(theme, y, *values),
    )  # fmt: skip
    alt = (
        f"Lower envelope of {y} against compute, {len(found.C):,} points with N* from {span[0]:.3g} to {span[1]:.3g}; "
        f"N* grows as C^{float(fit.values['a']):.3g}."
    )
    return Drawing(figure, alt, "envelope", lambda: pd.DataFrame(
        {"C": found.C, "N": found.N, "D": found.D, y: found.y, "used": found.used}
    ))  # fmt: skip


def _curves(theme: Theme, curves: Curves, x: str, y: str) -> list[Part]:
    """All curves as one line with gaps, so that thousands of points are one part of the figure."""
    sound = np.flatnonzero(curves.marks == "")
    if len(sound) > MOST_CURVES:
        sound = np.sort(np.random.default_rng(0).choice(sound, MOST_CURVES, replace=False))
    starts = curves.starts
    spans = zip(starts[sound], starts[sound + 1], strict=True)
    pieces = [_thinned(np.flatnonzero(np.isfinite(curves[y][a:b])) + a) for a, b in spans]
    at = np.concatenate([np.r_[piece, -1] for piece in pieces]) if pieces else np.empty(0, int)
    gap = at < 0
    across, up = (np.where(gap, np.nan, curves[role][at]) for role in (x, y))
    return [marks.line(theme, across, up, GREY, 0.8, opacity=0.55)]


def _thinned(points: Ints) -> Ints:
    """At most ``MOST_POINTS`` of the points, evenly spaced in the logarithm of their place, the last among them."""
    if len(points) <= MOST_POINTS:
        return points
    keep = np.unique(np.geomspace(1, len(points), MOST_POINTS).astype(int)) - 1
    return points[keep]


def _points(curves: Curves, x: str, y: str) -> pd.DataFrame:
    return pd.DataFrame({"run": curves.names[curves.of], x: curves[x], y: curves[y]})
