"""How far every run lies from the law, against each axis: what a good fit leaves is noise around zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from app.figures import density, dots, marks
from app.figures.axes import axis, extent, log_axis, title
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT, GREY, PLAN
from app.figures.theme import WEB, Part, Theme, compose
from app.figures.words import literal
from engine.fitting.residuals import Residuals
from engine.schema import Floats, Ints, Runs

HEIGHT = 560
MOST_DOTS = 300
"""Runs from which on panels show how densely the runs lie and not each of them: dots take too long to draw."""
MOST_RINGED = 40
"""Outliers ringed, the largest first."""
CELLS = (45, 27)
"""Cells of a density along x and y."""
MOST_NAMES = 8
BINS = 60
COLUMNS = ((0.0, 0.295), (0.3525, 0.6475), (0.705, 1.0))
ROWS = ((0.58, 1.0), (0.0, 0.42))
SHORT = {"N": "<i>N</i> [parameters]", "D": "<i>D</i> [samples]", "C": "<i>C</i> [FLOPs]"}


def draw(found: Residuals, runs: Runs, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """Residuals of ``runs`` against N, D, C and the law's own value, outliers ringed, and how they are distributed."""
    against = {role: runs[role] for role in ("N", "D", "C") if role in runs} | {"predicted": found.predicted}
    odd = _ringed_rows(found)
    top = _top(found)
    traces: list[Part] = []
    layout: dict[str, Part] = {}
    for i, (role, x) in enumerate(against.items()):
        layout |= _panel(theme, i, role, x, top, found.log)
        traces.append(_bulk(theme, runs, x, found, i, (-top, top)))
        if odd.size:
            traces.append(_dots(runs, odd, x, found, i, _ringed(theme)))
    if odd.size:
        traces.append(_names(theme, runs, odd, found, next(iter(against.values())), top))
    last = len(against)
    traces.append(_histogram(found, last))
    layout |= _histogram_axes(theme, last, found, top)
    look: dict[str, Any] = {"bargap": 0.04, "clickmode": "event+select", **layout}
    height = HEIGHT * min(theme.crowding, 1.5)
    figure = compose(theme, height, "residuals", traces, notes=[_summary(theme, last, found)], **look)
    return Drawing(figure, _alt(found, runs, y, list(against)), "residuals", lambda: _table(found, runs))


def _ringed_rows(found: Residuals) -> Ints:
    """Positions of the outliers that are ringed, the largest first."""
    odd = np.flatnonzero(found.outlier)
    return odd[np.argsort(-np.abs(found.z[odd]))][:MOST_RINGED]


def _top(found: Residuals) -> float:
    """Where the y axis ends, above and below zero."""
    known = np.abs(found.residual[np.isfinite(found.residual)])
    return 1.12 * float(np.max(known)) if known.size and np.max(known) > 0 else 1.0


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _panel(theme: Theme, i: int, role: str, x: Floats, top: float, log: bool) -> dict[str, Part]:
    """The axes of panel ``i``; every y axis follows the first one."""
    row, column = divmod(i, 3)
    low, high = extent(x, positive=role != "predicted")
    # Margins that fit the labels need no second layout: with nine axes it takes longer than the drawing.
    place = {"domain": COLUMNS[column], "anchor": f"y{_number(i)}", "automargin": False}
    text = SHORT.get(role, title(role))
    across = log_axis(theme, text, low, high, **place) if low > 0 else axis(theme, text, range=[low, high], **place)
    across["nticks"] = min(across.get("nticks", 6), max(2, round(5 / theme.crowding)))
    up = axis(
        theme, _unit(log) if column == 0 else "", range=[-top, top], domain=ROWS[row], anchor=f"x{_number(i)}",
        zeroline=True, zerolinecolor=GREY, zerolinewidth=1, showticklabels=column == 0, nticks=6, automargin=False,
    )  # fmt: skip
    return {f"xaxis{_number(i)}": across, f"yaxis{_number(i)}": up | ({"matches": "y"} if i else {})}


def _unit(log: bool) -> str:
    return "ln(run / law)" if log else "run − law"


def _bulk(theme: Theme, runs: Runs, x: Floats, found: Residuals, i: int, ends: tuple[float, float]) -> Part:
    """The runs of a panel: each that is no outlier as a dot, or, where they are many, how densely they all lie."""
    if len(runs) <= MOST_DOTS:
        return _dots(runs, np.flatnonzero(~found.outlier), x, found, i, _usual(theme))
    return density.density(x, found.residual, CELLS, ends, ACCENT) | _axes(i)


def _usual(theme: Theme) -> Part:
    return {"size": theme.marker(5), "color": ACCENT, "opacity": 0.7, "line": {"width": 0}}


def _ringed(theme: Theme) -> Part:
    return {"size": theme.marker(9), "color": PLAN, "symbol": "circle-open", "line": {"width": theme.line(2)}}


def _dots(runs: Runs, rows: Ints, x: Floats, found: Residuals, i: int, marker: Part) -> Part:
    extra = {"residual": found.residual[rows], "z": found.z[rows]}
    return dots.dots(runs.take(rows), x[rows], found.residual[rows], extra, marker=marker, **_axes(i))


def _axes(i: int) -> dict[str, str]:
    """Where a trace of panel ``i`` is drawn."""
    return {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}


def _names(theme: Theme, runs: Runs, odd: Ints, found: Residuals, x: Floats, top: float) -> Part:
    """The worst outliers by name in the first panel, where they do not stand in each other's way."""
    names = runs.labels.get("run")
    words = [
        (float(x[i]), float(found.residual[i]), literal(str(names[i])) if names is not None else f"row {runs.ids[i]}")
        for i in odd[:MOST_NAMES].tolist()
    ]
    window = extent(x, positive=True)
    return marks.labels(theme, marks.unobstructed(theme, words, window, (-top, top), (0.35, 0.1)), "top center")


def _histogram(found: Residuals, i: int) -> Part:
    """Counted here: the residuals of a million runs are too much to send."""
    counts, edges = np.histogram(found.residual[np.isfinite(found.residual)], BINS)
    return {
        "type": "histogram",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": counts,
        "histfunc": "sum",
        "xbins": {"start": edges[0], "end": edges[-1], "size": edges[1] - edges[0]},
        "marker": {"color": ACCENT, "line": {"width": 0}},
        "opacity": 0.8,
        "hovertemplate": "%{y} runs at %{x:.3~g}<extra></extra>",
        **_axes(i),
    }


def _histogram_axes(theme: Theme, i: int, found: Residuals, top: float) -> dict[str, Part]:
    """The rest of the last row belongs to the distribution."""
    row, column = divmod(i, 3)
    text = f"{_unit(found.log)} of {len(found.residual):,} runs"
    place = {"domain": (COLUMNS[column][0], COLUMNS[-1][1]), "anchor": f"y{_number(i)}", "automargin": False}
    across = axis(theme, text, range=[-top, top], nticks=7, **place)
    up = axis(theme, "", domain=ROWS[row], anchor=f"x{_number(i)}", showticklabels=False, ticks="", automargin=False)
    return {f"xaxis{_number(i)}": across, f"yaxis{_number(i)}": up}


def _summary(theme: Theme, i: int, found: Residuals) -> Part:
    outliers = int(found.outlier.sum())
    text = f"rms {found.rms:.3g}<br>R² {found.r2:.4f}<br>{outliers} outlier{'' if outliers == 1 else 's'}"
    return marks.corner(theme, text, xref=f"x{_number(i)} domain", yref=f"y{_number(i)} domain")


def _table(found: Residuals, runs: Runs) -> pd.DataFrame:
    roles = {role: runs[role] for role in ("N", "D", "C") if role in runs}
    numbers = {name: getattr(found, name) for name in ("predicted", "residual", "z", "outlier")}
    return pd.DataFrame({"row": runs.ids, **runs.labels, **roles, **numbers})


def _alt(found: Residuals, runs: Runs, y: str, against: list[str]) -> str:
    kind = "Log residuals" if found.log else "Residuals"
    outliers = int(found.outlier.sum())
    return (
        f"{kind} of {y} for {len(runs):,} runs against {', '.join(against)}: root mean square {found.rms:.3g}, "
        f"R squared {found.r2:.4f}, {outliers} outlier{'' if outliers == 1 else 's'}."
    )
