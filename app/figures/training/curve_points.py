"""Figures of points from training curves: lower envelopes, over- and underfitting cells, and steps to a target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import dots, keys, lines
from isoplan.app.figures.marks.lines import Span
from isoplan.app.figures.style.axes import extent, literal, log_axis, span_text, tick_text, title, value_axis
from isoplan.app.figures.style.palette import ACCENT, CATEGORIES, FLOOR, GREY, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose, legend
from isoplan.app.figures.training.curves import curve_lines
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.fitting.estimators.envelope import Envelope
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.mixtures import colouring
from isoplan.engine.planning.drawing.curves import Band, Frontier
from isoplan.engine.planning.drawing.sections import Updates
from isoplan.engine.schema import Curves, Runs

HEIGHT = 620
LOSS, SIZE = (0.42, 1.0), (0.0, 0.36)
"""Vertical ranges of the panels of loss and model size, which have a common axis of compute."""
USED, LEFT_OUT = "envelope", "envelope, left out of the laws"


def draw_envelope(found: Envelope, path: Frontier, fit: Fit, behind: Curves | Runs, theme: Theme = WEB) -> Drawing:
    """Draw the lower envelope of training curves (upper panel), and the model size N* (lower panel).

    The upper panel also shows the curves and the law L*(C), and the lower panel also shows the law of N*. ``behind``
    contains the training curves, or the runs if there are no curves. ``path`` contains both laws with their bands. The
    laws were fitted to the points in ``found.used``. Their lines are solid in the compute range of these points.
    """
    y, inside = fit.spec.y, (path.C >= found.C[found.used].min()) & (path.C <= found.C[found.used].max())
    seen = extent(found.C, path.C, positive=True, room=0.02)
    loss = extent(found.y, path.loss, behind[y])
    size = extent(found.N, positive=True, room=0.12)
    traces = [
        *_behind(theme, behind, y),
        *_points(theme, found, found.y, y),
        *_law(theme, path.C, path.loss, path.loss_band, inside, loss),
        *(part | BELOW | {"showlegend": False} for part in _points(theme, found, found.N, "N*")),
        *(part | BELOW for part in _law(theme, path.C, path.N, path.N_band, inside, size)),
        keys.line(theme, "law", theme.text, 1.6),
        *keys.intervals(theme, ACCENT, keys.is_known(path.loss_band)),
        keys.beyond(theme, theme.text, shade=False),
    ]
    words = lines.note(theme, _growth(fit), yref="y2 domain", y=1, yanchor="top", yshift=-3)
    layout: dict[str, Any] = {
        "xaxis": log_axis(theme, title("C"), *seen, anchor="y2"),
        "yaxis": value_axis(theme, y, *loss, domain=LOSS),
        "yaxis2": log_axis(theme, "<i>N</i>* [parameters]", *size, domain=SIZE, anchor="x"),
    }
    figure = compose(theme, HEIGHT, "envelope", traces, notes=[words], **layout, **legend(theme))
    alt = (
        f"Lower envelope of {y} against compute, {len(found.C):,} points with N* from {found.N.min():.3g} to "
        f"{found.N.max():.3g}; N* grows as C^{float(fit.values['a']):.3g}."
    )
    return Drawing(figure, alt, "envelope", lambda: pd.DataFrame(
        {"C": found.C, "N": found.N, "D": found.D, y: found.y, "used": found.used}
    ))  # fmt: skip


BELOW = {"yaxis": "y2"}


def _behind(theme: Theme, behind: Curves | Runs, y: str) -> list[Part]:
    """Return the training curves or the runs from which the envelope was computed."""
    if isinstance(behind, Curves):
        return [{"name": "training curves"} | part for part in curve_lines(theme, behind, "C", y)]
    few = dots.drawn(behind, dots.MOST_DOTS)
    return dots.by_group(few, dots.dots(few, few["C"], few[y], marker=dots.faint(theme)), behind)


def _law(theme: Theme, C: Floats, line: Floats, band: Any, inside: Bools, values: tuple[float, float]) -> list[Part]:
    """Return the line and bands of a law against compute. The line is dashed outside the range of the fitted points."""
    parts = [*lines.bands(C, band, ACCENT, values), *lines.law(theme, C, line, inside, theme.text, 1.6)]
    return [part | {"showlegend": False} for part in parts]


def _points(theme: Theme, found: Envelope, up: Floats, name: str) -> list[Part]:
    """Return the points of the envelope: filled if the laws are fitted to them, otherwise open."""
    hover = f"C %{{x:.3~e}}<br>{literal(name)} %{{y:.4~g}}<br>N* %{{customdata[0]:.3~s}}<br>D* %{{customdata[1]:.3~s}}"
    looks = ((USED, found.used, {"color": ACCENT}), (LEFT_OUT, ~found.used, {"color": GREY, "symbol": "circle-open"}))
    return [
        {
            "type": "scatter", "mode": "markers", "name": what, "x": found.C[at], "y": up[at],
            "marker": {"size": theme.marker(4), **look},
            "customdata": np.stack([found.N[at], found.D[at]], axis=1), "hovertemplate": f"{hover}<extra></extra>",
        }
        for what, at, look in looks
        if at.any()
    ]  # fmt: skip


def _growth(fit: Fit) -> str:
    """Return the growth of the optimal model size, N* ∝ C^a, as text with the value of a and its 95 % interval."""
    a = next(p for p in fit.parameters if p.name == "a")
    sure = f" (95 %: {span_text(a.ci95, 3)})" if a.ci95 is not None else ""
    return f"<i>N</i>* ∝ <i>C</i><sup> {a.value:.3g}</sup>{sure}"


CELL_HEIGHT = 480
THRESHOLD = CATEGORIES[2]


def draw_cells(fit: Fit, cells: Runs, theme: Theme = WEB) -> Drawing:
    """Draw underfitting cells as dots, overfitting cells as crosses, and the threshold between them (jets, Fig. 3).

    The threshold is N = c D^lambda, drawn with its 68 % and 95 % bands.
    """
    over = cells[fit.spec.y] == 1
    N, D = cells["N"], cells["D"]
    window, values = extent(D, positive=True), extent(N, positive=True)
    x = np.geomspace(*window, 60)
    ends = _band(fit, x)
    tints = lines.bands(x, ends, THRESHOLD, values) if ends is not None else []
    line = lines.line(theme, x, fit.predict({"D": x}), THRESHOLD, 2.2, name=_formula(fit))
    traces = [
        *({**tint, "showlegend": False} for tint in tints),
        *_side(theme, "underfits", cells, ~over, ACCENT, "circle"),
        *_side(theme, "overfits", cells, over, PLAN, "x"),
        line,
        *keys.intervals(theme, THRESHOLD, ends is not None),
    ]
    figure = compose(
        theme, CELL_HEIGHT, "threshold", traces, **legend(theme),
        xaxis=log_axis(theme, "Unique samples <i>D</i> [samples]", *window), yaxis=log_axis(theme, title("N"), *values),
    )  # fmt: skip
    exponent = float(fit.values["lambda"])
    alt = (
        f"{int((~over).sum())} underfitting and {int(over.sum())} overfitting cells over samples D and model size N. "
        f"The threshold is N = {float(fit.values['c']):.3g} D^{exponent:.3g}."
    )
    table = pd.DataFrame({**cells.labels, "N": N, "D": D, "overfits": over})
    return Drawing(figure, alt, "overfitting-threshold", lambda: table)


def _formula(fit: Fit) -> str:
    """Return the threshold, N ∝ D^lambda, as text with the value of lambda and its 95 % interval."""
    exponent = next(p for p in fit.parameters if p.name == "lambda")
    sure = f", 95 %: {span_text(exponent.ci95)}" if exponent.ci95 is not None else ""
    return f"threshold <i>N</i> ∝ <i>D</i><sup> {exponent.value:.2f}</sup>{sure}"


def _band(fit: Fit, x: Floats) -> Band | None:
    """Return the 68 % and 95 % bands of the threshold at the samples ``x``; None if the fit has no resamples."""
    if not len(fit.resamples):
        return None
    draws, centre = fit.predict_draws({"D": x}), fit.predict({"D": x})
    (low68, high68), (low95, high95) = (fit.resampling.band(centre, draws, level) for level in (0.68, 0.95))
    return Band(low68, high68, low95, high95)


def _side(theme: Theme, name: str, cells: Runs, there: Bools, colour: str, symbol: str) -> list[Part]:
    """Return the markers of the cells on one side of the threshold; ``name`` is "overfits" or "underfits".

    If there are several datasets, each cell has the colour of its dataset.
    """
    part = cells.take(there)
    trace: Part = {
        "type": "scatter", "mode": "markers", "name": name, "x": part["D"], "y": part["N"],
        "marker": {"color": colour, "symbol": symbol, "size": theme.marker(8), "line": {"width": 0, "color": GREY}},
        "hovertemplate": f"{name}<br>N %{{y:.3~s}}<br>D %{{x:.3~s}}<extra></extra>",
    }  # fmt: skip
    if colouring(cells) is None:
        return [trace]
    key = trace | {"x": [None], "y": [None], "marker": trace["marker"] | {"color": GREY}}
    return [key, *dots.by_group(part, trace, cells)]


BATCH_HEIGHT = 460
TITLE = "Training steps to the target <i>S</i>"


def draw_batches(found: Updates, rows: Runs | None = None, y: str = "updates", theme: Theme = WEB) -> Drawing:
    """Draw the law S = S_min (1 + B_crit / B) for the training steps S against the batch size B, with the runs.

    Dotted lines show S_min, B_crit and the slope at small batches; they are left out if the curve has no plateau. ``y``
    is the column of the training steps in ``rows``.
    """
    curve, there = found.curve, found.levels_off
    window = float(curve.x[0]), float(curve.x[-1])
    runs = None if rows is None else dots.drawn(rows, dots.MOST_DOTS)
    shown = dots.runs_over(runs, curve.axis, y, dots.filled(theme))
    values = extent(*(trace["y"] for trace in shown), curve.loss, np.array([found.least.value] if there else []))
    hover = f"{literal(curve.axis)}  %{{x:.4~g}}<br>training steps  %{{y:.4~g}}<extra>law</extra>"
    traces = [
        *lines.bands(curve.x, curve.band, ACCENT, values),
        *([lines.line(theme, curve.x, found.slope, GREY, 1.2, "dot")] if there else []),
        *lines.law(theme, curve.x, curve.loss, curve.inside, ACCENT, 2.4, hovertemplate=hover),
        *shown,
        keys.line(theme, "law", ACCENT),
        *keys.intervals(theme, ACCENT, keys.is_known(curve.band)),
        *keys.dots(runs, dots.filled(theme)),
        *([keys.line(theme, "small-batch limit", GREY, 1.2, "dot")] if there else []),
        *([keys.line(theme, "plateau, critical batch", FLOOR, 1.5, "dot")] if there else []),
        *([] if curve.inside.all() else [keys.beyond(theme, ACCENT)]),
    ]
    shades, remarks = lines.beyond(theme, curve.x, curve.inside)
    shapes, notes = _plateau(theme, found, window, values) if there else ([], [_without(theme)])
    figure = compose(
        theme, BATCH_HEIGHT, "critical-batch", traces, [*shades, *shapes], [*remarks, *notes],
        xaxis=log_axis(theme, literal(curve.axis), *window),
        yaxis=value_axis(theme, "", *values) | {"title": {"text": TITLE, "standoff": 10, "font": {"size": theme.size}}},
    )  # fmt: skip
    return Drawing(figure, _alt(found, rows), "critical-batch", lambda: _table(found, rows, y))


def _plateau(theme: Theme, found: Updates, window: Span, values: Span) -> tuple[list[Part], list[Part]]:
    """Return the shapes and the notes that show S_min, and the critical batch size B_crit with its intervals."""
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
        lines.level_note(theme, f"least training steps {tick_text(least.value)}", least.value, values[0] > 0),
        lines.note(theme, words, xref="x", x=math.log10(critical.value), y=0.9, yanchor="top", **side),
    ]
    return [
        *tints,
        {"type": "line", "line": line, "layer": "below", **at},
        lines.level(theme, least.value, FLOOR, "dot"),
    ], notes


def _without(theme: Theme) -> Part:
    return lines.note(
        theme, "no plateau: the training steps decrease up to the largest batch, so no critical batch is determined"
    )


def _alt(found: Updates, rows: Runs | None) -> str:
    axis, seen = found.curve.axis, "" if rows is None else f" of {len(rows):,} runs"
    says = "no plateau"
    if found.levels_off:
        says = (
            f"a plateau of {found.least.value:.4g} training steps and a critical {axis} of {found.critical.value:.4g}"
        )
    return f"Training steps to the target{seen} against {axis}: {says}."


def _table(found: Updates, rows: Runs | None, y: str) -> pd.DataFrame:
    """Return one row per run or, if the runs are not known, one row per vertex of the law."""
    if rows is None:
        return pd.DataFrame({found.curve.axis: found.curve.x, "updates": found.curve.loss})
    return pd.DataFrame({**rows.labels, found.curve.axis: rows[found.curve.axis], "updates": rows[y]})
