"""How the parameters of a fit hang together: every pair of them over the resamples."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis, extent, log_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import symbol
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import Fit

PANEL = 130
"""Height of a panel in pixels."""
MOST_DRAWS = 300
MOST_PARAMETERS = 6
GAP = 0.025


def draw(fit: Fit, theme: Theme = WEB) -> Drawing | None:
    """Each pair of free parameters against each other, the best fit as a star; None without resamples to show.

    A narrow slanted cloud says that only a combination of the two is known.
    """
    names = [p.name for p in fit.parameters if not p.fixed][:MOST_PARAMETERS]
    draws = {n: fit.draws[n][np.isfinite(fit.draws[n])][:MOST_DRAWS] for n in names}
    if len(names) < 2 or any(len(d) < 2 or np.ptp(d) == 0 for d in draws.values()):
        return None
    traces: list[Part] = []
    layout: dict[str, Any] = {}
    for i, (across, up) in enumerate(combinations(names, 2)):
        column, row = names.index(across), names.index(up) - 1
        layout |= _panel(theme, i, draws, across, up, column, row, len(names) - 1)
        traces += _cloud(theme, fit, i, across, up)
    figure = compose(theme, PANEL * (len(names) - 1) + 60, "resamples", traces, **layout)
    return Drawing(figure, _alt(fit, names), "resamples", lambda: _table(fit))


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _panel(
    theme: Theme, i: int, draws: dict[str, Floats], across: str, up: str, column: int, row: int, n: int
) -> dict[str, Part]:
    """The axes of a panel; only those at the left and at the bottom are labelled."""
    size = (1 + GAP) / n
    x = _axis(theme, across, draws[across], row == n - 1)
    y = _axis(theme, up, draws[up], column == 0)
    place = {"domain": (column * size, column * size + size - GAP), "anchor": f"y{_number(i)}"}
    top = 1 - row * size
    stand = {"domain": (max(top - size + GAP, 0.0), top), "anchor": f"x{_number(i)}"}
    return {f"xaxis{_number(i)}": x | place, f"yaxis{_number(i)}": y | stand}


def _axis(theme: Theme, name: str, values: Floats, labelled: bool) -> Part:
    low, high = extent(values)
    text = symbol(name) if labelled else ""
    wide = low > 0 and high / low > 10
    made = log_axis(theme, text, low, high) if wide else axis(theme, text, range=[low, high])
    return made | {"showticklabels": labelled, "nticks": 4, "showgrid": False}


def _cloud(theme: Theme, fit: Fit, i: int, across: str, up: str) -> list[Part]:
    axes = {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}
    x, y = (lines.pack(fit.draws[name][:MOST_DRAWS]) for name in (across, up))
    marker = {"size": theme.marker(4), "color": ACCENT, "opacity": 0.5, "line": {"width": 0}}
    hover = f"{across}  %{{x:.4~g}}<br>{up}  %{{y:.4~g}}<extra></extra>"
    dots = {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker, "hovertemplate": hover}
    at = float(fit.values[across]), float(fit.values[up])
    best = lines.star(theme, *at, f"<b>Best fit</b><br>{across}  {at[0]:.4g}<br>{up}  {at[1]:.4g}")
    small = {"name": "best fit", "marker": best["marker"] | {"size": theme.marker(9), "line": {"width": 0}}}
    return [dots | axes, best | small | axes]


def _table(fit: Fit) -> pd.DataFrame:
    return pd.DataFrame({name: values for name, values in fit.draws.items()})


def _alt(fit: Fit, names: list[str]) -> str:
    best = ", ".join(f"{name} {float(fit.values[name]):.3g}" for name in names)
    return f"{len(fit.resamples):,} resamples of the parameters, every pair of them, around the best fit: {best}."
