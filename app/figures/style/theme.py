"""The look of every figure: fonts, sizes, margins, grid. A theme is a value, and a drawing is what it draws.

``WEB`` leaves background and grid to Streamlit's own theme of Plotly and everything in ink to ``STYLE``, so a figure
follows at once, without being drawn again, when the reader switches between light and dark. ``LIGHT``, ``DARK`` and
``PAPER`` carry their own colours, for reports and downloads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pandas as pd
import plotly.graph_objects as go

from isoplan.app.figures.style.palette import DARK_PAGE, LIGHT_PAGE

INK = "#010203"
"""A colour that nothing else has: what is drawn in it takes the colour of the page's text through ``STYLE``."""

STYLE = """
.js-plotly-plot text { fill: currentColor !important; }
.js-plotly-plot [style*="stroke: rgb(1, 2, 3)"] { stroke: currentColor !important; }
.js-plotly-plot [style*="fill: rgb(1, 2, 3)"] { fill: currentColor !important; }
"""
"""Style sheet of a page that shows figures in ``WEB``. Streamlit's own grey for their text is too pale on white."""

SANS = "Source Sans 3, Source Sans Pro, Helvetica Neue, Arial, sans-serif"
WEB_SIZE = 13.0
WEB_WIDTH = 680
"""The width in pixels for which a figure's height is given; print keeps that shape."""
Part: TypeAlias = dict[str, Any]
"""A trace, shape or annotation as Plotly's JSON has it."""
PIXELS_PER_MM = 96 / 25.4
PIXELS_PER_POINT = 96 / 72


@dataclass(frozen=True)
class Theme:
    """Colours are None where the page decides. ``size`` and ``width`` in pixels; ``scale`` is that of the lines."""

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
        """The colour of lines that stand out as text does."""
        return self.ink or INK

    @property
    def small(self) -> float:
        """The size of labels beside lines and of notes."""
        return self.size - 1

    @property
    def crowding(self) -> float:
        """How much more of an axis a label takes than it does on a page."""
        return 1.0 if self.width is None else WEB_WIDTH / self.width * self.size / WEB_SIZE

    def line(self, width: float) -> float:
        """A line width in pixels for this theme."""
        return width * self.scale

    def marker(self, size: float) -> float:
        """A marker size in pixels for this theme."""
        return size * self.scale


WEB = Theme("web")
LIGHT = Theme("light", "#17242c", "#51616b", "#e3eaee", LIGHT_PAGE, SANS)
DARK = Theme("dark", "#e6eef2", "#a3b4bd", "#26343c", DARK_PAGE, SANS)
PAPER = Theme(
    "paper", "#000000", "#333333", "#e6e6e6", LIGHT_PAGE, "Helvetica, Arial, sans-serif", 10.5, 0.62, 330, True
)


def paper(width_mm: float, points: float = 8) -> Theme:
    """The theme of a printed figure: ``width_mm`` millimetres wide (85: one column, 175: two), type of ``points``."""
    lines = 0.62 if width_mm <= 120 else 0.8
    return replace(PAPER, width=width_mm * PIXELS_PER_MM, size=points * PIXELS_PER_POINT, scale=lines)


GROUP = "group: "
"""What the legend groups of data sets begin with."""


def legend(theme: Theme) -> Part:
    """Layout of a legend in one line above the plot area."""
    place = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": theme.small}}
    return {"showlegend": True, "legend": place, "margin": {"t": 44 if theme.width is None else 32}}


def _named_once(traces: Sequence[Part]) -> list[Part]:
    """The traces with one entry of the legend for each data set, however many traces it has."""
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
    """The figure called ``name`` in ``theme``, ``height`` pixels high (so that nothing jumps while it is drawn).

    Traces of data sets (``dots.by_group``) get a legend above the plot where the figure has none, an entry each.
    Zoom and hidden traces survive a redraw of the figure of the same name. Everything is checked once, at the end:
    adding part by part costs three times as long.
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
    """A figure with what goes with it.

    ``alt`` says in one or two sentences what the figure shows, for readers who do not see it. ``name`` is a file name
    without its ending. ``table`` makes the figure's numbers when somebody asks for them.
    """

    figure: go.Figure
    alt: str
    name: str
    table: Callable[[], pd.DataFrame]

    @property
    def data(self) -> pd.DataFrame:
        """The figure's numbers, one row a point or a line's vertex."""
        return self.table()
