"""Updates to a target against batch size, with the plateau and the batch where it begins."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.marks.lines import Span
from isoplan.app.figures.style.axes import extent, log_axis, value_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, FLOOR, GREY
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import literal, span_text, tick_text
from isoplan.engine.planning.drawing.updates import Updates
from isoplan.engine.schema import Runs

HEIGHT = 460
TITLE = "Updates to the target <i>S</i>"


def draw(found: Updates, rows: Runs | None = None, y: str = "updates", theme: Theme = WEB) -> Drawing:
    """S = S_min (1 + B_crit / B) through the updates ``y`` of each run, with its asymptotes and B_crit."""
    curve, there = found.curve, found.levels_off
    window = float(curve.x[0]), float(curve.x[-1])
    runs = None if rows is None else dots.drawn(rows, dots.MOST_DOTS)
    shown = dots.runs_over(runs, curve.axis, y, dots.filled(theme))
    values = extent(*(trace["y"] for trace in shown), curve.loss, np.array([found.least.value] if there else []))
    hover = f"{literal(curve.axis)}  %{{x:.4~g}}<br>updates  %{{y:.4~g}}<extra>law</extra>"
    traces = [
        *lines.bands(curve.x, curve.band, ACCENT, values),
        *([lines.line(theme, curve.x, found.slope, GREY, 1.2, "dot")] if there else []),
        *lines.law(theme, curve.x, curve.loss, curve.inside, ACCENT, 2.4, hovertemplate=hover),
        *shown,
    ]
    shades, remarks = lines.beyond(theme, curve.x, curve.inside)
    shapes, notes = _plateau(theme, found, window, values) if there else ([], [_without(theme)])
    figure = compose(
        theme, HEIGHT, "critical-batch", traces, [*shades, *shapes], [*remarks, *notes],
        xaxis=log_axis(theme, literal(curve.axis), *window),
        yaxis=value_axis(theme, "", *values) | {"title": {"text": TITLE, "standoff": 10, "font": {"size": theme.size}}},
    )  # fmt: skip
    return Drawing(figure, _alt(found, rows), "critical-batch", lambda: _table(found, rows, y))


def _plateau(theme: Theme, found: Updates, window: Span, values: Span) -> tuple[list[Part], list[Part]]:
    """The plateau, and the critical batch with its intervals as tints: shapes and notes."""
    critical, least = found.critical, found.least
    pairs = ((critical.ci95, lines.TINT95), (critical.ci68, lines.TINT68))
    tints = [lines.upright(*lines.cut(ends, *window), FLOOR, tint) for ends, tint in pairs if ends is not None]
    line = {"color": FLOOR, "width": theme.line(1.5), "dash": "dot"}
    at = {"x0": critical.value, "x1": critical.value, "y0": 0, "y1": 1, "yref": "y domain"}
    sure = f"<br>68 %: {span_text(critical.ci68, 3)}" if critical.ci68 is not None else ""
    words = f"critical {literal(found.curve.axis)} {tick_text(critical.value)}{sure}"
    right = math.log(critical.value / window[0]) > 0.75 * math.log(window[1] / window[0])
    side: Part = {"xanchor": "right", "align": "right", "xshift": -6} if right else {"xanchor": "left", "xshift": 6}
    notes = [
        lines.level_note(theme, f"least updates {tick_text(least.value)}", least.value, values),
        lines.note(theme, words, xref="x", x=math.log10(critical.value), y=0.9, yanchor="top", **side),
    ]
    return [
        *tints,
        {"type": "line", "line": line, "layer": "below", **at},
        lines.level(theme, least.value, FLOOR, "dot"),
    ], notes


def _without(theme: Theme) -> Part:
    return lines.note(theme, "no plateau: a larger batch keeps saving updates, so there is no critical batch here")


def _alt(found: Updates, rows: Runs | None) -> str:
    axis, seen = found.curve.axis, "" if rows is None else f" of {len(rows):,} runs"
    says = "no plateau"
    if found.levels_off:
        says = f"a plateau of {found.least.value:.4g} updates and a critical {axis} of {found.critical.value:.4g}"
    return f"Updates to the target{seen} against {axis}: {says}."


def _table(found: Updates, rows: Runs | None, y: str) -> pd.DataFrame:
    """One row a run; the law where the runs are not known."""
    if rows is None:
        return pd.DataFrame({found.curve.axis: found.curve.x, "updates": found.curve.loss})
    return pd.DataFrame({**rows.labels, found.curve.axis: rows[found.curve.axis], "updates": rows[y]})
