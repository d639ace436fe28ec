"""Do metrics rank the runs alike: rank correlations for each budget or group, with the sign flips framed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.fits.correlations import SCALE
from isoplan.app.figures.marks.dots import colour_bar
from isoplan.app.figures.style.axes import axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, PLAN, rgba
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import literal
from isoplan.engine.agreement import Agreement, flips

ACROSS = 3
"""Panels in a row."""
MOST_PANELS = 9
LEGIBLE = 14
"""Cells beside each other, over all panels of a row, up to which each says its number on a narrow page."""
GAP = 0.03
CELL, ALONE, NAMES = 36, 52, 104
"""Pixels of a cell, of one in a panel of its own, and between two rows of panels for the names of the metrics."""
BAR, BAR_HEIGHT = "rank correlation", 200
AGREE = ((0.0, rgba(PLAN, 0.6)), SCALE[1], (1.0, rgba(ACCENT, 0.6)))
"""The scale of ``correlations`` turned round: what disagrees stands out."""


def draw(found: Sequence[Agreement], theme: Theme = WEB) -> Drawing:
    """A panel for each part of the table (the first nine): 1 where two metrics rank its runs alike, -1 where against.

    A frame marks the pairs whose sign differs between the parts.
    """
    shown, k = found[:MOST_PANELS], len(found[0].metrics) - 1  # no row for the first metric, no column for the last
    columns = _across(len(shown), k)
    rows, cells = -(-len(shown) // columns), k * (CELL if len(shown) > 1 else ALONE)
    height = rows * cells + (rows - 1) * NAMES
    framed = {(flip.one, flip.other) for flip in flips(found)}
    numbers = columns * k * theme.crowding <= LEGIBLE
    traces: list[Part] = []
    layout: dict[str, Any] = {}
    notes: list[Part] = []
    for i, one in enumerate(shown):
        layout |= _axes(theme, one, i, columns, (cells / height, (cells + NAMES) / height))
        traces += _panel(theme, one, i, framed, numbers, scaled(theme, height, i == 0))
        notes.append(_name(theme, one, i))
    figure = compose(
        theme, height + 124, "agreement", traces, notes=notes, margin={"l": 110, "t": 34, "b": 90}, **layout
    )
    return Drawing(figure, _alt(found), "metric-agreement", lambda: _table(found))


def _across(panels: int, cells: int) -> int:
    """Panels in a row: fewer where numbers then stand in their cells."""
    most = min(ACROSS, panels)
    return next((n for n in range(most, 0, -1) if n * cells <= LEGIBLE), most)


def scaled(theme: Theme, height: float, shown: bool) -> Part:
    """The colours of a heat map of rank correlations, with their bar where it is ``shown``, beside ``height`` pixels.

    One bar is enough for all panels of a figure.
    """
    bar = colour_bar(theme, BAR, tickvals=[-1, -0.5, 0, 0.5, 1], len=min(1.0, BAR_HEIGHT / height))
    return {"zmin": -1, "zmax": 1, "colorscale": list(AGREE), "showscale": shown} | ({"colorbar": bar} if shown else {})


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _axes(theme: Theme, one: Agreement, i: int, columns: int, rows: tuple[float, float]) -> dict[str, Part]:
    """The axes of a panel; ``rows`` are the shares of the figure's height that its cells take, and a row of panels.

    Names of metrics stand at the bottom, and at the left of each row.
    """
    names, last = [literal(m) for m in one.metrics], len(one.metrics) - 1.5
    plain: Part = {"showgrid": False, "zeroline": False, "ticks": "", "showline": False, "tickmode": "array"}
    column, row = i % columns, i // columns
    width, top = (1 + GAP) / columns, 1 - row * rows[1]
    x: Part = {"domain": (column * width, column * width + width - GAP), "anchor": f"y{_number(i)}"}
    x |= {"range": [-0.5, last], "tickvals": list(range(len(names) - 1)), "ticktext": names[:-1], "tickangle": -45}
    y: Part = {"domain": (max(top - rows[0], 0), top), "anchor": f"x{_number(i)}", "showticklabels": column == 0}
    y |= {"range": [last + 1, 0.5], "tickvals": list(range(1, len(names))), "ticktext": names[1:]}
    return {f"xaxis{_number(i)}": axis(theme, "") | plain | x, f"yaxis{_number(i)}": axis(theme, "") | plain | y}


def _panel(
    theme: Theme, one: Agreement, i: int, framed: set[tuple[str, str]], numbers: bool, colours: Part
) -> list[Part]:
    """The cells, their numbers and frames; a metric stands at its place among all, in rows and columns."""
    k = len(one.metrics)
    axes = {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}
    low = np.tri(k, k=-1, dtype=bool)
    said = [[f"{literal(a)} and {literal(b)}" for b in one.metrics] for a in one.metrics]
    heat = {
        "type": "heatmap", "x": list(range(k - 1)), "y": list(range(1, k)),
        "z": np.where(low, one.rho, np.nan)[1:, :-1], "xgap": 2, "ygap": 2, "hoverongaps": False,
        "customdata": one.counts[1:, :-1], "text": [row[:-1] for row in said[1:]],
        "hovertemplate": "%{text}: %{z:.2f} over %{customdata} runs<extra></extra>",
    }  # fmt: skip
    cells = [(int(r), int(c)) for r, c in zip(*np.nonzero(low), strict=True) if np.isfinite(one.rho[r, c])]
    words = {
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "textfont": {"size": theme.small - 1},
        "x": [c for _, c in cells], "y": [r for r, _ in cells],
        "text": [f"{one.rho[r, c]:.2f}".replace("-", "−") for r, c in cells],
    }  # fmt: skip
    flipped = [(r, c) for r, c in cells if (one.metrics[c], one.metrics[r]) in framed]
    frames = [outlined(theme, flipped) | axes] if flipped else []
    return [heat | colours | axes, *([words | axes] if numbers else []), *frames]


def outlined(theme: Theme, cells: Sequence[tuple[int, int]]) -> Part:
    """A frame around each cell (row, column), whose axes count rows and columns: what changes its sign."""
    corners = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5))
    around: list[tuple[float | None, float | None]] = []
    for r, c in cells:
        around += [*((c + dx, r + dy) for dx, dy in corners), (None, None)]
    return {
        "type": "scatter", "mode": "lines", "hoverinfo": "skip", "name": "sign flip", "cliponaxis": False,
        "x": [x for x, _ in around], "y": [y for _, y in around],
        "line": {"color": theme.text, "width": theme.line(1.6)},
    }  # fmt: skip


def _name(theme: Theme, one: Agreement, i: int) -> Part:
    """What a panel is of, above it."""
    return {
        "text": f"{literal(one.name)}, {one.n:,} run{'s' * (one.n != 1)}", "showarrow": False, "x": 0, "y": 1,
        "xref": f"x{_number(i)} domain", "yref": f"y{_number(i)} domain", "xanchor": "left", "yanchor": "bottom",
        "font": {"size": theme.small},
    }  # fmt: skip


def _table(found: Sequence[Agreement]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"part": a.name, "metric": one, "other": other, "rank correlation": a.rho[i, j], "runs": a.counts[i, j]}
            for a in found
            for i, one in enumerate(a.metrics)
            for j, other in enumerate(a.metrics)
            if j < i
        ]
    )


def _alt(found: Sequence[Agreement]) -> str:
    marked = flips(found)
    said = " ".join(flip.sentence for flip in marked[:3]) or "No pair changes its sign between them."
    return (
        f"Rank correlations of {', '.join(found[0].metrics)} over {', '.join(a.name for a in found)}; "
        f"1 where two metrics rank the runs alike. {said}"
    )
