"""Figures of the parameters in all resamples of a fit: point clouds of parameter pairs, and rank correlations."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis, extent, log_axis, symbol
from isoplan.app.figures.style.palette import ACCENT, GREY, PLAN, rgba
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import Fit

PANEL = 130
"""Height of one panel in pixels."""
MOST_DRAWS = 300
MOST_PARAMETERS = 6
GAP = 0.025


def draw_pairs(fit: Fit, theme: Theme = WEB) -> Drawing | None:
    """For each pair of free parameters, draw the resamples as a cloud of points, and the best fit as a star.

    If a cloud is narrow and slanted, only a combination of the two parameters is determined. Returns None if fewer than
    two parameters are free, or if a free parameter does not vary.
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
    """Return the axes of panel number ``i``. Only panels at the left and at the bottom edge have axis labels."""
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
    return f"{len(fit.resamples):,} resamples of each pair of parameters, around the best fit: {best}."


SCALE = ((0.0, rgba(ACCENT, 0.6)), (0.5, rgba(GREY, 0.08)), (1.0, rgba(PLAN, 0.6)))
"""Colour scale from -1 to 1. Its colours are transparent, so that numbers on them are legible on every page."""
CELL = 56


def draw_correlations(fit: Fit, theme: Theme = WEB) -> Drawing | None:
    """Draw the rank correlation (Spearman) of each pair of free parameters over the resamples.

    Ranks are used so that a parameter and its logarithm have the same correlations. Returns None if fewer than two
    parameters vary.
    """
    names, matrix = correlations(fit)
    if len(names) < 2:
        return None
    symbols = [symbol(name) for name in names]
    shown = np.where(np.tri(len(names), dtype=bool), matrix, np.nan)
    heat = {
        "type": "heatmap", "x": symbols, "y": symbols, "z": shown, "zmin": -1, "zmax": 1, "colorscale": list(SCALE),
        "xgap": 2, "ygap": 2, "showscale": False, "hoverongaps": False,
        "hovertemplate": "%{x} and %{y}: %{z:.3f}<extra></extra>",
    }  # fmt: skip
    cells = [(i, j) for i in range(len(names)) for j in range(i + 1)]
    words = {
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "textfont": {"size": theme.small},
        "x": [symbols[j] for _, j in cells], "y": [symbols[i] for i, _ in cells],
        "text": [f"{matrix[i, j]:.2f}".replace("-", "−") for i, j in cells],
    }  # fmt: skip
    plain = {"showgrid": False, "ticks": "", "type": "category"}
    figure = compose(
        theme, CELL * len(names) + 60, "correlations", [heat, words],
        xaxis=axis(theme, "") | plain, yaxis=axis(theme, "") | plain | {"autorange": "reversed"},
    )  # fmt: skip
    return Drawing(figure, _correlation_alt(names, matrix), "correlations", lambda: _correlation_table(names, matrix))


def correlations(fit: Fit) -> tuple[list[str], Floats]:
    """Return the names of the m free parameters that vary over the resamples, and their rank correlations (m, m)."""
    draws = {p.name: fit.draws[p.name] for p in fit.parameters if not p.fixed}
    names = [name for name, values in draws.items() if len(values) > 2 and np.ptp(values) > 0]
    if len(names) < 2:
        return [], np.empty((0, 0))
    ranks = np.array([rankdata(draws[name]) for name in names])
    return names, np.asarray(np.corrcoef(ranks), float)


def _correlation_table(names: list[str], matrix: Floats) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"parameter": one, "other": other, "rank correlation": matrix[i, j]}
            for i, one in enumerate(names)
            for j, other in enumerate(names)
        ]
    )


def _correlation_alt(names: list[str], matrix: Floats) -> str:
    pairs = [(abs(matrix[i, j]), i, j) for i in range(len(names)) for j in range(i)]
    _, i, j = max(pairs)
    return (
        f"Rank correlations of {len(names)} parameters over the resamples; the strongest is {matrix[i, j]:.2f}, "
        f"between {names[j]} and {names[i]}."
    )
