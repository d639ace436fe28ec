"""Do metrics rank the runs alike: rank correlations for each budget or group, with the sign flips framed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from app.figures.axes import axis
from app.figures.correlations import SCALE
from app.figures.drawing import Drawing
from app.figures.palette import ACCENT, PLAN, rgba
from app.figures.theme import WEB, Part, Theme, compose
from engine.agreement import Agreement, flips

ACROSS = 3
"""Panels in a row."""
MOST_PANELS = 9
WORDS = 7
"""Metrics up to which each cell says its number."""
GAP = 0.03
CELL, NAMES = 38, 104
"""Pixels of a cell, and between two rows of panels for the names below one and above the next."""
AGREE = ((0.0, rgba(PLAN, 0.6)), SCALE[1], (1.0, rgba(ACCENT, 0.6)))
"""The scale of ``correlations`` turned round: what disagrees stands out."""


def draw(found: Sequence[Agreement], theme: Theme = WEB) -> Drawing:
    """A panel for each part of the table (the first nine): 1 where two metrics rank its runs alike, -1 where against.

    A frame marks the pairs whose sign differs between the parts.
    """
    shown = found[:MOST_PANELS]
    columns = min(ACROSS, len(shown))
    rows = -(-len(shown) // columns)
    framed = {(flip.one, flip.other) for flip in flips(found)}
    traces: list[Part] = []
    layout: dict[str, Any] = {}
    notes: list[Part] = []
    for i, one in enumerate(shown):
        place = (i % columns, i // columns)
        layout |= _axes(theme, one, i, place, columns, rows)
        traces += _panel(theme, one, i, framed)
        notes.append(_name(theme, one, i))
    height = rows * CELL * len(shown[0].metrics) + (rows - 1) * NAMES if columns > 1 else 56 * len(shown[0].metrics)
    figure = compose(
        theme, height + 124, "agreement", traces, notes=notes, margin={"l": 110, "t": 34, "b": 90}, **layout
    )
    return Drawing(figure, _alt(found), "metric-agreement", lambda: _table(found))


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _axes(theme: Theme, one: Agreement, i: int, place: tuple[int, int], columns: int, rows: int) -> dict[str, Part]:
    """The axes of a panel; names of metrics stand at the left and at the bottom only."""
    plain: Part = {"showgrid": False, "ticks": "", "type": "category", "showline": False}
    names = {"categoryorder": "array", "categoryarray": [escape(m) for m in one.metrics]}
    width, cells = (1 + GAP) / columns, CELL * len(one.metrics)
    whole = rows * cells + (rows - 1) * NAMES
    top = 1 - place[1] * (cells + NAMES) / whole
    x = {"domain": (place[0] * width, place[0] * width + width - GAP), "anchor": f"y{_number(i)}", "tickangle": -45}
    y: Part = {"domain": (max(top - cells / whole, 0), top), "anchor": f"x{_number(i)}"}
    y |= {"autorange": "reversed", "showticklabels": place[0] == 0}
    return {
        f"xaxis{_number(i)}": axis(theme, "") | plain | names | x,
        f"yaxis{_number(i)}": axis(theme, "") | plain | names | y,
    }


def _panel(theme: Theme, one: Agreement, i: int, framed: set[tuple[str, str]]) -> list[Part]:
    names = [escape(m) for m in one.metrics]
    axes = {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}
    low = np.tri(len(names), k=-1, dtype=bool)
    heat = {
        "type": "heatmap", "x": names, "y": names, "z": np.where(low, one.rho, np.nan), "zmin": -1, "zmax": 1,
        "colorscale": list(AGREE), "xgap": 2, "ygap": 2, "showscale": False, "hoverongaps": False,
        "customdata": one.counts, "hovertemplate": "%{y} and %{x}: %{z:.2f} over %{customdata} runs<extra></extra>",
    }  # fmt: skip
    cells = [(r, c) for r, c in zip(*np.nonzero(low), strict=True) if np.isfinite(one.rho[r, c])]
    words = {
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "textfont": {"size": theme.small - 1},
        "x": [names[c] for _, c in cells], "y": [names[r] for r, _ in cells],
        "text": [f"{one.rho[r, c]:.2f}".replace("-", "−") for r, c in cells],
    }  # fmt: skip
    flipped = [(r, c) for r, c in cells if (one.metrics[c], one.metrics[r]) in framed]
    frame = {"symbol": "square-open", "size": theme.marker(30), "color": theme.text, "line": {"width": theme.line(1.6)}}
    frames = {
        "type": "scatter", "mode": "markers", "hoverinfo": "skip", "name": "sign flip",
        "x": [names[c] for _, c in flipped], "y": [names[r] for r, _ in flipped],
        "marker": frame,
    }  # fmt: skip
    return [heat | axes, *([words | axes] if len(names) <= WORDS else []), *([frames | axes] if flipped else [])]


def _name(theme: Theme, one: Agreement, i: int) -> Part:
    """What a panel is of, above it."""
    return {
        "text": f"{escape(one.name)}, {one.n:,} run{'s' * (one.n != 1)}", "showarrow": False, "x": 0, "y": 1,
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
