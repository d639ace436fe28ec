"""A law over its axes, one panel an axis: the line, its bands from the resamples, and the runs brought to the slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from isoplan.app.figures.fits.residuals import SHORT
from isoplan.app.figures.marks import dots
from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.marks.lines import Span
from isoplan.app.figures.style.axes import axis, extent, log_axis, value_axis
from isoplan.app.figures.style.drawing import Drawing
from isoplan.app.figures.style.palette import ACCENT, GREY
from isoplan.app.figures.style.theme import WEB, Part, Theme, compose
from isoplan.app.figures.style.words import hover_format, literal, tick_text
from isoplan.engine.planning.drawing.slices import Slice

HEIGHT = 400
GAP = 0.05


def draw(found: Sequence[Slice], y: str = "loss", theme: Theme = WEB) -> Drawing:
    """The slices beside each other over one scale of ``y``; runs move along the law to the values of the other axes."""
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
    figure = compose(theme, HEIGHT, "slices", traces, shapes, notes, **layout)
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
    marker = {"size": theme.marker(5), "color": GREY, "opacity": 0.55, "line": {"width": 0}}
    trace: Part = {
        "type": "scatter", "mode": "markers", "name": "runs", "hoverinfo": "skip", "marker": marker,
        "x": marks.pack(one.x_runs[shown]), "y": marks.pack(one.y_runs[shown]),
    }  # fmt: skip
    return [trace] if one.runs is None else dots.by_group(one.runs.take(shown), trace, one.runs)


def _table(found: Sequence[Slice]) -> pd.DataFrame:
    """One row a vertex of a line: the axis, where the others stand, the law's value and the ends of its bands."""
    parts = []
    for one in found:
        ends = {name: getattr(one.band, name) for name in ("low68", "high68", "low95", "high95")}
        fixed = {name: np.full_like(one.x, value) for name, value in one.others.items()}
        parts.append(pd.DataFrame({"axis": one.axis, one.axis: one.x, **fixed, "value": one.y, **ends}))
    return pd.concat(parts, ignore_index=True)


def _alt(found: Sequence[Slice], y: str) -> str:
    lines = [f"{one.axis} from {one.x[0]:.2g} to {one.x[-1]:.2g}: {one.y[0]:.4g} to {one.y[-1]:.4g}" for one in found]
    return f"{y} by the law along each axis, the others held in the middle of the runs; {'; '.join(lines)}."
