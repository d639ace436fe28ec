"""Legend entries that state the meaning of the lines, tints, shades, dots and the star of a figure.

An entry is a trace without points. ``theme.compose`` lists these entries in a legend above the plot.
"""

from __future__ import annotations

import numpy as np

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.palette import GREY, LIGHT_PAGE, PLAN
from isoplan.app.figures.style.theme import KEY, Part, Theme
from isoplan.engine.mixtures import colouring
from isoplan.engine.planning.drawing.curves import Band
from isoplan.engine.schema import Runs

BEST = "plan: best <i>N</i>*, <i>D</i>*"
"""Name of the star: the compute-optimal model size and data of a plan."""
PATH = "compute-optimal <i>N</i>*, <i>D</i>*"


def line(theme: Theme, name: str, colour: str, width: float = 2.4, dash: str = "solid") -> Part:
    """Return the legend entry of a line."""
    look = {"color": colour, "width": theme.line(width), "dash": dash}
    return _entry(name) | {"mode": "lines", "line": look}


def tint(theme: Theme, name: str, colour: str, opacity: float) -> Part:
    """Return the legend entry of a tinted area."""
    look = {"symbol": "square", "size": theme.marker(13), "color": colour, "opacity": opacity, "line": {"width": 0}}
    return mark(name, look)


def intervals(theme: Theme, colour: str, known: bool) -> list[Part]:
    """Return the entries of the 68 % and the 95 % tint; empty if the intervals are not ``known``."""
    if not known:
        return []
    dark = lines.TINT68 + lines.TINT95
    return [tint(theme, "68 % interval", colour, dark), tint(theme, "95 %", colour, lines.TINT95)]


def is_known(band: Band) -> bool:
    """Return whether a band has a 68 % interval at one point or more."""
    return not bool(np.isnan(band.low68).all())


def beyond(theme: Theme, colour: str, shade: bool = True) -> Part:
    """Return the legend entry of everything beyond the runs: dashed lines and, if ``shade``, the grey shade."""
    dash = f"{theme.line(5):g}px,{theme.line(4):g}px"
    entry = line(theme, "beyond the runs", colour, 2.0, dash)
    if not shade:
        return entry
    look = {"symbol": "square", "size": theme.marker(13), "color": GREY, "opacity": 0.3, "line": {"width": 0}}
    return entry | {"mode": "lines+markers", "marker": look}


def dots(runs: Runs | None, marker: Part) -> list[Part]:
    """Return the legend entry of the runs, with the look of ``marker``; a colour that encodes a value becomes grey.

    The result is empty without runs, or if the legend lists their datasets.
    """
    if runs is None or colouring(runs) is not None:
        return []
    colour = marker.get("color") if isinstance(marker.get("color"), str) else GREY
    kept = {key: marker[key] for key in ("size", "line", "opacity", "symbol") if key in marker}
    return [mark("run", kept | {"color": colour})]


def star(theme: Theme, name: str = "plan", colour: str = PLAN, symbol: str = "star") -> Part:
    """Return the legend entry of the star."""
    look = {"symbol": symbol, "size": theme.marker(13), "color": colour, "line": {"color": LIGHT_PAGE, "width": 1}}
    return mark(name, look)


def mark(name: str, marker: Part) -> Part:
    """Return the legend entry of points with the look ``marker``."""
    return _entry(name) | {"mode": "markers", "marker": marker}


def _entry(name: str) -> Part:
    return {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "name": name,
        "legendgroup": f"{KEY}{name}",
        "showlegend": True,
        "hoverinfo": "skip",
    }
