"""Figures of the agreement of metrics on the order of runs: rank correlations per budget, per group, or per regime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.fits.resamples import SCALE
from isoplan.app.figures.marks.dots import colour_bar
from isoplan.app.figures.style.axes import axis, literal
from isoplan.app.figures.style.palette import ACCENT, PLAN, rgba
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.agreement import Across, Agreement, flips
from isoplan.engine.arrays import Floats

ACROSS = 3
"""Maximum number of panels in one row of the figure."""
MOST_PANELS = 9
LEGIBLE = 14
"""If a row of panels has more cells than this, the cells show no numbers. On a narrow page, the cells would be too
small for numbers.
"""
GAP = 0.03
CELL, ALONE, NAMES = 36, 52, 104
"""Sizes in pixels: a cell if there are several panels, a cell of a single panel, and the space for metric names below a
row of panels."""
BAR, BAR_HEIGHT = "rank correlation", 200
AGREE = ((0.0, rgba(PLAN, 0.6)), SCALE[1], (1.0, rgba(ACCENT, 0.6)))
"""Colour scale from -1 to 1. The warm colour marks -1 and emphasises disagreement; in ``resamples.SCALE`` it marks +1.
"""


def draw_agreement(found: Sequence[Agreement], theme: Theme = WEB) -> Drawing:
    """Draw the rank correlations of metrics, with one panel per part of the table (such as a budget).

    At most nine panels are drawn. A correlation of 1 means that two metrics rank the runs in the same order. A
    correlation of -1 means the opposite order. A frame marks a pair of metrics whose correlation is positive in some
    parts and negative in others.
    """
    shown, k = found[:MOST_PANELS], len(found[0].metrics) - 1  # the first metric has no row, the last has no column
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
    """Return the number of panels in a row.

    The number is smaller than ``ACROSS`` if this makes the cells large enough to show their correlations as numbers.
    """
    most = min(ACROSS, panels)
    return next((n for n in range(most, 0, -1) if n * cells <= LEGIBLE), most)


def scaled(theme: Theme, height: float, shown: bool) -> Part:
    """Return the colour properties of a heat map of rank correlations.

    If ``shown``, they include a colour bar; one bar is enough for all panels. ``height`` is the height of the plot in
    pixels.
    """
    bar = colour_bar(theme, BAR, tickvals=[-1, -0.5, 0, 0.5, 1], len=min(1.0, BAR_HEIGHT / height))
    return {"zmin": -1, "zmax": 1, "colorscale": list(AGREE), "showscale": shown} | ({"colorbar": bar} if shown else {})


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _axes(theme: Theme, one: Agreement, i: int, columns: int, rows: tuple[float, float]) -> dict[str, Part]:
    """Return the axes of panel number ``i``, with metric names below each panel and to the left of each row of panels.

    ``rows`` contains the height of the cells and the height of a row of panels, as fractions of the figure.
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
    """Return a heat map of the cells below the diagonal, their numbers, and the frames."""
    k = len(one.metrics)
    axes = {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}
    low = np.tri(k, k=-1, dtype=bool)
    pairs = [[f"{literal(a)} and {literal(b)}" for b in one.metrics] for a in one.metrics]
    heat = {
        "type": "heatmap", "x": list(range(k - 1)), "y": list(range(1, k)),
        "z": np.where(low, one.rho, np.nan)[1:, :-1], "xgap": 2, "ygap": 2, "hoverongaps": False,
        "customdata": one.counts[1:, :-1], "text": [row[:-1] for row in pairs[1:]],
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
    """Return frames around ``cells``.

    Each cell is a pair (row, column). Rows and columns are counted from 0, as on the axes.
    """
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
    """Return the title of a panel: the name of the part and its number of runs, above the panel."""
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
    said = " ".join(flip.sentence for flip in marked[:3]) or "No pair of metrics changes the sign of its correlation."
    return (
        f"Rank correlations of {', '.join(found[0].metrics)} over {', '.join(a.name for a in found)}; "
        f"1 means the same order of runs. {said}"
    )


ROW = 34
REGIME_GAP = 0.04


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of rank correlations ``rho`` (rows, columns); undefined correlations are NaN."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    rho: Floats


def of_regimes(parts: Sequence[tuple[str, Sequence[Agreement]]], to: str) -> list[Panel]:
    """Return one panel per regime: the correlation of each metric with the metric ``to``, at each budget.

    ``parts`` contains the regimes and their agreements. The name of an agreement consists of the name of its regime and
    a budget.
    """
    panels = []
    for name, found in parts:
        metrics = [m for m in found[0].metrics if m != to]
        at = [found[0].metrics.index(m) for m in metrics]
        rho = np.array([a.rho[a.metrics.index(to), at] for a in found]).T
        columns = tuple(a.name.removeprefix(name).strip() for a in found)
        panels.append(Panel(f"{name}, against {to}", tuple(metrics), columns, rho))
    return panels


def of_across(found: Sequence[Across]) -> list[Panel]:
    """Return the correlation of each batch-local metric with the same metric on the full catalogue, as one panel."""
    rows = tuple(f"{a.local}, {a.full}" for a in found)
    return [Panel("batch-local against full catalogue", rows, found[0].parts, np.array([a.rho for a in found]))]


def draw_regimes(panels: Sequence[Panel], theme: Theme = WEB) -> Drawing:
    """Draw the panels side by side. In a row whose correlations have both signs, frames mark the negative ones."""
    wide = np.array([len(p.columns) for p in panels], float)
    edges = np.r_[0, np.cumsum(wide / wide.sum())]
    signs = {row: _signs(panels, row) for panel in panels for row in panel.rows}
    flipped = {row for row, both in signs.items() if both}
    height = ROW * max(len(p.rows) for p in panels)
    traces: list[Part] = []
    layout: dict[str, Any] = {}
    notes: list[Part] = []
    for i, panel in enumerate(panels):
        n = "" if i == 0 else str(i + 1)
        plain: Part = {"showgrid": False, "zeroline": False, "ticks": "", "showline": False, "tickmode": "array"}
        right = edges[i + 1] - (REGIME_GAP if i < len(panels) - 1 else 0)
        layout[f"xaxis{n}"] = axis(theme, "Budget [FLOPs]") | plain | {
            "domain": [edges[i], right], "anchor": f"y{n}", "range": [-0.5, len(panel.columns) - 0.5],
            "tickvals": list(range(len(panel.columns))), "ticktext": list(panel.columns)}  # fmt: skip
        layout[f"yaxis{n}"] = axis(theme, "") | plain | {
            "range": [len(panel.rows) - 0.5, -0.5], "showticklabels": i == 0, "anchor": f"x{n}",
            "tickvals": list(range(len(panel.rows))), "ticktext": [literal(row) for row in panel.rows]}  # fmt: skip
        traces += _regime_panel(theme, panel, n, flipped, scaled(theme, height, i == 0))
        notes.append({"text": literal(panel.name), "showarrow": False, "x": 0, "y": 1, "xref": f"x{n} domain",
                      "yref": f"y{n} domain", "xanchor": "left", "yanchor": "bottom",
                      "font": {"size": theme.small}})  # fmt: skip
    figure = compose(theme, height + 100, "regimes", traces, notes=notes, margin={"l": 110, "t": 34}, **layout)
    return Drawing(figure, _regime_alt(panels, signs), "metric-regimes", lambda: _regime_table(panels))


def _signs(panels: Sequence[Panel], row: str) -> bool:
    """Return whether the correlations of ``row`` have both signs, over all panels."""
    rho = np.concatenate([p.rho[p.rows.index(row)] for p in panels if row in p.rows])
    return bool(np.any(rho > 0) and np.any(rho < 0))


def _regime_panel(theme: Theme, panel: Panel, n: str, flipped: set[str], colours: Part) -> list[Part]:
    axes = {"xaxis": f"x{n}", "yaxis": f"y{n}"}
    heat = {
        "type": "heatmap", "x": list(range(len(panel.columns))), "y": list(range(len(panel.rows))), "z": panel.rho,
        "xgap": 2, "ygap": 2, "hoverongaps": False,
        "text": [[f"{literal(row)} at {column}" for column in panel.columns] for row in panel.rows],
        "hovertemplate": "%{text}: %{z:.2f}<extra></extra>",
    }  # fmt: skip
    cells = [(int(i), int(j)) for i, j in zip(*np.nonzero(np.isfinite(panel.rho)), strict=True)]
    words = {
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "textfont": {"size": theme.small - 1},
        "x": [j for _, j in cells], "y": [i for i, _ in cells],
        "text": [f"{panel.rho[i, j]:.2f}".replace("-", "−") for i, j in cells],
    }  # fmt: skip
    marked = [(i, j) for i, j in cells if panel.rho[i, j] < 0 and panel.rows[i] in flipped]
    frames = [outlined(theme, marked) | axes] if marked else []
    return [heat | colours | axes, words | axes, *frames]


def _regime_table(panels: Sequence[Panel]) -> pd.DataFrame:
    rows = [
        {"regime": p.name, "metric": row, "budget": column, "rank correlation": p.rho[i, j]}
        for p in panels
        for i, row in enumerate(p.rows)
        for j, column in enumerate(p.columns)
    ]
    return pd.DataFrame(rows)


def _regime_alt(panels: Sequence[Panel], signs: dict[str, bool]) -> str:
    both = [row for row, flips in signs.items() if flips]
    changes = f"The sign changes for {', '.join(both)}." if both else "No sign changes."
    return f"Rank correlations of {', '.join(signs)} at each budget, {' and '.join(p.name for p in panels)}. {changes}"
