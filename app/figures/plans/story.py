"""Figures for stories and for the page Home, with large text that is readable from a distance."""

from __future__ import annotations

from dataclasses import replace

from isoplan.app.figures.fits import runs as runs_figure
from isoplan.app.figures.plans import cost_curve
from isoplan.app.figures.style.axes import literal, title
from isoplan.app.figures.style.theme import WEB, Drawing, Theme
from isoplan.engine.planning.drawing.cost_curve import CostCurve
from isoplan.engine.planning.story.screens import RunsPicture

STAGE = replace(WEB, size=20.0, scale=1.5)
"""Theme of a story: text of 20 pixels on a page, and thick lines."""
HEIGHT = 470


def draw(picture: CostCurve | RunsPicture, theme: Theme = STAGE, height: float = HEIGHT) -> Drawing:
    """Draw the picture of a screen. ``height`` is the height of the figure on a page, in pixels."""
    if isinstance(picture, CostCurve):
        return cost_curve.draw(picture, theme, height)
    drawing = runs_figure.draw(picture.runs, picture.y, theme)
    rename(drawing, picture)
    if theme.width is None:
        drawing.figure.layout.height = height
    return drawing


def rename(drawing: Drawing, picture: RunsPicture) -> None:
    """Set the titles of the D axis and the colour bar to the names used in the sentences of the story.

    Only the label of the largest budget contains the unit. Without the unit, the labels of the other budgets are
    shorter and do not cover the runs of another budget.
    """
    layout = drawing.figure.layout
    for one in (layout.xaxis, layout.yaxis):
        if picture.samples and one.title.text == title("D"):
            one.title.text = f"Training {literal(picture.samples)} <i>D</i>"
    for trace in drawing.figure.data:
        if trace.mode == "text" and trace.text:
            *smaller, largest = trace.text
            trace.text = [*(text.removesuffix(" FLOPs") for text in smaller), largest]
        bar = trace.marker.colorbar.title
        if picture.label and bar.text:
            bar.text = bar.text.replace(literal(picture.y), literal(picture.label))
