"""How the parameters of a fit move together over its resamples: a matrix of rank correlations."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from isoplan.app.figures.style.axes import axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, GREY, PLAN, rgba
from isoplan.app.figures.style.theme import WEB, Theme, compose
from isoplan.app.figures.style.words import symbol
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import Fit

SCALE = ((0.0, rgba(ACCENT, 0.6)), (0.5, rgba(GREY, 0.08)), (1.0, rgba(PLAN, 0.6)))
"""Minus one to plus one; tints of the page's own colour, so that words on them are read on either background."""
CELL = 56


def draw(fit: Fit, theme: Theme = WEB) -> Drawing | None:
    """The correlation of each pair of free parameters; None where there are no two, or no resamples.

    Ranks are compared, so an amplitude and its logarithm have the same correlations (Spearman).
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
    return Drawing(figure, _alt(names, matrix), "correlations", lambda: _table(names, matrix))


def correlations(fit: Fit) -> tuple[list[str], Floats]:
    """The free parameters that vary over the resamples, and the rank correlations (m, m) between them."""
    draws = {p.name: fit.draws[p.name] for p in fit.parameters if not p.fixed}
    names = [name for name, values in draws.items() if len(values) > 2 and np.ptp(values) > 0]
    if len(names) < 2:
        return [], np.empty((0, 0))
    ranks = np.array([rankdata(draws[name]) for name in names])
    return names, np.asarray(np.corrcoef(ranks), float)


def _table(names: list[str], matrix: Floats) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"parameter": one, "other": other, "rank correlation": matrix[i, j]}
            for i, one in enumerate(names)
            for j, other in enumerate(names)
        ]
    )


def _alt(names: list[str], matrix: Floats) -> str:
    pairs = [(abs(matrix[i, j]), i, j) for i in range(len(names)) for j in range(i)]
    _, i, j = max(pairs)
    return (
        f"Rank correlations of {len(names)} parameters over the resamples; the strongest is {matrix[i, j]:.2f}, "
        f"between {names[j]} and {names[i]}."
    )
