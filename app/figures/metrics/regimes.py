"""Does a metric rank the runs alike in two regimes: a row a metric, a column a budget, sign flips framed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.metrics.agreement import outlined, scaled
from isoplan.app.figures.style.axes import axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import literal
from isoplan.engine.agreement import Across, Agreement
from isoplan.engine.arrays import Floats

ROW = 34
GAP = 0.04


@dataclass(frozen=True, eq=False)
class Panel:
    """Rank correlations ``rho`` (rows, columns), NaN where there is none; ``flips`` (rows, columns) are framed."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    rho: Floats


def of_regimes(parts: Sequence[tuple[str, Sequence[Agreement]]], to: str) -> list[Panel]:
    """How each metric agrees with ``to``, a panel a regime; names of agreements start with that of their regime."""
    panels = []
    for name, found in parts:
        metrics = [m for m in found[0].metrics if m != to]
        at = [found[0].metrics.index(m) for m in metrics]
        rho = np.array([a.rho[a.metrics.index(to), at] for a in found]).T
        columns = tuple(a.name.removeprefix(name).strip() for a in found)
        panels.append(Panel(f"{name}, against {to}", tuple(metrics), columns, rho))
    return panels


def of_across(found: Sequence[Across]) -> list[Panel]:
    """Each metric batch-local against full catalogue."""
    rows = tuple(f"{a.local}, {a.full}" for a in found)
    return [Panel("batch-local against full catalogue", rows, found[0].parts, np.array([a.rho for a in found]))]


def draw(panels: Sequence[Panel], theme: Theme = WEB) -> Drawing:
    """The panels side by side; a frame marks what has the other sign elsewhere in its row."""
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
        right = edges[i + 1] - (GAP if i < len(panels) - 1 else 0)
        layout[f"xaxis{n}"] = axis(theme, "Budget [FLOPs]") | plain | {
            "domain": [edges[i], right], "anchor": f"y{n}", "range": [-0.5, len(panel.columns) - 0.5],
            "tickvals": list(range(len(panel.columns))), "ticktext": list(panel.columns)}  # fmt: skip
        layout[f"yaxis{n}"] = axis(theme, "") | plain | {
            "range": [len(panel.rows) - 0.5, -0.5], "showticklabels": i == 0, "anchor": f"x{n}",
            "tickvals": list(range(len(panel.rows))), "ticktext": [literal(row) for row in panel.rows]}  # fmt: skip
        traces += _panel(theme, panel, n, flipped, scaled(theme, height, i == 0))
        notes.append({"text": literal(panel.name), "showarrow": False, "x": 0, "y": 1, "xref": f"x{n} domain",
                      "yref": f"y{n} domain", "xanchor": "left", "yanchor": "bottom",
                      "font": {"size": theme.small}})  # fmt: skip
    figure = compose(theme, height + 100, "regimes", traces, notes=notes, margin={"l": 110, "t": 34}, **layout)
    return Drawing(figure, _alt(panels, signs), "metric-regimes", lambda: _table(panels))


def _signs(panels: Sequence[Panel], row: str) -> bool:
    """Whether the correlations of a row have both signs."""
    found = np.concatenate([p.rho[p.rows.index(row)] for p in panels if row in p.rows])
    return bool(np.any(found > 0) and np.any(found < 0))


def _panel(theme: Theme, panel: Panel, n: str, flipped: set[str], colours: Part) -> list[Part]:
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


def _table(panels: Sequence[Panel]) -> pd.DataFrame:
    rows = [
        {"regime": p.name, "metric": row, "budget": column, "rank correlation": p.rho[i, j]}
        for p in panels
        for i, row in enumerate(p.rows)
        for j, column in enumerate(p.columns)
    ]
    return pd.DataFrame(rows)


def _alt(panels: Sequence[Panel], signs: dict[str, bool]) -> str:
    both = [row for row, flips in signs.items() if flips]
    said = f"The sign changes for {', '.join(both)}." if both else "No sign changes."
    return f"Rank correlations of {', '.join(signs)} at each budget, {' and '.join(p.name for p in panels)}. {said}"
