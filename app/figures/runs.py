"""The runs of a table, as they lie in the plane of model size and samples."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures import marks
from app.figures.axes import log_axis, padded, title
from app.figures.drawing import Drawing
from app.figures.palette import GREY, compute_colour
from app.figures.theme import WEB, Theme, blank
from engine.quantities import power10, power10_html
from engine.schema import Runs

MOST = 10_000
"""Runs drawn at most; a page that loads a million-row table has one second."""
MOST_BUDGETS = 15
AXES = ("N", "D", "C", "loss")


def draw(runs: Runs, y: str = "loss", theme: Theme = WEB, most: int = MOST) -> Drawing:
    """The runs over N and D (or whichever of N, D, C and loss the table has), coloured by ``y``.

    Lines join the runs of a budget. Of more than ``most`` runs the same ``most`` are drawn each time; a note says so.
    """
    axes = [a for a in dict.fromkeys((*AXES[:3], y)) if a in runs and np.any(runs[a] > 0)]
    if len(axes) < 2 or not len(runs):
        return _nothing(theme)
    x_role, y_role = axes[:2]
    x_low, x_high = _span(runs, x_role)
    y_low, y_high = _span(runs, y_role)
    figure = blank(
        theme, 440, "runs",
        xaxis=log_axis(theme, title(x_role), x_low, x_high),
        yaxis=log_axis(theme, title(y_role), y_low, y_high),
        clickmode="event+select",
    )  # fmt: skip
    shown = marks.drawn(runs, most)
    budgets = _budgets(theme, shown, x_role, y_role)
    colour = marks.loss_colours(shown[y], theme, escape(y)) if y in shown else {"color": GREY}
    dots = marks.dots(shown, shown[x_role], shown[y_role], name="runs", marker=marks.outline(theme, **colour))
    figure.add_traces([*budgets, dots])
    if len(shown) < len(runs):
        figure.add_annotation(marks.note(theme, f"{len(shown):,} of {len(runs):,} runs drawn, chosen at random"))
    return Drawing(figure, _alt(runs, x_role, y_role, y), _frame(runs), "runs")


def _span(runs: Runs, role: str) -> tuple[float, float]:
    values = runs[role]
    known = values[np.isfinite(values) & (values > 0)]
    return padded(float(np.min(known)), float(np.max(known)))


def _budgets(theme: Theme, runs: Runs, x: str, y: str) -> list[go.Scatter]:
    """A line through the runs of each budget, and its FLOPs at the upper end."""
    if "budget" not in runs:
        return []
    nominal = runs["budget"]
    found = np.unique(nominal[np.isfinite(nominal)])
    if not 1 <= len(found) <= MOST_BUDGETS:
        return []
    span = (float(found[0]), float(found[-1]))
    lines, ends = [], []
    for C in found:
        rows = np.flatnonzero(nominal == C)
        rows = rows[np.argsort(runs[x][rows])]
        lines.append(marks.line(theme, runs[x][rows], runs[y][rows], compute_colour(float(C), span), 1.4))
        ends.append((float(runs[x][rows[0]]), float(runs[y][rows[0]]), power10_html(float(C), 2)))
    return [*lines, marks.labels(theme, ends, "top center")]


def _nothing(theme: Theme) -> Drawing:
    text = "Map two of N, D, C and loss to see the runs."
    axes = {"visible": False}
    figure = blank(theme, 440, "runs", xaxis=axes, yaxis=axes)
    figure.add_annotation(marks.note(theme, text, x=0.5, y=0.5, xanchor="center", yanchor="middle"))
    return Drawing(figure, text, pd.DataFrame(), "runs")


def _frame(runs: Runs) -> pd.DataFrame:
    return pd.DataFrame({"row": runs.ids, **{k: v for k, v in runs.labels.items()}, **runs.values})


def _alt(runs: Runs, x: str, y: str, colour: str) -> str:
    ranges = (
        f"{role} from {power10(float(np.nanmin(runs[role])), 2)} to {power10(float(np.nanmax(runs[role])), 2)}"
        for role in (x, y)
    )
    return f"{len(runs):,} runs over {x} and {y}, coloured by {colour}: {' and '.join(ranges)}."
