"""A law on one axis: runs, line, bands and floor."""

from __future__ import annotations

from isoplan.app.figures.marks import along, dots
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT
from isoplan.app.figures.style.theme import WEB, Theme, compose
from isoplan.engine.planning.drawing.curves import AxisCurve
from isoplan.engine.schema import Runs


def draw(curve: AxisCurve, runs: Runs | None = None, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """The law of ``curve`` over its axis with the runs that it was fitted to."""
    law = along.of_axis(curve, runs, y)
    p = along.parts(theme, law, ACCENT, dots.filled(theme))
    name = f"{y}-against-{curve.axis}"
    figure = compose(theme, along.HEIGHT, name, p.traces, p.shapes, p.notes, clickmode="event+select", **p.axes)
    return Drawing(figure, along.alt(law), name, lambda: along.table(law))
