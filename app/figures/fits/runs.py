"""Overview figure of the runs of a table over model size N and training samples D."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import extent, literal, log_axis, tick_text, title
from isoplan.app.figures.style.palette import GREY, compute_colour
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

HEIGHT = 440
MOST = 10_000
"""Maximum number of runs in the figure. With this limit, the page of a table with a million rows loads within one
second.
"""
MOST_BUDGETS = 15
AXES = ("N", "D", "C")


def draw(runs: Runs, y: str = "loss", theme: Theme = WEB, most: int = MOST) -> Drawing:
    """Draw the runs over N and D, with ``y`` as their colour.

    If the table lacks N or D, the first two of N, D, C and ``y`` are the axes. Lines connect the runs of a budget. Of
    more than ``most`` runs, a fixed random sample of ``most`` is drawn, and a note states it.
    """
    axes = [a for a in dict.fromkeys((*AXES, y)) if a in runs and np.any(runs[a] > 0)]
    if len(axes) < 2:
        return _nothing(theme)
    across, up = axes[:2]
    shown = dots.drawn(runs, most)
    colour = dots.loss_colours(shown[y], theme, literal(y), runs.roles.direction(y)) if y in shown else {"color": GREY}
    traces = [
        *_budgets(theme, shown, across, up),
        *dots.runs_over(shown, across, up, dots.outline(theme, 7 if len(shown) < 2_000 else 5) | colour),
    ]
    figure = compose(
        theme, HEIGHT, "runs", traces, notes=_sampled(theme, shown, runs), clickmode="event+select",
        xaxis=log_axis(theme, title(across), *extent(runs[across], positive=True)),
        yaxis=log_axis(theme, title(up), *extent(runs[up], positive=True)),
    )  # fmt: skip
    return Drawing(figure, _alt(runs, across, up, y), "runs", lambda: _table(runs))


def _budgets(theme: Theme, runs: Runs, x: str, y: str) -> list[Part]:
    """Return a line through the runs of each budget, and the budget in FLOPs as a label at the line's upper end."""
    nominal = runs["budget"] if "budget" in runs else np.empty(0)
    found = np.unique(nominal[np.isfinite(nominal)]).tolist()
    if not 1 <= len(found) <= MOST_BUDGETS:
        return []
    lines, ends = [], []
    for C in found:
        rows = np.flatnonzero(nominal == C)
        rows = rows[np.argsort(runs[x][rows])]
        lines.append(marks.line(theme, runs[x][rows], runs[y][rows], compute_colour(C, (found[0], found[-1])), 1.4))
        ends.append((float(runs[x][rows[0]]), float(runs[y][rows[0]]), tick_text(C)))
    spans = extent(runs[x], positive=True), extent(runs[y], positive=True)
    return [*lines, marks.labels(theme, marks.unobstructed(theme, ends, *spans, (0.08, 0.05)), "top center")]


def _sampled(theme: Theme, shown: Runs, runs: Runs) -> list[Part]:
    if len(shown) == len(runs):
        return []
    return [marks.note(theme, f"{len(shown):,} of {len(runs):,} runs drawn, chosen at random")]


def _nothing(theme: Theme) -> Drawing:
    text = "Map two of N, D, C and loss to see the runs."
    words = marks.note(theme, text, x=0.5, y=0.5, xanchor="center", yanchor="middle", xref="paper", yref="paper")
    hidden = {"visible": False}
    figure = compose(theme, HEIGHT, "runs", [], notes=[words], xaxis=hidden, yaxis=hidden)
    return Drawing(figure, text, "runs", pd.DataFrame)


def _table(runs: Runs) -> pd.DataFrame:
    return pd.DataFrame({"row": runs.ids, **runs.labels, **runs.values})


def _alt(runs: Runs, x: str, y: str, colour: str) -> str:
    ranges = (
        f"{role} from {power10(float(np.nanmin(runs[role])), 2)} to {power10(float(np.nanmax(runs[role])), 2)}"
        for role in (x, y)
    )
    coloured = f", coloured by {colour}" if colour in runs else ""
    return f"{len(runs):,} runs over {x} and {y}{coloured}: {' and '.join(ranges)}."
