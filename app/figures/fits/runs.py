"""Overview figure of the runs of a table over model size N and training samples D."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.style.axes import extent, literal, log_axis, tick_text, title
from isoplan.app.figures.style.palette import GREY, compute_colour
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Floats
from isoplan.engine.mixtures import colouring
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

HEIGHT = 360
MOST = 10_000
"""Maximum number of runs in the figure. With this limit, the page of a table with a million rows loads within one
second.
"""
MOST_BUDGETS = 15
AXES = ("N", "D", "C")


def draw(runs: Runs, y: str = "loss", theme: Theme = WEB, most: int = MOST) -> Drawing:
    """Draw the runs over N and D. The colour shows the dataset or group if there are several, otherwise ``y``.

    If N or D is missing or constant, other axes are used: the first two of N, D and ``y`` that vary. If fewer than two
    of these vary, the axes are the first two of N, D, C and ``y`` that exist. Lines connect the runs of a budget. Runs
    with the same coordinates are drawn side by side. If there are more than ``most`` runs, a fixed random sample is
    drawn. Notes state whether the figure shows a sample and whether dots were moved.
    """
    axes = _axes(runs, y)
    if len(axes) < 2:
        return _nothing(
            theme, "Map two of N, D, C and loss to see the runs." if len(runs) else "Every run is left out."
        )
    across, up = axes
    shown = dots.drawn(runs, most)
    grouped = colouring(runs) is not None
    size = 7 if len(shown) < 2_000 else 5
    colour = dots.loss_colours(shown[y], theme, literal(y), runs.roles.direction(y)) if y in shown else {"color": GREY}
    spans = [extent(runs[role], positive=True) for role in axes]
    places, shared = _places(shown, axes, spans, size)
    traces = [
        *_budgets(theme, shown, across, up, grouped),
        *dots.by_group(shown, dots.dots(shown, *places, marker=dots.outline(theme, size) | colour), runs),
    ]
    figure = compose(
        theme, HEIGHT, "runs", traces, notes=_noted(theme, shown, runs, shared), clickmode="event+select",
        xaxis=log_axis(theme, title(across), *spans[0]),
        yaxis=log_axis(theme, title(up), *spans[1]),
    )  # fmt: skip
    return Drawing(figure, _alt(runs, across, up, y), "runs", lambda: _table(runs))


def _axes(runs: Runs, y: str) -> list[str]:
    """Return the two roles that are the axes. The list is shorter if the runs have fewer than two of the roles."""
    known = [a for a in dict.fromkeys((*AXES, y)) if a in runs and np.any(runs[a] > 0)]
    varying = [a for a in known if a != "C" and np.ptp(runs[a][runs[a] > 0]) > 0]
    return (varying if len(varying) >= 2 else known)[:2]


def _places(
    runs: Runs, axes: list[str], spans: list[tuple[float, float]], size: float
) -> tuple[tuple[Floats, Floats], int]:
    """Return the positions of the dots on the two log axes, and the number of runs that share their coordinates."""
    ends = (np.log10(spans[0]), np.log10(spans[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log10(runs[role]) for role in axes]
    seen = np.isfinite(logs[0]) & np.isfinite(logs[1])
    places = [runs[role].astype(float) for role in axes]
    x, y, shared = dots.side_by_side(logs[0][seen], logs[1][seen], (tuple(ends[0]), tuple(ends[1])), size)
    places[0][seen], places[1][seen] = 10**x, 10**y
    return (places[0], places[1]), shared


def _budgets(theme: Theme, runs: Runs, x: str, y: str, grouped: bool) -> list[Part]:
    """Return a line through the runs of each budget, and the budget in FLOPs as a label at the line's upper end.

    The lines are grey if the dots have the colours of datasets (``grouped``).
    """
    nominal = runs["budget"] if "budget" in runs else np.empty(0)
    found = np.unique(nominal[np.isfinite(nominal)]).tolist()
    if not 1 <= len(found) <= MOST_BUDGETS:
        return []
    lines, ends = [], []
    for C in found:
        rows = np.flatnonzero(nominal == C)
        rows = rows[np.argsort(runs[x][rows])]
        colour = GREY if grouped else compute_colour(C, (found[0], found[-1]))
        lines.append(marks.line(theme, runs[x][rows], runs[y][rows], colour, 0.8 if grouped else 1.4))
        ends.append((float(runs[x][rows[0]]), float(runs[y][rows[0]]), f"{tick_text(C)} FLOPs"))
    spans = extent(runs[x], positive=True), extent(runs[y], positive=True)
    return [*lines, marks.labels(theme, marks.unobstructed(theme, ends, *spans, (0.16, 0.05)), "top right")]


def _noted(theme: Theme, shown: Runs, runs: Runs, shared: int) -> list[Part]:
    """Return a note on the sample and on runs with the same coordinates; empty if there is nothing to state."""
    found = []
    if len(shown) < len(runs):
        found.append(marks.note(theme, f"{len(shown):,} of {len(runs):,} runs drawn, chosen at random"))
    if shared:
        below = {"x": 1, "xanchor": "right", "xshift": 0, "yanchor": "top", "yshift": -38}
        found.append(marks.note(theme, "Overlapping dots are spread", **below))
    return found


def _nothing(theme: Theme, text: str) -> Drawing:
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
