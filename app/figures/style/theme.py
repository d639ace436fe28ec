"""Style of every figure: fonts, sizes, margins, grid. A theme is a value, and a drawing is figure data.

In ``WEB``, Streamlit's Plotly theme sets background and grid, and ``STYLE`` sets the colour of all ink. A figure then
changes without a new drawing when the reader switches between light and dark. ``LIGHT``, ``DARK`` and ``PAPER`` have
their own colours, for reports and downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pandas as pd
import plotly.graph_objects as go

from isoplan.app.figures.style.palette import DARK_PAGE, LIGHT_PAGE

INK = "#010203"
"""A reserved colour: ``STYLE`` replaces it by the text colour of the page."""

STYLE = """
.js-plotly-plot text { fill: currentColor !important; }
.js-plotly-plot [style*="stroke: rgb(1, 2, 3)"] { stroke: currentColor !important; }
.js-plotly-plot [style*="fill: rgb(1, 2, 3)"] { fill: currentColor !important; }
"""
"""Style sheet of a page with figures in ``WEB``. Streamlit's default grey text has too little contrast on white."""

SANS = "Source Sans 3, Source Sans Pro, Helvetica Neue, Arial, sans-serif"
WEB_SIZE = 13.0
WEB_WIDTH = 680
"""Width in pixels to which a figure's height refers; printed figures have the same aspect ratio."""
Part: TypeAlias = dict[str, Any]
"""A trace, shape or annotation in Plotly's JSON form."""
PIXELS_PER_MM = 96 / 25.4
PIXELS_PER_POINT = 96 / 72


@dataclass(frozen=True)
class Theme:
    """A theme. Colours are None if the page determines them. ``size``, ``width`` in pixels; ``scale`` is for lines."""

    name: str
    ink: str | None = None
    muted: str | None = None
    grid: str | None = None
    paper: str | None = None
    family: str | None = None
    size: float = WEB_SIZE
    scale: float = 1.0
    width: float | None = None
    frame: bool = False

    @property
    def text(self) -> str:
        """Colour of text and of highlighted lines."""
        return self.ink or INK

    @property
    def small(self) -> float:
        """Font size of labels beside lines and of notes."""
        return self.size - 1

    @property
    def crowding(self) -> float:
        """Size of a label relative to an axis, compared with a page."""
        return 1.0 if self.width is None else WEB_WIDTH / self.width * self.size / WEB_SIZE

    def line(self, width: float) -> float:
        """Return a line width in pixels for this theme."""
        return width * self.scale

    def marker(self, size: float) -> float:
        """Return a marker size in pixels for this theme."""
        return size * self.scale


WEB = Theme("web")
LIGHT = Theme("light", "#17242c", "#51616b", "#e3eaee", LIGHT_PAGE, SANS)
DARK = Theme("dark", "#e6eef2", "#a3b4bd", "#26343c", DARK_PAGE, SANS)
PAPER = Theme(
    "paper", "#000000", "#333333", "#e6e6e6", LIGHT_PAGE, "Helvetica, Arial, sans-serif", 10.5, 0.62, 330, True
)


def paper(width_mm: float, points: float = 8) -> Theme:
    """Return the theme of a printed figure, ``width_mm`` wide (85: one column, 175: two) with a font of ``points``."""
    lines = 0.62 if width_mm <= 120 else 0.8
    return replace(PAPER, width=width_mm * PIXELS_PER_MM, size=points * PIXELS_PER_POINT, scale=lines)


GROUP = "group: "
"""Prefix of the legend groups of datasets."""


def legend(theme: Theme) -> Part:
    """Return the layout of a legend in one line above the plot area."""
    place = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": theme.small}}
    return {"showlegend": True, "legend": place, "margin": {"t": 44 if theme.width is None else 32}}


def _named_once(traces: Sequence[Part]) -> list[Part]:
    """Return the traces with one legend entry per dataset, for any number of traces."""
    named, out = set[str](), []
    for trace in traces:
        group = str(trace.get("legendgroup", ""))
        again = group.startswith(GROUP) and group in named
        named.add(group)
        out.append({**trace, "showlegend": False} if again else trace)
    return out


def compose(
    theme: Theme,
    height: float,
    name: str,
    traces: Sequence[Part],
    shapes: Sequence[Part] = (),
    notes: Sequence[Part] = (),
    **layout: Any,
) -> go.Figure:
    """Return the figure called ``name`` in ``theme``, with a fixed ``height`` in pixels to avoid layout shifts.

    Traces of datasets (``dots.by_group``) get a legend above the plot, one entry each, if the figure has none. Zoom and
    hidden traces persist when the figure of the same name is redrawn. Everything is validated once at the end, because
    adding single parts takes three times as long.
    """
    margin = {"l": 64, "r": 24, "t": 16, "b": 52, "pad": 0}
    if theme.width is not None:
        margin |= {"l": 48, "r": 16, "t": 8, "b": 38}
    base: dict[str, Any] = {
        "height": height if theme.width is None else round(theme.width * height / WEB_WIDTH),
        "uirevision": name,
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "namelength": 0},
        "separators": ".,",
        "font": {"size": theme.size},
        "shapes": list(shapes),
        "annotations": list(notes),
    }
    if theme.width:
        base["width"] = round(theme.width)
    traces = _named_once(traces)
    if "showlegend" not in layout and any(str(t.get("legendgroup", "")).startswith(GROUP) for t in traces):
        traces = [{"showlegend": False} | t for t in traces]
        above = legend(theme)
        base |= {key: above[key] for key in ("showlegend", "legend")}
        layout["margin"] = {
            **layout.get("margin", {}),
            "t": max(above["margin"]["t"], layout.get("margin", {}).get("t", 0)),
        }
    if theme.ink:
        base["font"] |= {"color": theme.ink, "family": theme.family}
        base |= {"paper_bgcolor": theme.paper, "plot_bgcolor": theme.paper, "template": "none"}
        base["hoverlabel"] |= {"bgcolor": theme.paper, "bordercolor": theme.muted, "font": {"color": theme.ink}}
    return go.Figure({"data": list(traces), "layout": base | layout | {"margin": margin | layout.get("margin", {})}})


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure and its description.

    ``alt`` describes the figure in one or two sentences for readers who cannot see it. ``name`` is a file name without
    its extension. ``table`` makes the figure's data on demand.
    """

    figure: go.Figure
    alt: str
    name: str
    table: Callable[[], pd.DataFrame]

    @property
    def data(self) -> pd.DataFrame:
        """Data of the figure, one row per point or per vertex of a line."""
        return self.table()
