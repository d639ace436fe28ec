"""Pictures of stories and of Home, in a size that is readable at some distance."""

from __future__ import annotations

from dataclasses import replace

from isoplan.app.figures.fits import runs as runs_figure
from isoplan.app.figures.plans import cost_curve
from isoplan.app.figures.style.theme import WEB, Drawing, Theme
from isoplan.engine.planning.drawing.cost_curve import CostCurve
from isoplan.engine.planning.story.screens import RunsPicture

STAGE = replace(WEB, size=20.0, scale=1.5)
"""Theme of a story: text of 20 pixels on a page, and thick lines."""
HEIGHT = 470


def draw(picture: CostCurve | RunsPicture, theme: Theme = STAGE, height: float = HEIGHT) -> Drawing:
    """Draw the picture of a screen with a ``height`` in pixels on a page."""
    if isinstance(picture, CostCurve):
        return cost_curve.draw(picture, theme, height)
    drawing = runs_figure.draw(picture.runs, picture.y, theme)
    if theme.width is None:
        drawing.figure.layout.height = height
    return drawing
