"""A law on one axis: runs, line, bands and floor."""

from __future__ import annotations

import numpy as np
import pandas as pd

from app.figures import marks
from app.figures.axes import extent, hover_format, log_axis, title, value_axis
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT
from app.figures.theme import WEB, Theme, blank
from engine.planning.curves import AxisCurve
from engine.quantities import power10
from engine.schema import Runs

HEIGHT = 460


def draw(curve: AxisCurve, runs: Runs | None = None, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """The law of ``curve`` over its axis with the runs that it was fitted to."""
    shown = None if runs is None or y not in runs or curve.axis not in runs else marks.drawn(runs, marks.MOST_DOTS)
    floor = [np.array([curve.floor.value])] if curve.floor.value else []
    values = extent(curve.loss, *([shown[y]] if shown is not None else []), *floor)
    figure = blank(
        theme, HEIGHT, f"axis-{curve.axis}",
        xaxis=log_axis(theme, title(curve.axis), curve.x[0], curve.x[-1]),
        yaxis=value_axis(theme, y, *values),
        clickmode="event+select",
    )  # fmt: skip
    form = hover_format(curve.axis)
    hover = f"<b>Law</b><br>{curve.axis}  %{{x:{form}}}<br>{marks.literal(y)}  %{{y:.4~g}}<extra></extra>"
    figure.add_traces([
        *marks.bands(curve.x, curve.band, ACCENT),
        *marks.law(theme, curve.x, curve.loss, curve.inside, ACCENT, 2.4, hovertemplate=hover),
        *marks.runs_over(shown, curve.axis, y, marks.filled(theme)),
    ])  # fmt: skip
    marks.shade_beyond(figure, theme, curve.x, curve.inside)
    marks.mark_floor(figure, theme, curve.floor, values)
    return Drawing(figure, _alt(curve, runs, y), _frame(curve), f"{y}-against-{curve.axis}")


def _frame(curve: AxisCurve) -> pd.DataFrame:
    b = curve.band
    ends = {"low68": b.low68, "high68": b.high68, "low95": b.low95, "high95": b.high95}
    return pd.DataFrame({curve.axis: curve.x, "value": curve.loss, "inside": curve.inside, **ends})


def _alt(curve: AxisCurve, runs: Runs | None, y: str) -> str:
    bound = "" if curve.floor.value is None else f" Its limit is {curve.floor.value:.3g}."
    seen = "" if runs is None else f" and {len(runs):,} runs"
    return (
        f"{y} against {curve.axis}: the law{seen}, from {curve.loss[0]:.3g} at {power10(float(curve.x[0]), 2)} to "
        f"{curve.loss[-1]:.3g} at {power10(float(curve.x[-1]), 2)}.{bound}"
    )
