"""Figures of the evidence for a recipe: the sweep of one setting, and compute-optimal N* and D* against compute.

The figure of a sweep shows the fitted curves. Without fitted curves, it shows one line per budget with the optimum. A
band extends from the smallest to the largest optimum of all budgets. For extra negatives, a vertical line shows how
many fit into memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.fits.frontier import table
from isoplan.app.figures.marks import dots, lines
from isoplan.app.figures.marks.lines import Span
from isoplan.app.figures.style.axes import extent, literal, log_axis, padded, tick_text, value_axis
from isoplan.app.figures.style.palette import ACCENT, FLOOR, GREY, LIGHT_PAGE, PLAN, category, compute_colour
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.mixtures import colouring
from isoplan.engine.planning.drawing.curves import Frontier
from isoplan.engine.planning.drawing.sections import AxisCurve, one_axis_curve
from isoplan.engine.planning.recommender import Choice, Optimum
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

HEIGHT = 420
TITLES = {"s": "Embedder share <i>s</i>", "K": "Extra negatives <i>K</i>"}
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
AWAY = {"outside left": "triangle-left", "outside right": "triangle-right"}
COLOURS = {"N": ACCENT, "D": category(2)}
Minimum = tuple[float, float, float]
"""Compute C and optimal sizes N* and D* at the minimum of an iso-FLOP curve."""


def draw_sweep(
    found: Sequence[Optimum], choice: Choice, C: float, cap: float | None = None, runs: Runs | None = None,
    theme: Theme = WEB,
) -> Drawing:  # fmt: skip
    """Draw the sweep of one setting with its optima, and the value that a recipe chooses.

    ``found`` contains the optima of the sweep for one metric, and ``choice`` contains the value of the recipe. ``C`` is
    the compute of the recipe in FLOPs. ``cap`` is the largest value that fits into memory. Optima with a fit are drawn
    as curves.
    """
    curves = [(one, one_axis_curve(one.fit)) for one in found if one.fit is not None]
    if curves:
        return _curves(theme, curves, choice, C, cap, runs)
    return _optima(theme, found, choice, cap)


def _optima(theme: Theme, found: Sequence[Optimum], choice: Choice, cap: float | None) -> Drawing:
    """Draw one line per budget over the range of its sweep, with a dot at the optimum.

    If the optimum is outside the sweep, a triangle at the end of the line points to it.
    """
    budgets = [one.budget for one in found]
    known = [v for one in found for v in (one.x.value, one.low, one.high) if v] + [v for v in (cap,) if v]
    window = padded(min(known), max(known), 0.05)
    values = padded(min(budgets), max(budgets), 0.14)
    values = values[0], values[1] * (values[1] / values[0]) ** 0.12  # space for the text above the last sweep
    traces = [
        *(lines.line(theme, np.array([o.low, o.high]), np.array([o.budget] * 2), GREY, 1.4) for o in found),
        *(_optimum(theme, one) for one in found),
        lines.labels(theme, [(math.sqrt(o.low * o.high), o.budget, "not located") for o in found
                             if o.place == "not located"], "top center"),
    ]  # fmt: skip
    shapes, notes = _band(theme, choice, window)
    caps, cap_notes = _cap(theme, cap, window)
    figure = compose(
        theme, HEIGHT, f"sweep-{choice.setting}", traces, [*shapes, *caps], [*notes, *cap_notes],
        xaxis=_axis(theme, choice, window), yaxis=log_axis(theme, "Budget [FLOPs]", *values),
    )  # fmt: skip
    return Drawing(figure, _alt(found, choice, cap), f"sweep-{choice.setting}", lambda: _table(found))


def _optimum(theme: Theme, one: Optimum) -> Part:
    """Return the marker of the optimum at one budget: a dot, or a triangle if the optimum is outside the sweep.

    The marker is invisible if the optimum is not located.
    """
    inside = one.inside and one.x.value is not None
    at = one.x.value if inside else one.high if one.place == "outside right" else one.low
    symbol = "circle" if inside else AWAY.get(one.place, "circle-open")
    where = tick_text(at or 0.0) if inside else f"{one.place.removeprefix('outside ')} of the sweep"
    return {
        "type": "scatter", "mode": "markers", "name": "optimum", "x": [at], "y": [one.budget],
        "opacity": 0.0 if one.place == "not located" else 1.0,
        "marker": {"symbol": symbol, "size": theme.marker(11 if inside else 12), "color": ACCENT if inside else GREY,
                   "line": {"color": LIGHT_PAGE, "width": theme.line(1)}},
        "hovertemplate": f"{power10(one.budget)} FLOPs<br>{where}<extra></extra>",
    }  # fmt: skip


def _curves(
    theme: Theme, found: Sequence[tuple[Optimum, AxisCurve]], choice: Choice, C: float, cap: float | None,
    runs: Runs | None,
) -> Drawing:  # fmt: skip
    """Draw the metric over the setting, one curve per budget, with its runs.

    Only the curve whose budget is nearest to ``C`` has bands.
    """
    budgets = [one.budget for one, _ in found if math.isfinite(one.budget)]
    span = (min(budgets), max(budgets)) if budgets else (1.0, 10.0)
    nearest = min(found, key=lambda pair: abs(math.log(pair[0].budget / C)) if budgets else 0.0)
    shown = [_dots(theme, one, runs, span) for one, _ in found]
    dotted = [trace["y"] for parts in shown for trace in parts]
    heights = extent(*(c.loss[c.inside] for _, c in found), *dotted, room=0.2)
    window = min(float(c.x[0]) for _, c in found), max(float(c.x[-1]) for _, c in found)
    y = found[0][0].metric
    traces: list[Part] = [*lines.bands(nearest[1].x, nearest[1].band, _colour(nearest[0], span), heights)]
    for (one, curve), parts in zip(found, shown, strict=True):
        hover = f"{choice.setting}  %{{x:.3~g}}<br>{literal(y)}  %{{y:.4~g}}<extra>{_name(one)}</extra>"
        width = 2.4 if curve is nearest[1] else 1.6
        traces += lines.law(theme, curve.x, curve.loss, curve.inside, _colour(one, span), width, hovertemplate=hover)
        traces += parts
        traces += _star(one, curve, theme)
    words = [_end(one, curve, heights) for one, curve in found if budgets]
    traces.append(lines.labels(theme, lines.unobstructed(theme, words, window, heights), "middle right"))
    best = nearest[1].best
    free = best is None or lines.position(best.loss, heights) < 0.5
    shapes, notes = _band(theme, choice, window, free)
    caps, cap_notes = _cap(theme, cap, window, free)
    figure = compose(
        theme, HEIGHT, f"sweep-{choice.setting}", traces, [*shapes, *caps], [*notes, *cap_notes],
        xaxis=_axis(theme, choice, window), yaxis=value_axis(theme, y, *heights), margin={"r": 58 if budgets else 24},
    )  # fmt: skip
    optima = [one for one, _ in found]
    return Drawing(figure, _alt(optima, choice, cap), f"sweep-{choice.setting}", lambda: _points(found))


def _dots(theme: Theme, one: Optimum, runs: Runs | None, span: Span) -> list[Part]:
    """Return the runs at the budget of ``one`` as dots."""
    if runs is None or one.fit is None:
        return []
    part = runs if math.isnan(one.budget) else runs.take(runs["budget"] == one.budget)
    colour = _colour(one, span)
    marker = dots.outline(theme, 7, color=colour)
    if colouring(runs) is not None:  # the outline shows the budget, and the fill shows the dataset
        marker["line"] = {"color": colour, "width": theme.line(1.6)}
    shown = dots.drawn(part, dots.MOST_DOTS)
    return dots.runs_over(shown, str(one.fit.law.axis), one.fit.spec.y, marker, runs)


def _end(one: Optimum, curve: AxisCurve, heights: Span) -> lines.Word:
    """Return the budget of a curve as a label at the last point of the curve that is visible."""
    last = int(np.flatnonzero((curve.loss > heights[0]) & (curve.loss < heights[1]))[-1])
    return float(curve.x[last]), float(curve.loss[last]), f"{tick_text(one.budget)}"


def _star(one: Optimum, curve: AxisCurve, theme: Theme) -> list[Part]:
    if not one.inside or one.x.value is None or curve.best is None:
        return []
    hover = f"<b>Optimum</b>  {tick_text(one.x.value)}<br>{_name(one)}"
    return [lines.star(theme, one.x.value, curve.best.loss, hover, name="optimum")]


def _band(theme: Theme, choice: Choice, window: Span, top: bool = True) -> tuple[list[Part], list[Part]]:
    """Return the marks of a chosen value, as shapes and notes.

    The shapes are a tint from the smallest to the largest optimum of all budgets, a tint over the 68 % interval, and a
    line at the chosen value. The note is the label of the line.
    """
    q = choice.value
    shapes = [] if choice.band is None else [lines.upright(*lines.cut(choice.band, *window), PLAN, lines.TINT95)]
    if q.ci68 is not None:
        shapes.append(lines.upright(*lines.cut(q.ci68, *window), PLAN, lines.TINT68))
    if q.value is None or not window[0] <= q.value <= window[1]:
        return shapes, []
    shapes.append(lines.upright_line(theme, q.value, PLAN) | {"line": {"color": PLAN, "width": theme.line(1.6)}})
    sure = (
        "" if q.ci68 is None else f"<br>68 %: {_text(choice.setting, q.ci68[0])} to {_text(choice.setting, q.ci68[1])}"
    )
    words = f"<i>{choice.setting}</i> of the recipe {_text(choice.setting, q.value)}{sure}"
    return shapes, [_beside(theme, words, q.value, lines.position(q.value, window) > 0.6, top)]


def _beside(theme: Theme, words: str, x: float, right: bool, top: bool) -> Part:
    """Return the text of the vertical line at ``x``.

    If the line is at the ``right`` of the figure, the text is to the left of the line. Otherwise, the text is to the
    right of the line.
    """
    side: Part = {"xanchor": "right", "align": "right", "xshift": -6} if right else {"xanchor": "left", "xshift": 6}
    place: Part = {"y": 1, "yanchor": "top", "yshift": -4} if top else {}
    return lines.note(theme, words, xref="x", x=math.log10(x), **place, **side)


def _cap(theme: Theme, cap: float | None, window: Span, top: bool = True) -> tuple[list[Part], list[Part]]:
    """Return a dashed line at the largest value that fits into memory, a grey area beyond this line, and a note."""
    if not cap:
        return [], []
    words = f"memory limit {count(cap, 3)}"
    if not window[0] <= cap <= window[1]:
        return [], [lines.corner(theme, f"{words}, outside this figure", top=not top)]
    line = {"color": FLOOR, "width": theme.line(1.8), "dash": "dash"}
    shapes = [lines.upright(cap, window[1], GREY, lines.BEYOND), lines.upright_line(theme, cap, FLOOR) | {"line": line}]
    return shapes, [_beside(theme, words, cap, lines.position(cap, window) > 0.8, not top)]


def _axis(theme: Theme, choice: Choice, window: Span) -> Part:
    if choice.setting != "s":
        return log_axis(theme, TITLES.get(choice.setting, choice.setting), *window)
    ticks = [s for s in SHARES if window[0] <= s <= window[1]]
    shown = {"tickmode": "array", "tickvals": ticks, "ticktext": [_text("s", s) for s in ticks], "minor": {"ticks": ""}}
    return log_axis(theme, TITLES["s"], *window) | shown


def _text(setting: str, x: float) -> str:
    return f"{float(f'{100 * x:.2g}'):g} %" if setting == "s" else count(x, 3)


def _colour(one: Optimum, span: Span) -> str:
    return ACCENT if math.isnan(one.budget) or span[0] == span[1] else compute_colour(one.budget, span)


def _name(one: Optimum) -> str:
    return "all budgets" if math.isnan(one.budget) else f"{power10(one.budget)} FLOPs"


def _alt(found: Sequence[Optimum], choice: Choice, cap: float | None) -> str:
    said = "; ".join(
        f"{_name(o)}: {_text(choice.setting, o.x.value) if o.inside and o.x.value else o.place}" for o in found
    )
    most = f" The memory limit is {count(cap, 3)}." if cap else ""
    return f"The best {choice.setting} for {literal(found[0].metric)}. {said}.{most}"


def _table(found: Sequence[Optimum]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"budget": o.budget, "metric": o.metric, "optimum": o.x.value, "place": o.place, "low": o.low, "high": o.high}
        for o in found
    ]
    return pd.DataFrame(rows)


def _points(found: Sequence[tuple[Optimum, AxisCurve]]) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"budget": one.budget, curve.axis: curve.x, "value": curve.loss, "inside": curve.inside})
        for one, curve in found
    ]
    return pd.concat(parts, ignore_index=True)


def draw_frontier(
    path: Frontier, chosen: Minimum | None, y: str, minima: Sequence[Minimum] = (), theme: Theme = WEB
) -> Drawing:
    """Draw the compute-optimal sizes N* and D* for ``y`` against the compute C, with bands.

    Dots show the ``minima`` of iso-FLOP curves. Stars show the ``chosen`` sizes of a recipe.
    """
    window = float(path.C[0]), float(path.C[-1])
    sizes = {"N": (path.N, path.N_band), "D": (path.D, path.D_band)}
    values = extent(path.N, path.D, *(np.array(column) for column in list(zip(*minima, strict=True))[1:]))
    traces: list[Part] = []
    for i, (name, (line, band)) in enumerate(sizes.items(), start=1):
        hover = f"C  %{{x:.3~e}}<br>{name}*  %{{y:.3~s}}<extra>frontier</extra>"
        traces += lines.bands(path.C, band, COLOURS[name], values)
        traces += lines.law(theme, path.C, line, path.inside, COLOURS[name], 2.4, hovertemplate=hover)
        traces += _minima(theme, minima, name, i)
        traces.append(lines.labels(theme, [(window[1], float(line[-1]), f"<i>{name}</i>*")], "middle right"))
    traces += _chosen(theme, chosen, window)
    shades, notes = lines.beyond(theme, path.C, path.inside, top=False)
    figure = compose(
        theme, HEIGHT, "allocation", traces, shades, notes, margin={"r": 40},
        xaxis=log_axis(theme, "Training compute <i>C</i> [FLOPs]", *window),
        yaxis=log_axis(theme, "<i>N</i>* [parameters], <i>D</i>* [samples]", *values),
    )  # fmt: skip
    return Drawing(figure, _frontier_alt(path, y), "allocation", lambda: _sizes(path, minima))


def _minima(theme: Theme, minima: Sequence[Minimum], name: str, column: int) -> list[Part]:
    if not minima:
        return []
    line = {"color": LIGHT_PAGE, "width": theme.line(1)}
    hover = f"C  %{{x:.3~e}}<br>{name}*  %{{y:.3~s}}<extra>minimum of its iso-FLOP curve</extra>"
    return [{"type": "scatter", "mode": "markers", "name": f"{name} minima", "x": [m[0] for m in minima],
             "y": [m[column] for m in minima], "hovertemplate": hover,
             "marker": {"size": theme.marker(8), "color": COLOURS[name], "line": line}}]  # fmt: skip


def _chosen(theme: Theme, chosen: Minimum | None, window: Span) -> list[Part]:
    """Return stars at N* and D* of the recipe; empty if its compute is outside the plot."""
    if chosen is None or not window[0] <= chosen[0] <= window[1]:
        return []
    C, *chosen_sizes = chosen
    return [
        lines.star(theme, C, x, f"<b>Recipe</b>  {power10(C)} FLOPs<br>{name}*  {count(x, 3)}")
        for name, x in zip(COLOURS, chosen_sizes, strict=True)
    ]


def _sizes(path: Frontier, minima: Sequence[Minimum]) -> pd.DataFrame:
    found = pd.DataFrame(list(minima), columns=["C", "N", "D"]).assign(part="minimum")
    return pd.concat([table(path).assign(part="frontier"), found] if len(found) else [table(path)], ignore_index=True)


def _frontier_alt(path: Frontier, y: str) -> str:
    first, last = ((power10(float(path.C[i])), count(float(path.N[i])), count(float(path.D[i]))) for i in (0, -1))
    return (
        f"Compute-optimal model and data for {y}: from N* = {first[1]} on {first[2]} samples at {first[0]} FLOPs to "
        f"N* = {last[1]} on {last[2]} samples at {last[0]} FLOPs."
    )
