"""Figure of a loss or metric against its least cost: law with 68 % band, runs as dots, plan as a star."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis, extent, literal, log_axis, padded, title, value_axis
from isoplan.app.figures.style.palette import ACCENT, GREY, LIGHT_PAGE, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose, legend
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.drawing.cheapest_path import Cost
from isoplan.engine.planning.drawing.cost_curve import CostCurve, Mark
from isoplan.engine.quantities import count, power10

HEIGHT = 440
SYMBOLS = ("circle-open", "diamond-open")
DOT = 1.05
"""Factor between the cost of the outermost run and the cost at which the grey shade starts.

With this factor, the shade does not cover the dot of the run.
"""
TITLES: dict[Cost, str] = {
    "compute": title("C"),
    "samples": "Training samples <i>D</i>",
    "parameters": title("N"),
    "money": "Cost",
}
"""Titles of the cost axis, by kind of cost. For samples and money, the unit is appended."""


def draw(curve: CostCurve, theme: Theme = WEB, height: float = HEIGHT) -> Drawing:
    """Draw a cost curve: solid within the runs, dashed where N, D, C or the value is extrapolated.

    A grey shade covers the costs that are outside the range of the runs.
    """
    window = padded(float(curve.x[0]), float(curve.x[-1]), 0.0)
    values = _values(curve)
    hover = f"%{{x:.3~g}} {curve.unit}<br>{_name(curve)}  %{{y:.4~g}}<extra>law</extra>"
    law = [*_band(curve, values), *_law(theme, curve, hover)] if curve.law else []
    known = [*law, *_runs(theme, curve)]
    if curve.others:  # the legend has space for one line, so it names only the compared points
        known = [part | {"showlegend": False} for part in known]
    traces = [*known, *_plan(theme, curve, curve.plan), *_others(theme, curve)]
    above = legend(theme)
    above["legend"] |= {"itemclick": False, "itemdoubleclick": False, "traceorder": "normal"}
    if theme.width is not None:
        names = [str(one["name"]) for one in traces if one.get("showlegend") is not False and one.get("name")]
        above["margin"] = {"t": _legend_room(theme, names)}
    shapes, notes = lines.beyond(theme, *_costs(curve), top=_falls(curve)) if curve.law else ([], [])
    if curve.goal is not None and values[0] <= curve.goal <= values[1]:
        shapes = [*shapes, lines.level(theme, curve.goal, PLAN, "dot")]
        notes = [*notes, lines.level_note(theme, f"target {curve.goal:,g}", curve.goal, _is_log(values))]
    figure = compose(
        theme, height, "cost_curve", traces, shapes, notes,
        xaxis=log_axis(theme, _title(curve), *window), yaxis=_value_axis(theme, curve, values), **above,
    )  # fmt: skip
    return Drawing(figure, alt(curve), "cost_curve", lambda: table(curve))


def _legend_room(theme: Theme, names: list[str]) -> int:
    """Return the height above the plot that the lines of the legend need in a printed figure."""
    free = 0.8 * (theme.width or 0.0)
    widths = [(3 + 0.62 * len(name)) * theme.small for name in names]
    rows, x = 1, 0.0
    for wide in widths:
        rows, x = (rows + 1, wide) if x + wide > free and x else (rows, x + wide)
    return round(max(32, 12 + 1.5 * rows * theme.small))


def _costs(curve: CostCurve) -> tuple[Floats, Bools]:
    """Return costs along the curve, and whether each cost is within the range of the runs.

    Without runs, the second array states where the law is not extrapolated.
    """
    if not curve.run_x.size:
        return curve.x, curve.inside
    first, last = float(curve.x[0]), float(curve.x[-1])
    ends = np.clip([curve.run_x.min() / DOT, curve.run_x.max() * DOT], first, last)
    return np.array([first, *ends, last]), np.array([False, True, True, False])


def _title(curve: CostCurve) -> str:
    unit = "" if curve.cost in ("compute", "parameters") else f" [{literal(curve.unit)}]"
    return TITLES[curve.cost] + unit


def _name(curve: CostCurve) -> str:
    return literal(curve.label or curve.y)


def _falls(curve: CostCurve) -> bool:
    """Return whether the value decreases with the cost. If so, the upper right corner of the plot is free for notes."""
    return bool(curve.value[-1] <= curve.value[0])


def _values(curve: CostCurve) -> tuple[float, float]:
    """Return the range of the value axis. It contains the law, the plan, and the runs that are not far from the law."""
    law = extent(curve.value, positive=bool(np.all(curve.value > 0)))
    near = curve.run_y[(curve.run_y > 0) & (curve.run_y > law[0] / 3) & (curve.run_y < law[1] * 3)]
    points = [one.y for one in (curve.plan, *(mark for _, mark in curve.others)) if one is not None]
    goal = [] if curve.goal is None else [curve.goal]
    return extent(curve.value, near, np.array([*points, *goal], float))


def _value_axis(theme: Theme, curve: CostCurve, values: tuple[float, float]) -> Part:
    """Return the value axis: linear if the values differ by less than a factor of two, otherwise logarithmic."""
    if values[0] > 0 and not _is_log(values):
        return axis(theme, title(curve.label or curve.y)) | {"range": [*values], "tickformat": ".4~g"}
    return value_axis(theme, curve.label or curve.y, *values)


def _is_log(values: tuple[float, float]) -> bool:
    return values[0] > 0 and values[1] / values[0] >= 2


def _band(curve: CostCurve, values: tuple[float, float]) -> list[Part]:
    limits = (values[0] / 100, values[1] * 100) if values[0] > 0 else (-math.inf, math.inf)
    low, high = (np.clip(ends, *limits) for ends in (curve.low68, curve.high68))
    named = {"name": "68 % interval", "showlegend": True, "legendrank": 2}
    return [part | named for part in lines.band(curve.x, low, high, ACCENT)]


def _law(theme: Theme, curve: CostCurve, hover: str) -> list[Part]:
    dashed, *solid = lines.law(
        theme, curve.x, curve.value, curve.inside, ACCENT, 2.8, hovertemplate=hover, name="extrapolated"
    )
    named = {"name": "law", "showlegend": True, "legendrank": 1}
    parts = [part | named for part in solid]
    return [dashed | {"showlegend": not curve.inside.all(), "legendrank": 4}, *parts]


def _runs(theme: Theme, curve: CostCurve) -> list[Part]:
    if not curve.run_x.size:
        return []
    marker = {"size": theme.marker(7), "color": GREY, "opacity": 0.8, "line": {"color": LIGHT_PAGE, "width": 0.5}}
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "runs",
            "x": lines.pack(curve.run_x),
            "y": lines.pack(curve.run_y),
            "marker": marker,
            "text": [literal(name) for name in curve.run_names] or None,
            "hovertemplate": f"%{{text}}<br>%{{x:.3~g}} {curve.unit}<br>{_name(curve)}  %{{y:.4~g}}<extra></extra>",
            "showlegend": True,
            "legendrank": 3,
        }
    ]


def _plan(theme: Theme, curve: CostCurve, plan: Mark | None) -> list[Part]:
    if plan is None:
        return []
    hover = f"<b>Plan</b><br>{_cost(curve, plan.x)}<br>{_name(curve)}  {plan.y:.4g}"
    errors: Part = {}
    for key, middle, ends in (("error_x", plan.x, plan.x68), ("error_y", plan.y, plan.y68)):
        if ends is not None and all(map(math.isfinite, ends)):
            away = {"array": [max(ends[1] - middle, 0.0)], "arrayminus": [max(middle - ends[0], 0.0)]}
            bar = {"type": "data", "symmetric": False, "color": PLAN, "thickness": theme.line(1.6), "width": 4}
            errors[key] = bar | away
    star = lines.star(theme, plan.x, plan.y, hover, **errors)
    star["marker"] |= {"size": theme.marker(20)}
    return [star | {"showlegend": True, "legendrank": 5}]


def _others(theme: Theme, curve: CostCurve) -> list[Part]:
    """Return the other points as open symbols: a circle, then a diamond."""
    parts: list[Part] = []
    for i, (name, mark) in enumerate(curve.others):
        look = {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": theme.marker(14), "color": PLAN}
        parts.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": literal(name),
                "x": [mark.x],
                "y": [mark.y],
                "marker": look | {"line": {"width": theme.line(2.6), "color": PLAN}},
                "hovertemplate": f"{literal(name)}<br>{_cost(curve, mark.x)}<br>{_name(curve)}  {mark.y:.4g}"
                "<extra></extra>",
                "showlegend": True,
                "legendrank": 6 + i,
            }
        )
    return parts


def _cost(curve: CostCurve, x: float) -> str:
    """Return the cost ``x`` as text with its unit."""
    return f"{power10(x) if curve.cost == 'compute' else count(x, 3)} {curve.unit}"


def alt(curve: CostCurve) -> str:
    """Return the description of the figure for readers who cannot see it."""
    seen = f", with {len(curve.run_x):,} runs" if curve.run_x.size else ""
    star = "" if curve.plan is None else f" The plan is at {_cost(curve, curve.plan.x)}, {curve.y} {curve.plan.y:.4g}."
    return (
        f"{curve.y} against {curve.cost}{seen}: from {curve.value[0]:.3g} at {_cost(curve, float(curve.x[0]))} to "
        f"{curve.value[-1]:.3g} at {_cost(curve, float(curve.x[-1]))}.{star}"
    )


def table(curve: CostCurve) -> pd.DataFrame:
    """Return one row per vertex of the line: cost, value, band limits, and whether the vertex is within the runs."""
    ends = {"low68": curve.low68, "high68": curve.high68}
    return pd.DataFrame({curve.cost: curve.x, curve.y: curve.value, **ends, "inside": curve.inside})
