"""How far every run lies from the law, against each axis: what a good fit leaves is noise around zero."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures import marks
from app.figures.axes import axis, extent, log_axis, title
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT, GREY, PLAN
from app.figures.theme import WEB, Theme, blank
from engine.fitting.residuals import Residuals
from engine.schema import Floats, Ints, Runs

HEIGHT = 560
MOST_DOTS = 600
"""Runs drawn in each panel; outliers are always among them."""
MOST_NAMES = 8
COLUMNS = ((0.0, 0.295), (0.3525, 0.6475), (0.705, 1.0))
ROWS = ((0.58, 1.0), (0.0, 0.42))


def draw(found: Residuals, runs: Runs, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """Residuals of ``runs`` against N, D, C and the law's own value, outliers ringed, and how they are distributed."""
    rows = _shown(found)
    shown = runs.take(rows)
    against = {role: runs[role] for role in ("N", "D", "C") if role in runs} | {"predicted": found.predicted}
    spread = _spread(found)
    figure = blank(theme, HEIGHT, "residuals", bargap=0.04, clickmode="event+select")
    for i, (role, x) in enumerate(against.items()):
        _panel(figure, theme, i, role, x[rows], found.residual[rows], spread, found.log)
        figure.add_trace(_dots(theme, shown, x[rows], found, rows, _axes(i)))
    if found.outlier.any():
        figure.add_trace(_names(theme, runs, found, against))
    _distribution(figure, theme, len(against), found, spread)
    return Drawing(figure, _alt(found, runs, y), _frame(found, runs), "residuals")


def _shown(found: Residuals) -> Ints:
    """Positions of the runs that are drawn: the outliers and the same choice of the others each time."""
    n = len(found.residual)
    if n <= MOST_DOTS:
        return np.arange(n)
    chosen = np.random.default_rng(0).choice(n, MOST_DOTS, replace=False)
    return np.union1d(chosen, np.flatnonzero(found.outlier)[:MOST_DOTS])


def _spread(found: Residuals) -> tuple[float, float]:
    """A y axis with zero in its middle."""
    known = np.abs(found.residual[np.isfinite(found.residual)])
    top = 1.12 * float(np.max(known)) if known.size and np.max(known) > 0 else 1.0
    return -top, top


def _axes(i: int) -> dict[str, str]:
    number = "" if i == 0 else str(i + 1)
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def _panel(
    figure: go.Figure,
    theme: Theme,
    i: int,
    role: str,
    x: Floats,
    residual: Floats,
    spread: tuple[float, float],
    log: bool,
) -> None:
    """The axes of panel ``i``; every y axis is the first one's."""
    row, column = divmod(i, 3)
    number = "" if i == 0 else str(i + 1)
    ends = extent(x, positive=True)
    text = _short(role)
    horizontal = log_axis(theme, text, *ends, domain=COLUMNS[column], anchor=f"y{number}")
    vertical = axis(
        theme, _unit(log) if column == 0 else "", range=list(spread), domain=ROWS[row], anchor=f"x{number}",
        zeroline=True, zerolinecolor=GREY, zerolinewidth=1, showticklabels=column == 0, nticks=6,
        **({"matches": "y"} if i else {}),
    )  # fmt: skip
    figure.update_layout({f"xaxis{number}": horizontal, f"yaxis{number}": vertical})


def _short(role: str) -> str:
    return {"N": "<i>N</i> [parameters]", "D": "<i>D</i> [samples]", "C": "<i>C</i> [FLOPs]"}.get(role, title(role))


def _unit(log: bool) -> str:
    return "ln(run / law)" if log else "run − law"


def _dots(theme: Theme, shown: Runs, x: Floats, found: Residuals, rows: Ints, axes: dict[str, str]) -> marks.Dots:
    """Runs as dots; outliers as larger rings of their own colour."""
    outlier = found.outlier[rows]
    marker = {
        "size": np.where(outlier, theme.marker(9), theme.marker(5)),
        "color": [PLAN if o else ACCENT for o in outlier],
        "symbol": ["circle-open" if o else "circle" for o in outlier],
        "opacity": np.where(outlier, 1.0, 0.7),
        "line": {"width": np.where(outlier, theme.line(2), 0.0)},
    }
    extra = {"residual": found.residual[rows], "z": found.z[rows]}
    return marks.dots(shown, x, found.residual[rows], extra, marker=marker, **axes)


def _names(theme: Theme, runs: Runs, found: Residuals, against: dict[str, Floats]) -> go.Scatter:
    """The worst outliers by name, in the first panel."""
    worst = np.flatnonzero(found.outlier)
    worst = worst[np.argsort(-np.abs(found.z[worst]))][:MOST_NAMES]
    x = next(iter(against.values()))
    names = runs.labels.get("run")
    words = [
        (float(x[i]), float(found.residual[i]), escape(str(names[i])) if names is not None else f"row {runs.ids[i]}")
        for i in worst
    ]
    return marks.labels(theme, words, "top center")


def _distribution(figure: go.Figure, theme: Theme, i: int, found: Residuals, spread: tuple[float, float]) -> None:
    """How the residuals are distributed, in the room that the panels leave."""
    row, column = divmod(i, 3)
    number = str(i + 1)
    domain = (COLUMNS[column][0] + 0.0, COLUMNS[2][1])
    figure.update_layout({
        f"xaxis{number}": axis(theme, f"{_unit(found.log)}, {len(found.residual):,} runs", range=list(spread),
                               domain=domain, anchor=f"y{number}", nticks=7),
        f"yaxis{number}": axis(theme, "", domain=ROWS[row], anchor=f"x{number}", showticklabels=False, ticks=""),
    })  # fmt: skip
    figure.add_trace(
        go.Histogram(
            x=marks.pack(found.residual), nbinsx=60, marker={"color": ACCENT, "line": {"width": 0}}, opacity=0.75,
            hovertemplate="%{y} runs at %{x}<extra></extra>", **_axes(i),
        )
    )  # fmt: skip
    text = f"rms {found.rms:.3g}<br>R² {found.r2:.4f}<br>{int(found.outlier.sum())} outliers"
    figure.add_annotation(
        marks.note(theme, text, xref=f"x{number} domain", yref=f"y{number} domain", x=1, y=1, xanchor="right",
                   yanchor="top", align="right", xshift=-4, yshift=-2)
    )  # fmt: skip


def _frame(found: Residuals, runs: Runs) -> pd.DataFrame:
    roles = {role: runs[role] for role in ("N", "D", "C") if role in runs}
    return pd.DataFrame({
        "row": runs.ids, **runs.labels, **roles,
        "predicted": found.predicted, "residual": found.residual, "z": found.z, "outlier": found.outlier,
    })  # fmt: skip


def _alt(found: Residuals, runs: Runs, y: str) -> str:
    kind = "log residuals" if found.log else "residuals"
    outliers: Any = int(found.outlier.sum())
    return (
        f"{kind.capitalize()} of {y} for {len(runs):,} runs against N, D, C and the law's value: root mean square "
        f"{found.rms:.3g}, R squared {found.r2:.4f}, {outliers} outlier{'s' if outliers != 1 else ''}."
    )
