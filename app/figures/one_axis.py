"""A law on one axis: runs, line, bands and floor."""

from __future__ import annotations

from app.figures import along, dots
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT
from app.figures.theme import WEB, Theme, compose
from engine.planning.drawing.curves import AxisCurve
from engine.schema import Runs


def draw(curve: AxisCurve, runs: Runs | None = None, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """The law of ``curve`` over its axis with the runs that it was fitted to."""
    law = along.of_axis(curve, runs, y)
    p = along.parts(theme, law, ACCENT, dots.filled(theme))
    name = f"{y}-against-{curve.axis}"
    figure = compose(theme, along.HEIGHT, name, p.traces, p.shapes, p.notes, clickmode="event+select", **p.axes)
    return Drawing(figure, along.alt(law), name, lambda: along.table(law))
