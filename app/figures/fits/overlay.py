"""Fits beside each other: their laws as lines with bands over one axis, their runs as dots of the same colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.marks.along import HEIGHT, Along
from isoplan.app.figures.marks.along import table as table_of
from isoplan.app.figures.style.axes import extent, log_axis, title, value_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import category
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import hover_format, literal
from isoplan.engine.mixtures import colouring


def draw(laws: Mapping[str, Along], theme: Theme = WEB) -> Drawing:
    """``laws`` by the name of each, all over one axis; the axis of values is named for the first."""
    first = next(iter(laws.values()))
    shown = {name: None if law.runs is None else dots.drawn(law.runs, dots.MOST_DOTS) for name, law in laws.items()}
    clouds = [runs[laws[name].y] for name, runs in shown.items() if runs is not None and laws[name].y in runs]
    values = extent(*(law.loss for law in laws.values()), *clouds)
    traces: list[Part] = []
    for i, (name, law) in enumerate(laws.items()):
        traces += _law(theme, i, name, law, values)
    for i, (name, runs) in enumerate(shown.items()):
        marker = {"size": theme.marker(6), "color": category(i), "opacity": 0.55, "line": {"width": 0}}
        if runs is not None and colouring(runs) is not None:  # the outline says the fit, the filling the data set
            marker["line"] = {"color": category(i), "width": theme.line(1.4)}
        traces += [{"showlegend": False} | dot for dot in dots.runs_over(runs, first.axis, laws[name].y, marker)]
    low, high = min(float(law.x[0]) for law in laws.values()), max(float(law.x[-1]) for law in laws.values())
    layout: dict[str, Any] = {
        "xaxis": log_axis(theme, title(first.axis), low, high),
        "yaxis": value_axis(theme, first.y, *values),
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": theme.small}},
        "margin": {"t": 44},
    }
    figure = compose(theme, HEIGHT, "overlay", traces, **layout)
    return Drawing(figure, _alt(laws), "fits-beside-each-other", lambda: table(laws))


def _law(theme: Theme, i: int, name: str, law: Along, values: tuple[float, float]) -> list[Part]:
    colour, words = category(i), literal(name)
    hover = f"{law.axis}  %{{x:{hover_format(law.axis)}}}<br>{literal(law.y)}  %{{y:.4~g}}<extra>{words}</extra>"
    bands = [part | {"showlegend": False} for part in marks.bands(law.x, law.band, colour, values)]
    lines = marks.law(theme, law.x, law.loss, law.inside, colour, 2.4, hovertemplate=hover)
    named = [
        line | {"name": words, "legendgroup": str(i), "showlegend": j == len(lines) - 1} for j, line in enumerate(lines)
    ]
    return [*bands, *named]


def table(laws: Mapping[str, Along]) -> pd.DataFrame:
    """One row a vertex of a line, with the name of its fit."""
    return pd.concat([table_of(law).assign(fit=name) for name, law in laws.items()], ignore_index=True)


def _alt(laws: Mapping[str, Along]) -> str:
    first = next(iter(laws.values()))
    low, high = max(law.x[0] for law in laws.values()), min(law.x[-1] for law in laws.values())
    at = np.sqrt(low * high)
    said = ", ".join(f"{np.interp(np.log(at), np.log(law.x), law.loss):.4g}" for law in laws.values())
    return f"{len(laws)} fits of {first.y} over {first.axis}: at {first.axis} = {at:.2g} they give {said}."
