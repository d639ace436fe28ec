"""A law along one axis: parts of the figures of frontiers, of laws with one axis, and of plans."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, keys, lines
from isoplan.app.figures.style.axes import (
    axis,
    extent,
    hover_format,
    literal,
    log_axis,
    span_text,
    symbol,
    tick_text,
    title,
    value_axis,
)
from isoplan.app.figures.style.palette import FLOOR, PLAN
from isoplan.app.figures.style.theme import Part, Theme
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.curves import Band, Frontier
from isoplan.engine.planning.drawing.sections import AxisCurve, Best
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

HEIGHT = 460
NEAR = 30
"""The floor of a law is drawn only if the smallest drawn value is less than ``NEAR`` times the floor.

A lower floor would compress the rest of the plot.
"""


@dataclass(frozen=True, eq=False)
class Along:
    """A law of the quantity ``y`` along one ``axis``: its values ``loss`` at ``x``, with bands, runs and floor.

    ``inside`` is true within the range of the runs. ``limit`` is the name of the parameter that is the floor.
    """

    axis: str
    y: str
    x: Floats
    loss: Floats
    band: Band
    inside: Bools
    floor: Quantity | None
    runs: Runs | None
    best: Best | None = None
    log: bool = True
    realised: float | None = None
    limit: str = ""

    @property
    def falls(self) -> bool:
        """Whether the law decreases along the axis.

        If the law decreases, the upper right corner of the plot is free for notes, otherwise the lower right corner.
        """
        return bool(self.loss[-1] <= self.loss[0])


@dataclass(frozen=True)
class Parts:
    """Traces, shapes, notes and axes of a figure; ``values`` is the range of the y axis."""

    traces: list[Part]
    shapes: list[Part]
    notes: list[Part]
    axes: dict[str, Any]
    values: tuple[float, float]


def of_frontier(path: Frontier, runs: Runs | None, y: str, floor: Quantity | None) -> Along:
    """Return the compute-optimal loss of a frontier as a law along C."""
    return Along("C", y, path.C, path.loss, path.loss_band, path.inside, floor, runs, limit=path.limit)


def of_axis(curve: AxisCurve, runs: Runs | None, y: str) -> Along:
    """Return ``curve``, a law with one axis, as an object of the class ``Along``."""
    seen = (curve.x, curve.loss, curve.band, curve.inside, curve.floor)
    return Along(curve.axis, y, *seen, runs, curve.best, curve.log, curve.realised, curve.limit)


def parts(theme: Theme, law: Along, colour: str, marker: Part, *heights: float) -> Parts:
    """Return the line, bands, runs and floor of a law, and the grey shade beyond the runs.

    ``heights`` are further values that the range of the y axis must contain.
    """
    runs = None if law.runs is None else dots.drawn(law.runs, dots.MOST_DOTS)
    shown = _runs(theme, law, runs, marker)
    values = extent(law.loss, *(trace["y"] for trace in shown), np.array(heights))
    if law.floor is not None and law.floor.value is not None and law.floor.value > values[0] / NEAR > 0:
        crowded = lines.crowded(theme, law.floor.value, heights, values)
        values = extent(np.array(values), np.array([law.floor.value]), room=0.09 * theme.crowding if crowded else 0.05)
    hover = f"{literal(law.axis)}  %{{x:{hover_format(law.axis)}}}<br>{literal(law.y)}  %{{y:.4~g}}<extra>law</extra>"
    shades, remarks = lines.beyond(theme, law.x, law.inside, law.falls)
    called = f"{_called(law)} {symbol(law.limit) if law.limit else ''}".rstrip()
    bounds, bound_notes = lines.limit(theme, law.floor, values, called, heights)
    line = lines.law(theme, law.x, law.loss, law.inside, colour, 2.4, hovertemplate=hover)
    bands = lines.bands(law.x, law.band, colour, values)
    ends = float(law.x[0]), float(law.x[-1])
    across = log_axis(theme, title(law.axis), *ends) if law.log else axis(theme, title(law.axis)) | {"range": [*ends]}
    axes = {"xaxis": across, "yaxis": value_axis(theme, law.y, *values)}
    star, tints, said = _best(theme, law)
    entries = _keys(theme, law, colour, marker, bool(shown), bool(star), bool(bounds))
    traces = [*bands, *line, *shown, *star, *entries]
    return Parts(traces, [*tints, *shades, *bounds], [*remarks, *bound_notes, *said], axes, values)


def _called(law: Along) -> str:
    return "floor" if law.falls else "ceiling"


def _keys(theme: Theme, law: Along, colour: str, marker: Part, runs: bool, star: bool, floor: bool) -> list[Part]:
    """Return the legend entries: law, bands, runs, region beyond the runs, floor, and best value."""
    return [
        keys.line(theme, "compute-optimal loss" if law.axis == "C" and law.limit else "law", colour),
        *keys.intervals(theme, colour, keys.is_known(law.band)),
        *keys.dots(law.runs if runs else None, marker),
        *([] if law.inside.all() else [keys.beyond(theme, colour)]),
        *([keys.line(theme, f"{_called(law)} with intervals", FLOOR, 1.5, "dot")] if floor else []),
        *([keys.star(theme, f"best {literal(law.axis)}")] if star else []),
    ]


def _runs(theme: Theme, law: Along, runs: Runs | None, marker: Part) -> list[Part]:
    """Return the runs as dots.

    A log axis cannot show runs at zero. If the fit replaced zero by another value, runs at zero are drawn at this
    value. Otherwise, they are drawn at the left margin with a label.
    """
    if runs is None or law.axis not in runs or law.y not in runs:
        return []
    x, y = runs[law.axis], runs[law.y]
    zero = (x == 0) & law.log
    if not zero.any():
        return dots.by_group(runs, dots.dots(runs, x, y, marker=marker))
    margin = float(law.x[0] * (law.x[-1] / law.x[0]) ** 0.015)
    at = margin if law.realised is None else law.realised
    parts = dots.by_group(runs, dots.dots(runs, np.where(zero, at, x), y, marker=marker))
    if law.realised is None:
        word = f"\u2002{literal(law.axis)} = 0, not fitted"
        parts.append(lines.labels(theme, [(margin, float(v), word) for v in y[zero][:3]], "middle right"))
    return parts


def _best(theme: Theme, law: Along) -> tuple[list[Part], list[Part], list[Part]]:
    """Return the optimum of a law as traces, shapes and notes: a star, tints for its intervals, and a label.

    If the optimum is outside the plot, only a note states its location.
    """
    best = law.best
    if best is None:
        return [], [], []
    ends = float(law.x[0]), float(law.x[-1])
    if best.x.value is None or not ends[0] <= best.x.value <= ends[1]:
        left = best.verdict.place != "outside left"
        side: Part = {} if left else {"x": 1, "xanchor": "right", "xshift": -6, "align": "right"}
        away = lines.note(theme, f"best {literal(law.axis)}: {best.verdict.short}", yshift=8, **side)
        return [], [], [away]
    notes = [_where(theme, law, best)]
    pairs = ((best.x.ci95, lines.TINT95), (best.x.ci68, lines.TINT68))
    tints = [lines.upright(*lines.cut(span, *ends), PLAN, tint) for span, tint in pairs if span is not None]
    hover = f"<b>Best {literal(law.axis)}</b>  {tick_text(best.x.value)}<br>{literal(law.y)}  {best.loss:.4g}"
    return [lines.star(theme, best.x.value, best.loss, hover, name="optimum")], tints, notes


def _where(theme: Theme, law: Along, best: Best) -> Part:
    """Return the label of the optimum: its value, its interval, and whether the runs locate it.

    The label is at the top or at the bottom, where the curve leaves space.
    """
    value = best.x.value or 0.0
    sure = f" (68 %: {span_text(best.x.ci68)})" if best.x.ci68 is not None else ""
    words = f"best {literal(law.axis)} {tick_text(value, 2)}{sure}<br>{best.verdict.short}"
    share = lines.position(value, (float(law.x[0]), float(law.x[-1])))
    anchor = "left" if share < 0.2 else "right" if share > 0.8 else "center"
    above = best.loss < np.nanmax(law.loss[[0, -1]])
    place: Part = {"xanchor": anchor, "align": anchor, "xshift": 0}
    place |= {"y": 1, "yanchor": "top", "yshift": -3} if above else {}
    return lines.note(theme, words, xref="x", x=math.log10(value) if law.log else value, **place)


def table(law: Along) -> pd.DataFrame:
    """Return one row per vertex of the line.

    The columns are the axis, the value of the law, whether the vertex is within the range of the runs, and the limits
    of the bands.
    """
    ends = {name: getattr(law.band, name) for name in ("low68", "high68", "low95", "high95")}
    return pd.DataFrame({law.axis: law.x, "value": law.loss, "inside": law.inside, **ends})


def alt(law: Along) -> str:
    """Return the description of the line for readers who cannot see the figure."""
    floor = law.floor.value if law.floor is not None else None
    bound = "" if floor is None else f" Its {'floor' if law.falls else 'ceiling'} is {floor:.3g}."
    if law.best is not None:
        bound += f" The best {law.axis} is {law.best.verdict.text}."
    seen = "" if law.runs is None else f", with {len(law.runs):,} runs"
    return (
        f"{law.y} against {law.axis}{seen}: the law goes from {law.loss[0]:.3g} at {_place(law, 0)} to "
        f"{law.loss[-1]:.3g} at {_place(law, -1)}.{bound}"
    )


def _place(law: Along, i: int) -> str:
    at = float(law.x[i])
    return power10(at, 2) if law.log else f"{at:.3g}"
