"""A law along one axis: what the frontier, a one-axis law and the picture of a plan have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from app.figures import dots, marks
from app.figures.axes import extent, log_axis, title, value_axis
from app.figures.theme import Part, Theme
from app.figures.words import hover_format, literal
from engine.planning.curves import AxisCurve, Band, Frontier, Mask
from engine.planning.quantity import Quantity
from engine.quantities import power10
from engine.schema import Floats, Runs

HEIGHT = 460
NEAR = 30
"""A floor that lies further below the law than this factor is not shown: it would squeeze everything else."""


@dataclass(frozen=True, eq=False)
class Along:
    """A law's values ``loss`` of ``y`` at ``x`` of the role ``axis``, with what is known about them."""

    axis: str
    y: str
    x: Floats
    loss: Floats
    band: Band
    inside: Mask
    floor: Quantity | None
    runs: Runs | None

    @property
    def falls(self) -> bool:
        """Whether the upper right of the plot is free for remarks (else the lower right is)."""
        return bool(self.loss[-1] <= self.loss[0])


@dataclass(frozen=True)
class Parts:
    """What a figure is composed of; ``values`` is what its y axis shows."""

    traces: list[Part]
    shapes: list[Part]
    notes: list[Part]
    axes: dict[str, Any]
    values: tuple[float, float]


def of_frontier(path: Frontier, runs: Runs | None, y: str, floor: Quantity | None) -> Along:
    """The frontier as a law along C."""
    return Along("C", y, path.C, path.loss, path.loss_band, path.inside, floor, runs)


def of_axis(curve: AxisCurve, runs: Runs | None, y: str) -> Along:
    """A one-axis law along its axis."""
    return Along(curve.axis, y, curve.x, curve.loss, curve.band, curve.inside, curve.floor, runs)


def parts(theme: Theme, law: Along, colour: str, marker: Part, *heights: float) -> Parts:
    """Line, bands, runs, floor and the shade beyond the runs; the y axis also holds ``heights``."""
    runs = None if law.runs is None else dots.drawn(law.runs, dots.MOST_DOTS)
    shown = dots.runs_over(runs, law.axis, law.y, marker)
    values = extent(law.loss, *(trace["y"] for trace in shown), np.array(heights))
    if law.floor is not None and law.floor.value is not None and law.floor.value > values[0] / NEAR > 0:
        values = extent(np.array(values), np.array([law.floor.value]), room=0.05)
    hover = f"{law.axis}  %{{x:{hover_format(law.axis)}}}<br>{literal(law.y)}  %{{y:.4~g}}<extra>law</extra>"
    shades, remarks = marks.beyond(theme, law.x, law.inside, law.falls)
    bounds, bound_notes = marks.limit(theme, law.floor, values)
    line = marks.law(theme, law.x, law.loss, law.inside, colour, 2.4, hovertemplate=hover)
    bands = marks.bands(law.x, law.band, colour, values)
    axes = {
        "xaxis": log_axis(theme, title(law.axis), law.x[0], law.x[-1]),
        "yaxis": value_axis(theme, law.y, *values),
    }
    return Parts([*bands, *line, *shown], [*shades, *bounds], [*remarks, *bound_notes], axes, values)


def table(law: Along) -> pd.DataFrame:
    """One row a vertex of the line: the axis, the law's value, whether it lies within the runs, and the bands."""
    ends = {name: getattr(law.band, name) for name in ("low68", "high68", "low95", "high95")}
    return pd.DataFrame({law.axis: law.x, "value": law.loss, "inside": law.inside, **ends})


def alt(law: Along) -> str:
    """What the line shows, in words."""
    floor = law.floor.value if law.floor is not None else None
    bound = "" if floor is None else f" Its limit is {floor:.3g}."
    seen = "" if law.runs is None else f", with {len(law.runs):,} runs"
    return (
        f"{law.y} against {law.axis}{seen}: the law goes from {law.loss[0]:.3g} at {power10(float(law.x[0]), 2)} to "
        f"{law.loss[-1]:.3g} at {power10(float(law.x[-1]), 2)}.{bound}"
    )
