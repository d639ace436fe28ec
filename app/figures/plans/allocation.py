"""Compute-optimal N* and D* against compute, with the minima that determine them and the plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from isoplan.app.figures.fits.frontier import table
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import extent, log_axis
from isoplan.app.figures.style.palette import ACCENT, LIGHT_PAGE, category
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.planning.drawing.curves import Frontier
from isoplan.engine.quantities import count, power10

HEIGHT = 420
COLOURS = {"N": ACCENT, "D": category(2)}
Minimum = tuple[float, float, float]
"""C, N* and D* of the minimum of an iso-FLOP curve."""


def draw(path: Frontier, chosen: Minimum | None, y: str, minima: Sequence[Minimum] = (), theme: Theme = WEB) -> Drawing:
    """Draw the frontier of ``y``: N* and D* against C with bands, the ``minima`` behind them, and ``chosen`` stars."""
    window = float(path.C[0]), float(path.C[-1])
    lines = {"N": (path.N, path.N_band), "D": (path.D, path.D_band)}
    values = extent(path.N, path.D, *(np.array(column) for column in list(zip(*minima, strict=True))[1:]))
    traces: list[Part] = []
    for i, (name, (line, band)) in enumerate(lines.items(), start=1):
        hover = f"C  %{{x:.3~e}}<br>{name}*  %{{y:.3~s}}<extra>frontier</extra>"
        traces += marks.bands(path.C, band, COLOURS[name], values)
        traces += marks.law(theme, path.C, line, path.inside, COLOURS[name], 2.4, hovertemplate=hover)
        traces += _minima(theme, minima, name, i)
        traces.append(marks.labels(theme, [(window[1], float(line[-1]), f"<i>{name}</i>*")], "middle right"))
    traces += _chosen(theme, chosen, window)
    shades, notes = marks.beyond(theme, path.C, path.inside, top=False)
    figure = compose(
        theme, HEIGHT, "allocation", traces, shades, notes, margin={"r": 40},
        xaxis=log_axis(theme, "Training compute <i>C</i> [FLOPs]", *window),
        yaxis=log_axis(theme, "<i>N</i>* [parameters], <i>D</i>* [samples]", *values),
    )  # fmt: skip
    return Drawing(figure, _alt(path, y), "allocation", lambda: _table(path, minima))


def _minima(theme: Theme, minima: Sequence[Minimum], name: str, column: int) -> list[Part]:
    if not minima:
        return []
    line = {"color": LIGHT_PAGE, "width": theme.line(1)}
    hover = f"C  %{{x:.3~e}}<br>{name}*  %{{y:.3~s}}<extra>minimum of its iso-FLOP curve</extra>"
    return [{"type": "scatter", "mode": "markers", "name": f"{name} minima", "x": [m[0] for m in minima],
             "y": [m[column] for m in minima], "hovertemplate": hover,
             "marker": {"size": theme.marker(8), "color": COLOURS[name], "line": line}}]  # fmt: skip


def _chosen(theme: Theme, chosen: Minimum | None, window: marks.Span) -> list[Part]:
    """Return a star for N* and D* at the compute of the recipe."""
    if chosen is None or not window[0] <= chosen[0] <= window[1]:
        return []
    C, *sizes = chosen
    return [
        marks.star(theme, C, x, f"<b>Recipe</b>  {power10(C)} FLOPs<br>{name}*  {count(x, 3)}")
        for name, x in zip(COLOURS, sizes, strict=True)
    ]


def _table(path: Frontier, minima: Sequence[Minimum]) -> pd.DataFrame:
    found = pd.DataFrame(list(minima), columns=["C", "N", "D"]).assign(part="minimum")
    return pd.concat([table(path).assign(part="frontier"), found] if len(found) else [table(path)], ignore_index=True)


def _alt(path: Frontier, y: str) -> str:
    first, last = ((power10(float(path.C[i])), count(float(path.N[i])), count(float(path.D[i]))) for i in (0, -1))
    return (
        f"Compute-optimal model and data for {y}: from N* = {first[1]} on {first[2]} samples at {first[0]} FLOPs to "
        f"N* = {last[1]} on {last[2]} at {last[0]}."
    )
