"""Figure of the residuals of all runs, one panel per axis. The residuals of an adequate law scatter around zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.marks.lines import pack
from isoplan.app.figures.style.axes import axis, extent, literal, log_axis, title
from isoplan.app.figures.style.palette import ACCENT, GREY, PLAN, tints
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.diagnostics.residuals import Residuals
from isoplan.engine.mixtures import colouring
from isoplan.engine.schema import Runs


def density(x: Floats, y: Floats, cells: tuple[int, int], ends: tuple[float, float], colour: str) -> Part:
    """Return a heat map of the number of points per bin for ``x`` (n,) and ``y`` (n,), on a logarithmic colour scale.

    ``cells`` is the number of bins along x and y. Darker bins have more points. If all ``x`` are positive, bins are
    uniform in log x, for a log axis. Bins along y are uniform between ``ends``.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    low, high = extent(x[finite])
    across = np.geomspace(low, high, cells[0] + 1) if low > 0 else np.linspace(low, high, cells[0] + 1)
    up = np.linspace(*ends, cells[1] + 1)
    counts = np.histogram2d(y[finite], x[finite], bins=(up, across))[0]
    with np.errstate(divide="ignore"):
        shade = np.where(counts > 0, np.log10(counts), np.nan)
    return {
        "type": "heatmap",
        "x": pack(across),
        "y": pack(up),
        "z": shade.astype(np.float32),
        "customdata": counts.astype(np.int32),
        "colorscale": tints(colour),
        "zmin": 0.0,
        "zmax": max(float(np.log10(max(counts.max(), 1.0))), 0.3),
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "%{customdata:,} runs<extra></extra>",
    }


HEIGHT, ONE_ROW = 560, 320
MOST_DOTS = 300
"""Number of runs above which a panel shows their density, because more dots take too long to draw."""
MOST_RINGED = 40
"""Maximum number of outliers that have a ring. If there are more outliers, only the largest have a ring."""
CELLS = (45, 27)
"""Number of bins of the density along x and along y."""
MOST_NAMES = 8
MOST_BINS, FEWEST_BINS = 60, 9
MOST_AXES = 4
"""Maximum number of columns that have a panel of residuals. The panel of the predicted value is not counted."""
PREDICTED = "predicted"
COLUMNS = ((0.0, 0.295), (0.3525, 0.6475), (0.705, 1.0))
ROWS = (((0.0, 1.0),), ((0.58, 1.0), (0.0, 0.42)))
"""Vertical ranges of the rows of panels, for a figure with one row and for a figure with two rows."""
Ends = tuple[float, float]
SHORT = {"N": "<i>N</i> [parameters]", "D": "<i>D</i> [samples]", "C": "<i>C</i> [FLOPs]"}


def draw(
    found: Residuals, runs: Runs, y: str = "loss", theme: Theme = WEB, axes: Sequence[str] = ("N", "D", "C")
) -> Drawing:
    """Draw the residuals of ``runs`` in one panel per column, and their histogram in the last panel.

    The columns are the ``axes`` of the law, then N, D and C, then the predicted value. Outliers have a ring.
    """
    roles = [role for role in dict.fromkeys((*axes, "N", "D", "C")) if role in runs][:MOST_AXES]
    against = {role: runs[role] for role in roles} | {PREDICTED: found.predicted}
    odd = _ringed_rows(found)
    top = _top(found)
    traces: list[Part] = []
    layout: dict[str, Part] = {}
    rows = ROWS[len(against) // 3]
    for i, (role, x) in enumerate(against.items()):
        layout |= _panel(theme, i, (role, y), x, top, found.log, rows)
        traces += _bulk(theme, runs, x, found, i, (-top, top))
        if odd.size:
            traces += _outliers(theme, runs, odd, x, found, i)
    if odd.size:
        traces.append(_names(theme, runs, odd, found, next(iter(against.values())), top))
    last = len(against)
    traces += _histogram(found, runs, last)
    layout |= _histogram_axes(theme, last, found, top, rows)
    look: dict[str, Any] = {
        "bargap": 0.04,
        "barmode": "stack",
        "margin": {"t": 28 if theme.width is None else 18},
        "clickmode": "event+select",
        **layout,
    }
    height = (HEIGHT if len(rows) > 1 else ONE_ROW) * min(theme.crowding, 1.5)
    figure = compose(theme, height, "residuals", traces, notes=[_summary(theme, last, found)], **look)
    return Drawing(figure, _alt(found, runs, y, list(against)), "residuals", lambda: _table(found, runs, roles))


def _ringed_rows(found: Residuals) -> Ints:
    """Return the positions of the outliers that have a ring, the largest outlier first."""
    odd = np.flatnonzero(found.outlier)
    return odd[np.argsort(-np.abs(found.z[odd]))][:MOST_RINGED]


def _top(found: Residuals) -> float:
    """Return the upper end of the y axis; the lower end is its negative."""
    sizes = np.abs(found.residual[np.isfinite(found.residual)])
    return 1.12 * float(np.max(sizes)) if sizes.size and np.max(sizes) > 0 else 1.0


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _panel(
    theme: Theme, i: int, names: tuple[str, str], x: Floats, top: float, log: bool, rows: Sequence[Ends]
) -> dict[str, Part]:
    """Return the axes of panel number ``i``, by their name in the layout.

    ``names`` are the column on the x axis and the quantity of the residuals. All panels have the y range of the first
    panel, also after a zoom.
    """
    (row, column), (role, y) = divmod(i, 3), names
    low, high = extent(x, positive=role in SHORT)
    # With fixed margins, Plotly needs only one layout pass. For nine axes, a second pass takes longer than the drawing.
    place = {"domain": COLUMNS[column], "anchor": f"y{_number(i)}", "automargin": False}
    text = f"Predicted {'loss' if y == 'loss' else literal(y)}" if role == PREDICTED else SHORT.get(role, title(role))
    across = log_axis(theme, text, low, high, **place) if low > 0 else axis(theme, text, range=[low, high], **place)
    if 4 < high / low < 100 and low > 0:  # Plotly's default ticks overlap in a narrow panel
        across["dtick"] = "D2"
    across["nticks"] = min(across.get("nticks", 6), max(2, round(5 / theme.crowding)))
    up = axis(
        theme, _unit(log) if column == 0 else "", range=[-top, top], domain=rows[row], anchor=f"x{_number(i)}",
        zeroline=True, zerolinecolor=GREY, zerolinewidth=1, showticklabels=column == 0, nticks=6, automargin=False,
    )  # fmt: skip
    return {f"xaxis{_number(i)}": across, f"yaxis{_number(i)}": up | ({"matches": "y"} if i else {})}


def _unit(log: bool) -> str:
    return "ln(run / law)" if log else "run − law"


def _bulk(theme: Theme, runs: Runs, x: Floats, found: Residuals, i: int, ends: tuple[float, float]) -> list[Part]:
    """Return dots for the runs that are not outliers.

    If there are more than ``MOST_DOTS`` runs, the result depends on the number of datasets. For one dataset, it is the
    density of all runs. For several datasets, it contains the dots of a random sample of runs, because a density has
    only one colour.
    """
    usual = np.flatnonzero(~found.outlier)
    if len(runs) > MOST_DOTS:
        if colouring(runs) is None:
            return [density(x, found.residual, CELLS, ends, ACCENT) | _axes(i)]
        usual = usual[dots.chosen(len(usual), MOST_DOTS)]
    trace = _dots(runs, usual, x, found, i, _usual(theme))
    return dots.by_group(runs.take(usual), trace, runs)


def _usual(theme: Theme) -> Part:
    return {"size": theme.marker(5), "color": ACCENT, "opacity": 0.7, "line": {"width": 0}}


def _ringed(theme: Theme) -> Part:
    return {"size": theme.marker(9), "color": PLAN, "symbol": "circle-open", "line": {"width": theme.line(2)}}


def _outliers(theme: Theme, runs: Runs, odd: Ints, x: Floats, found: Residuals, i: int) -> list[Part]:
    """Return a ring for each outlier.

    If there are several datasets, a dot inside the ring has the colour of its dataset.
    """
    ring = _dots(runs, odd, x, found, i, _ringed(theme))
    filled = dots.by_group(runs.take(odd), _dots(runs, odd, x, found, i, _usual(theme)), runs)
    return [*filled, ring] if colouring(runs) is not None else [ring]


def _dots(runs: Runs, rows: Ints, x: Floats, found: Residuals, i: int, marker: Part) -> Part:
    extra = {"residual": found.residual[rows], "z": found.z[rows]}
    return dots.dots(runs.take(rows), x[rows], found.residual[rows], extra, marker=marker, **_axes(i))


def _axes(i: int) -> dict[str, str]:
    """Return the entries that place a trace in panel number ``i``."""
    return {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}


def _names(theme: Theme, runs: Runs, odd: Ints, found: Residuals, x: Floats, top: float) -> Part:
    """Return the names of the largest outliers as labels in the first panel. Labels that would overlap are left out."""
    names = runs.labels.get("run")
    words = [
        (float(x[i]), float(found.residual[i]), literal(str(names[i])) if names is not None else f"row {runs.ids[i]}")
        for i in odd[:MOST_NAMES].tolist()
    ]
    window = extent(x, positive=True)
    return lines.labels(theme, lines.unobstructed(theme, words, window, (-top, top), (0.35, 0.1)), "top center")


def _histogram(found: Residuals, runs: Runs, i: int) -> list[Part]:
    """Return the histogram of the residuals as stacked bars, one colour per dataset.

    The bins are counted here, because the residuals of a million runs are too much data for the browser.
    """
    there = np.isfinite(found.residual)
    residual = found.residual[there]
    edges = np.histogram_bin_edges(residual, min(max(FEWEST_BINS, 3 * math.isqrt(residual.size)), MOST_BINS))
    by = colouring(runs)
    parts: list[tuple[Floats, str]] = [(residual, ACCENT)]
    if by is not None:
        codes = by[1].codes[there]
        parts = [(residual[codes == code], dots.group_colour(by[1], int(code))) for code in np.unique(codes)]
    return [_bars(np.histogram(part, edges)[0], edges, colour, i) for part, colour in parts]


def _bars(counts: Ints, edges: Floats, colour: str, i: int) -> Part:
    return {
        "type": "histogram",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": counts,
        "histfunc": "sum",
        "xbins": {"start": edges[0], "end": edges[-1], "size": edges[1] - edges[0]},
        "marker": {"color": colour, "line": {"width": 0}},
        "opacity": 0.8,
        "hovertemplate": "%{y} runs at %{x:.3~g}<extra></extra>",
        **_axes(i),
    }


def _histogram_axes(theme: Theme, i: int, found: Residuals, top: float, rows: Sequence[Ends]) -> dict[str, Part]:
    """Return the axes of the histogram, which fills the free columns of the last row of panels."""
    row, column = divmod(i, 3)
    text = f"{_unit(found.log)} of {int(np.isfinite(found.residual).sum()):,} runs"
    place = {"domain": (COLUMNS[column][0], COLUMNS[-1][1]), "anchor": f"y{_number(i)}", "automargin": False}
    across = axis(theme, text, range=[-top, top], nticks=7, **place)
    up = axis(theme, "", domain=rows[row], anchor=f"x{_number(i)}", showticklabels=False, ticks="", automargin=False)
    return {f"xaxis{_number(i)}": across, f"yaxis{_number(i)}": up}


def _summary(theme: Theme, i: int, found: Residuals) -> Part:
    outliers = int(found.outlier.sum())
    text = f"rms {found.rms:.3g}, R² {found.r2:.4f}, {outliers} outlier{'' if outliers == 1 else 's'}"
    place: Part = {"xref": f"x{_number(i)} domain", "yref": f"y{_number(i)} domain", "yanchor": "bottom", "yshift": 1}
    return lines.corner(theme, text, **place)


def _table(found: Residuals, runs: Runs, axes: Sequence[str]) -> pd.DataFrame:
    roles = {role: runs[role] for role in axes}
    numbers = {name: getattr(found, name) for name in ("predicted", "residual", "z", "outlier")}
    return pd.DataFrame({"row": runs.ids, **runs.labels, **roles, **numbers})


def _alt(found: Residuals, runs: Runs, y: str, against: list[str]) -> str:
    kind = "Log residuals" if found.log else "Residuals"
    outliers = int(found.outlier.sum())
    return (
        f"{kind} of {y} for {len(runs):,} runs against {', '.join(against)}: root mean square {found.rms:.3g}, "
        f"R squared {found.r2:.4f}, {outliers} outlier{'' if outliers == 1 else 's'}."
    )
