"""Style of every figure: fonts, sizes, margins, grid.

A theme contains all values of a style. In ``WEB``, Streamlit's Plotly theme sets the colours of background and grid,
and ``STYLE`` sets the colour of text and black lines. The browser can then switch between a light and a dark page
without a new drawing. ``LIGHT``, ``DARK`` and ``PAPER`` have their own colours, for reports and downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pandas as pd
import plotly.graph_objects as go

from isoplan.app.figures.style.palette import DARK_PAGE, LIGHT_PAGE

INK = "#010203"
"""Reserved colour that marks text and lines. ``STYLE`` replaces this colour by the text colour of the page. It does the
same with all other colours of texts, except white."""

STYLE = """
.js-plotly-plot text:not([style*="fill: rgb(255, 255, 255)"]) { fill: currentColor !important; }
.js-plotly-plot [style*="stroke: rgb(1, 2, 3)"] { stroke: currentColor !important; }
.js-plotly-plot [style*="fill: rgb(1, 2, 3)"] { fill: currentColor !important; }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] :not(a, code),
[data-testid="stWidgetLabel"][disabled], [data-disabled="true"] [data-tag] :not(svg, svg *) {
  color: light-dark(#51616b, #a3b4bd) !important; opacity: 1 !important;
}
[data-disabled="true"] [data-tag] { background: transparent !important; }
[data-testid="stApp"] :is(a, button, summary, [role="tab"]):focus-visible {
  outline: 2px solid light-dark(#0b6e8f, #4db6d8) !important; outline-offset: 2px;
}
"""
"""Style sheet of every page. It corrects two defects of Streamlit.

Grey text in figures, captions and labels has too little contrast on white. Some controls do not show whether they have
the keyboard focus.
"""

SANS = "Source Sans 3, Source Sans Pro, Helvetica Neue, Arial, sans-serif"
WEB_SIZE = 13.0
WEB_WIDTH = 680
"""Width in pixels for which the heights of figures are given. Printed figures have the same ratio of width to height.
"""
Part: TypeAlias = dict[str, Any]
"""A trace, shape, annotation or part of a layout, in Plotly's JSON form."""
PIXELS_PER_MM = 96 / 25.4
PIXELS_PER_POINT = 96 / 72


@dataclass(frozen=True)
class Theme:
    """Colours, font and sizes of a figure. A colour is None if the page determines it.

    ``size`` is the font size in pixels. ``width`` is the width of the figure in pixels. ``scale`` multiplies the widths
    of lines and the sizes of markers.
    """

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
        """Colour of text, and of lines that stand out."""
        return self.ink or INK

    @property
    def small(self) -> float:
        """Font size in pixels of notes and of labels next to lines."""
        return self.size - 1

    @property
    def crowding(self) -> float:
        """Ratio of text size to figure size, relative to a figure on a page (1 on a page)."""
        return 1.0 if self.width is None else WEB_WIDTH / self.width * self.size / WEB_SIZE

    def line(self, width: float) -> float:
        """Return ``width`` multiplied by the scale of this theme, in pixels."""
        return width * self.scale

    def marker(self, size: float) -> float:
        """Return the marker size ``size`` multiplied by the scale of this theme, in pixels."""
        return size * self.scale


WEB = Theme("web")
LIGHT = Theme("light", "#17242c", "#51616b", "#e3eaee", LIGHT_PAGE, SANS)
DARK = Theme("dark", "#e6eef2", "#a3b4bd", "#26343c", DARK_PAGE, SANS)
PAPER = Theme(
    "paper", "#000000", "#333333", "#e6e6e6", LIGHT_PAGE, "Helvetica, Arial, sans-serif", 10.5, 0.62, 330, True
)


def paper(width_mm: float, points: float = 8) -> Theme:
    """Return the theme of a printed figure with a width of ``width_mm`` and a font size of ``points``.

    A journal column is about 85 mm wide, and two columns are about 175 mm wide.
    """
    lines = 0.62 if width_mm <= 120 else 0.8
    return replace(PAPER, width=width_mm * PIXELS_PER_MM, size=points * PIXELS_PER_POINT, scale=lines)


GROUP = "group: "
"""Prefix of the legend group of a dataset, which distinguishes it from other legend groups."""

KEY = "key: "
"""Prefix of the legend group of an entry that explains a mark (``marks.keys``)."""


def legend(theme: Theme, y: float = 1.02) -> Part:
    """Return layout entries of a legend above the plot. The lower end of the legend is at the height ``y``."""
    place = {"orientation": "h", "y": y, "yanchor": "bottom", "x": 0, "font": {"size": theme.small}}
    return {"showlegend": True, "legend": place, "margin": {"t": 44 if theme.width is None else 32}}


def _named_once(traces: Sequence[Part]) -> list[Part]:
    """Return ``traces`` such that each dataset and each key has only one legend entry.

    A dataset can have several traces.
    """
    named, out = set[str](), []
    for trace in traces:
        group = str(trace.get("legendgroup", ""))
        again = group.startswith((GROUP, KEY)) and group in named
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
    """Return a figure from its traces, shapes, notes and ``layout``, in the style of ``theme``.

    The figure has a fixed ``height`` in pixels, so that the page does not move while it loads. A legend above the plot
    lists datasets (``dots.by_group``) and keys (``marks.keys``), unless ``layout`` sets ``showlegend``. If a figure
    with the same ``name`` is drawn again, the zoom and the hidden traces are kept. The figure is made in one call,
    because Plotly needs three times as long to add single parts.
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
    groups = [str(t.get("legendgroup", "")) for t in traces]
    if "showlegend" not in layout and any(group.startswith((GROUP, KEY)) for group in groups):
        traces = [{"showlegend": False} | t for t in traces]
        above = legend(theme)
        if not any(group.startswith(GROUP) for group in groups):
            above["legend"] |= {"itemclick": False, "itemdoubleclick": False}
        base |= {"showlegend": True, "legend": above["legend"] | layout.pop("legend", {})}
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
    """A figure, its description, and its data.

    ``alt`` describes the figure in one or two sentences for readers who cannot see it. ``name`` is the file name of a
    download without its extension. ``table`` returns the data of the figure when it is called.
    """

    figure: go.Figure
    alt: str
    name: str
    table: Callable[[], pd.DataFrame]

    @property
    def data(self) -> pd.DataFrame:
        """Data of the figure as a table, one row per point or per vertex of a line."""
        return self.table()
