"""Figures of laws as lines with bands: one law over each of its axes, or several fits over one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.fits.residuals import SHORT
from isoplan.app.figures.marks import along, dots, keys
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.marks.along import HEIGHT, Along
from isoplan.app.figures.marks.along import table as table_of
from isoplan.app.figures.marks.lines import Span
from isoplan.app.figures.style.axes import axis, extent, hover_format, literal, log_axis, tick_text, title, value_axis
from isoplan.app.figures.style.palette import ACCENT, GREY, category
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.mixtures import colouring
from isoplan.engine.planning.drawing.sections import AxisCurve, Slice
from isoplan.engine.schema import Runs

PANEL_HEIGHT = 400
GAP = 0.05


def draw_slices(found: Sequence[Slice], y: str = "loss", theme: Theme = WEB) -> Drawing:
    """Draw one panel per slice, with the same y axis in all panels.

    A slice is a line of the law over one axis; the other axes have fixed values. Each run is moved along the law to
    these fixed values.
    """
    values = extent(*(s.y for s in found), *(s.y_runs for s in found))
    traces: list[Part] = []
    layout: dict[str, Any] = {}
    notes: list[Part] = []
    shapes: list[Part] = []
    for i, one in enumerate(found):
        layout |= _axes(theme, i, len(found), one, y, values)
        on = {"xaxis": f"x{_number(i)}", "yaxis": f"y{_number(i)}"}
        traces += [part | on for part in _parts(theme, one, y, values)]
        place: dict[str, Any] = {"xref": f"{on['xaxis']} domain", "yref": f"{on['yaxis']} domain"}
        shades, _ = marks.beyond(theme, one.x, one.inside)
        shapes += [s | {"xref": on["xaxis"], "yref": f"{on['yaxis']} domain"} for s in shades]
        if one.others:
            notes.append(marks.corner(theme, _where(one), top=_falls(one), **place))
    grey = _run_marker(theme)
    traces += [
        keys.line(theme, "law", ACCENT),
        *keys.intervals(theme, ACCENT, any(keys.is_known(one.band) for one in found)),
        *(keys.dots(found[0].runs, grey) if found[0].x_runs.size else []),
        keys.beyond(theme, ACCENT),
    ]
    figure = compose(theme, PANEL_HEIGHT, "slices", traces, shapes, notes, **layout)
    return Drawing(figure, _alt(found, y), "law-over-axes", lambda: _table(found))


def _number(i: int) -> str:
    return "" if i == 0 else str(i + 1)


def _falls(one: Slice) -> bool:
    return bool(one.y[-1] <= one.y[0])


def _where(one: Slice) -> str:
    return "at " + ", ".join(f"<i>{literal(name)}</i> = {tick_text(value)}" for name, value in one.others.items())


def _axes(theme: Theme, i: int, n: int, one: Slice, y: str, values: Span) -> dict[str, Part]:
    width = (1 + GAP) / n
    place = {"domain": (i * width, i * width + width - GAP), "anchor": f"y{_number(i)}"}
    words = SHORT.get(one.axis, literal(one.axis))
    low, high = float(one.x[0]), float(one.x[-1])
    across = log_axis(theme, words, low, high, **place) if low > 0 else axis(theme, words, range=[low, high], **place)
    across["nticks"] = min(across.get("nticks", 6), max(2, round(12 / n / theme.crowding)))
    up = value_axis(theme, y, *values, anchor=f"x{_number(i)}", showticklabels=i == 0)
    return {f"xaxis{_number(i)}": across, f"yaxis{_number(i)}": up if i == 0 else up | {"matches": "y", "title": None}}


def _parts(theme: Theme, one: Slice, y: str, values: Span) -> list[Part]:
    hover = f"{literal(one.axis)}  %{{x:{hover_format(one.axis)}}}<br>{literal(y)}  %{{y:.4~g}}<extra>law</extra>"
    line = marks.law(theme, one.x, one.y, one.inside, ACCENT, 2.4, hovertemplate=hover)
    return [*marks.bands(one.x, one.band, ACCENT, values), *_runs(theme, one), *line]


def _runs(theme: Theme, one: Slice) -> list[Part]:
    if not one.x_runs.size:
        return []
    shown = np.arange(len(one.x_runs))
    if shown.size > dots.MOST_DOTS:
        shown = np.sort(np.random.default_rng(0).choice(shown, dots.MOST_DOTS, replace=False))
    trace: Part = {
        "type": "scatter", "mode": "markers", "name": "runs", "hoverinfo": "skip", "marker": _run_marker(theme),
        "x": marks.pack(one.x_runs[shown]), "y": marks.pack(one.y_runs[shown]),
    }  # fmt: skip
    return [trace] if one.runs is None else dots.by_group(one.runs.take(shown), trace, one.runs)


def _run_marker(theme: Theme) -> Part:
    return {"size": theme.marker(5), "color": GREY, "opacity": 0.55, "line": {"width": 0}}


def _table(found: Sequence[Slice]) -> pd.DataFrame:
    """Return one row per vertex of a line: axis, values of the other axes, value of the law, and band limits."""
    parts = []
    for one in found:
        ends = {name: getattr(one.band, name) for name in ("low68", "high68", "low95", "high95")}
        fixed = {name: np.full_like(one.x, value) for name, value in one.others.items()}
        parts.append(pd.DataFrame({"axis": one.axis, one.axis: one.x, **fixed, "value": one.y, **ends}))
    return pd.concat(parts, ignore_index=True)


def _alt(found: Sequence[Slice], y: str) -> str:
    lines = [f"{one.axis} from {one.x[0]:.2g} to {one.x[-1]:.2g}: {one.y[0]:.4g} to {one.y[-1]:.4g}" for one in found]
    return f"{y} of the law along each axis, with the other axes at the middle of the runs; {'; '.join(lines)}."


def draw_line(curve: AxisCurve, runs: Runs | None = None, y: str = "loss", theme: Theme = WEB) -> Drawing:
    """Draw the law ``curve`` over its single axis, with the runs to which it was fitted."""
    law = along.of_axis(curve, runs, y)
    p = along.parts(theme, law, ACCENT, dots.filled(theme))
    name = f"{y}-against-{curve.axis}"
    figure = compose(theme, along.HEIGHT, name, p.traces, p.shapes, p.notes, clickmode="event+select", **p.axes)
    return Drawing(figure, along.alt(law), name, lambda: along.table(law))


def draw_overlay(laws: Mapping[str, Along], theme: Theme = WEB) -> Drawing:
    """Draw several ``laws`` (by name) over their common axis.

    The title of the y axis is the quantity of the first law.
    """
    first = next(iter(laws.values()))
    shown = {name: None if law.runs is None else dots.drawn(law.runs, dots.MOST_DOTS) for name, law in laws.items()}
    clouds = [runs[laws[name].y] for name, runs in shown.items() if runs is not None and laws[name].y in runs]
    values = extent(*(law.loss for law in laws.values()), *clouds)
    traces: list[Part] = []
    for i, (name, law) in enumerate(laws.items()):
        traces += _law(theme, i, name, law, values)
    for i, (name, runs) in enumerate(shown.items()):
        marker = {"size": theme.marker(6), "color": category(i), "opacity": 0.55, "line": {"width": 0}}
        if runs is not None and colouring(runs) is not None:  # the outline shows the fit, the fill shows the dataset
            marker["line"] = {"color": category(i), "width": theme.line(1.4)}
        traces += [{"showlegend": False} | dot for dot in dots.runs_over(runs, first.axis, laws[name].y, marker)]
    low, high = min(float(law.x[0]) for law in laws.values()), max(float(law.x[-1]) for law in laws.values())
    layout: dict[str, Any] = {
        "xaxis": log_axis(theme, title(first.axis), low, high),
        "yaxis": value_axis(theme, first.y, *values),
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": theme.small}},
        "margin": {"t": 44},
    }
    figure = compose(theme, HEIGHT, "overlay", traces, **layout)
    return Drawing(figure, _overlay_alt(laws), "fits-beside-each-other", lambda: overlay_table(laws))


def _law(theme: Theme, i: int, name: str, law: Along, values: tuple[float, float]) -> list[Part]:
    colour, words = category(i), literal(name)
    hover = f"{law.axis}  %{{x:{hover_format(law.axis)}}}<br>{literal(law.y)}  %{{y:.4~g}}<extra>{words}</extra>"
    bands = [part | {"showlegend": False} for part in marks.bands(law.x, law.band, colour, values)]
    lines = marks.law(theme, law.x, law.loss, law.inside, colour, 2.4, hovertemplate=hover)
    named = [
        line | {"name": words, "legendgroup": str(i), "showlegend": j == len(lines) - 1} for j, line in enumerate(lines)
    ]
    return [*bands, *named]


def overlay_table(laws: Mapping[str, Along]) -> pd.DataFrame:
    """Return one row per vertex of a line, with the name of the fit in the column ``fit``."""
    return pd.concat([table_of(law).assign(fit=name) for name, law in laws.items()], ignore_index=True)


def _overlay_alt(laws: Mapping[str, Along]) -> str:
    first = next(iter(laws.values()))
    low, high = max(law.x[0] for law in laws.values()), min(law.x[-1] for law in laws.values())
    at = np.sqrt(low * high)
    losses = ", ".join(f"{np.interp(np.log(at), np.log(law.x), law.loss):.4g}" for law in laws.values())
    return f"{len(laws)} fits of {first.y} over {first.axis}: at {first.axis} = {at:.2g} they give {losses}."
