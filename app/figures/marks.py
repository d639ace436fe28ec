"""What figures are made of: runs as dots, laws as lines, intervals as tints, labels at the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from app.figures.axes import hover_format
from app.figures.palette import ACCENT, FLOOR, GREY, LIGHT_PAGE, LOSS, PLAN, scale
from app.figures.theme import Theme
from engine.planning.curves import Band
from engine.planning.quantity import Quantity
from engine.schema import Runs

Floats = NDArray[np.float64]
Packed = NDArray[np.float32] | NDArray[np.float64]
Dots: TypeAlias = Any
"""A scatter trace, drawn by SVG or by WebGL."""

MOST_DOTS = 1_000
"""Runs drawn behind a law: more of them take longer to draw than a slider may wait."""
WEBGL_ABOVE = 3_000
"""Dots above which WebGL draws faster than one element a dot."""
MOST_FIELDS = 12
"""Columns that a hovered run shows."""
FIRST = ("N", "D", "U", "C", "epochs", "budget", "loss")
TINT68, TINT95 = 0.24, 0.12
BEYOND = 0.13
"""Opacity of the grey over what lies beyond the runs."""


def pack(values: Floats) -> Packed:
    """``values`` as float32, which halves what is sent; float64 where float32 would lose an integer or overflow."""
    known = values[np.isfinite(values)]
    whole = known.size and np.all(known == np.rint(known)) and np.max(np.abs(known)) >= 2**24
    small = known.size and (np.max(np.abs(known)) > 1e37 or np.min(np.abs(known[known != 0]), initial=1.0) < 1e-37)
    return values if whole or small else values.astype(np.float32)


def drawn(runs: Runs, most: int) -> Runs:
    """At most ``most`` of the runs, always the same ones, in their order."""
    if len(runs) <= most:
        return runs
    return runs.take(np.sort(np.random.default_rng(0).choice(len(runs), most, replace=False)))


def dots(runs: Runs, x: Floats, y: Floats, extra: Mapping[str, Floats] | None = None, **trace: Any) -> Dots:
    """The runs as dots at ``x`` and ``y``; hovering one shows its identity, all its roles and ``extra`` columns.

    The first column of ``customdata`` is the row id, by which a page finds what was clicked.
    """
    fields = _fields(runs, extra or {})
    names = runs.labels.get("run")
    kind = go.Scattergl if len(runs) > WEBGL_ABOVE else go.Scatter
    ids = runs.ids.astype(float)
    return kind(
        x=pack(x),
        y=pack(y),
        mode="markers",
        customdata=np.stack([ids, *fields.values()], axis=1).astype(pack(ids).dtype),
        text=None if names is None else [escape(str(n)) for n in names],
        hovertemplate=_template(fields, names is not None),
        **trace,
    )


def runs_over(runs: Runs | None, x: str, y: str, marker: dict[str, Any]) -> list[Dots]:
    """The runs as dots over the roles ``x`` and ``y``; nothing where there are none or they lack one."""
    if runs is None or x not in runs or y not in runs:
        return []
    return [dots(runs, runs[x], runs[y], name="runs", marker=marker)]


def _fields(runs: Runs, extra: Mapping[str, Floats]) -> dict[str, Floats]:
    """What a hovered run shows, the roles of the laws first."""
    known = [f for f in FIRST if f in runs]
    known += [f for f in runs.values if f not in FIRST and f != "weight"]
    return {**{f: runs[f] for f in known[:MOST_FIELDS]}, **extra}


def _template(fields: Iterable[str], named: bool) -> str:
    """Identity first, then one role a line."""
    lines = ["<b>%{text}</b> · row %{customdata[0]}" if named else "<b>Row %{customdata[0]}</b>"]
    for i, field in enumerate(fields, start=1):
        lines.append(f"{literal(field)}  %{{customdata[{i}]:{hover_format(field)}}}")
    return "<br>".join(lines) + "<extra></extra>"


def literal(text: str) -> str:
    """``text`` of a user's inside a hover template: no HTML, no placeholder."""
    return escape(text).replace("%{", "% {")


def outline(theme: Theme, size: float = 7, **marker: Any) -> dict[str, Any]:
    """A dot with a grey outline, seen on either background whatever its fill."""
    return {"size": theme.marker(size), "line": {"color": GREY, "width": theme.line(0.8)}, **marker}


def loss_colours(values: Floats, theme: Theme, name: str) -> dict[str, Any]:
    """Marker properties that colour dots by ``values`` on the loss scale, log where they are positive, with a bar."""
    known = values[np.isfinite(values)]
    log = bool(known.size and np.min(known) > 0)
    shown = np.log10(values) if log else values
    low, high = (float(np.min(known)), float(np.max(known))) if known.size else (0.0, 1.0)
    ticks = nice_ticks(low, high) if log else []
    bar = colour_bar(theme, name)
    if log:
        bar |= {"tickvals": [math.log10(t) for t in ticks], "ticktext": [tick_text(t) for t in ticks]}
    ends = [math.log10(low), math.log10(high)] if log else [low, high]
    return {
        "color": shown.astype(np.float32),
        "colorscale": scale(LOSS),
        "cmin": ends[0],
        "cmax": ends[1] if ends[1] > ends[0] else ends[0] + 1,
        "colorbar": bar,
        "showscale": True,
    }


def colour_bar(theme: Theme, name: str, **extra: Any) -> dict[str, Any]:
    """A slim bar right of the plot."""
    return {
        "title": {"text": name, "side": "right", "font": {"size": theme.small}},
        "thickness": 9,
        "len": 0.62,
        "y": 1.0,
        "yanchor": "top",
        "x": 1.02,
        "outlinewidth": 0,
        "ticks": "outside",
        "ticklen": 3,
        "tickfont": {"size": theme.small},
        **extra,
    }


def nice_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers from ``low`` to ``high`` for a log scale: decades, else 1-2-5, else finer."""
    for steps in ((1.0,), (1.0, 2.0, 5.0), tuple(np.arange(1, 10, 0.5)), tuple(np.arange(1, 10, 0.1))):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [float(f"{s:.3g}e{e}") for e in decades for s in steps if low <= float(f"{s:.3g}e{e}") <= high]
        if len(found) >= 3:
            return found[:: math.ceil(len(found) / most)]
    return [low, high]


def tick_text(value: float) -> str:
    """A tick's number: plain from 0.001 to 10,000, else a power of ten."""
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    lead = "" if mantissa == "1.0" else f"{float(mantissa):g}×"
    return f"{lead}10<sup>{int(exponent)}</sup>"


def band(x: Floats, low: Floats, high: Floats, colour: str, tint: float) -> go.Scatter:
    """The area between ``low`` and ``high``, without an outline and without hover."""
    known = np.isfinite(low) & np.isfinite(high)
    x, low, high = x[known], low[known], high[known]
    return ribbon(np.append(x, x[::-1]), np.append(low, high[::-1]), colour, tint)


def ribbon(x: Floats, y: Floats, colour: str, tint: float) -> go.Scatter:
    """The area inside a closed line, without an outline and without hover."""
    return go.Scatter(
        x=pack(x),
        y=pack(y),
        mode="lines",
        fill="toself",
        fillcolor=colour,
        opacity=tint,
        line={"width": 0},
        hoverinfo="skip",
    )


def line(theme: Theme, x: Floats, y: Floats, colour: str, width: float = 2.0, **trace: Any) -> go.Scatter:
    """A line, dashed where ``dash`` in ``trace`` says so; without hover unless ``trace`` brings a template."""
    dash = trace.pop("dash", "solid")
    hover = {} if "hovertemplate" in trace else {"hoverinfo": "skip"}
    return go.Scatter(
        x=pack(x),
        y=pack(y),
        mode="lines",
        line={"color": colour, "width": theme.line(width), "dash": dash},
        **hover,
        **trace,
    )


def law(
    theme: Theme, x: Floats, y: Floats, inside: NDArray[np.bool_], colour: str, width: float = 2.0, **trace: Any
) -> list[go.Scatter]:
    """A law's line: dashed all along, and solid over that where ``inside`` the data."""
    dashed = line(theme, x, y, colour, width * 0.85, dash="5px,4px", **trace)
    return [dashed, line(theme, x, np.where(inside, y, np.nan), colour, width)] if np.any(inside) else [dashed]


def labels(theme: Theme, words: Sequence[tuple[float, float, str]], position: str) -> go.Scatter:
    """Words (x, y, text) in the colour of the page's text; they may stand outside the plot area."""
    x, y, text = zip(*words, strict=True) if words else ((), (), ())
    return go.Scatter(
        x=x,
        y=y,
        text=text,
        mode="text",
        textposition=position,
        textfont={"size": theme.small},
        cliponaxis=False,
        hoverinfo="skip",
    )


def unobstructed(
    words: Sequence[tuple[float, float, str]], values: tuple[float, float], share: float = 0.045
) -> list[tuple[float, float, str]]:
    """The words whose y stands at least ``share`` of the axis from those before them."""
    kept: list[tuple[float, float, str]] = []
    for word in words:
        if all(abs(position(word[1], values) - position(other[1], values)) > share for other in kept):
            kept.append(word)
    return kept


def position(value: float, values: tuple[float, float]) -> float:
    """Where ``value`` stands along an axis over ``values``: 0 at its lower end, 1 at its upper; log where positive."""
    low, high = values
    if low > 0 and value > 0:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def bands(x: Floats, ends: Band, colour: str) -> list[go.Scatter]:
    """95 % as a light tint and 68 % as a stronger one; nothing where the law has no intervals."""
    pairs = ((ends.low95, ends.high95, TINT95), (ends.low68, ends.high68, TINT68))
    return [band(x, low, high, colour, tint) for low, high, tint in pairs if np.any(np.isfinite(low + high))]


def faint(theme: Theme) -> dict[str, Any]:
    """Runs in the background."""
    return {"size": theme.marker(6), "color": GREY, "opacity": 0.65, "line": {"width": 0}}


def filled(theme: Theme) -> dict[str, Any]:
    """Runs in front, where their colour means nothing."""
    return {"size": theme.marker(8), "color": ACCENT, "line": {"color": LIGHT_PAGE, "width": theme.line(1)}}


def shade_beyond(figure: go.Figure, theme: Theme, x: Floats, inside: NDArray[np.bool_]) -> None:
    """Grey over the parts of the x axis that lie beyond the runs."""
    within = x[inside]
    parts = [(x[0], within[0]), (within[-1], x[-1])] if within.size else [(x[0], x[-1])]
    for low, high in parts:
        if high > low:
            figure.add_shape(
                type="rect", x0=low, x1=high, y0=0, y1=1, yref="y domain",
                fillcolor=GREY, opacity=BEYOND, line={"width": 0}, layer="below",
            )  # fmt: skip
    low, high = parts[-1]
    if high > low:
        figure.add_annotation(
            note(theme, "beyond the runs", xref="x", x=math.log10(high), xanchor="right", y=1, yanchor="top", xshift=-6)
        )


def mark_floor(figure: go.Figure, theme: Theme, floor: Quantity | None, values: tuple[float, float]) -> None:
    """The floor as a dotted line and its 68 % and 95 % intervals as horizontal tints."""
    if floor is None or floor.value is None or not floor.value > 0:
        return
    for ends, tint in ((floor.ci95, TINT95), (floor.ci68, TINT68)):
        if ends is not None:
            low, high = (min(max(end, values[0]), values[1]) for end in ends)
            figure.add_shape(
                type="rect", x0=0, x1=1, xref="x domain", y0=low, y1=high,
                fillcolor=FLOOR, opacity=tint, line={"width": 0}, layer="below",
            )  # fmt: skip
    figure.add_shape(
        type="line", x0=0, x1=1, xref="x domain", y0=floor.value, y1=floor.value,
        line={"color": FLOOR, "width": theme.line(1.4), "dash": "dot"}, layer="below",
    )  # fmt: skip
    at = math.log10(floor.value) if values[0] > 0 else floor.value
    figure.add_annotation(note(theme, f"limit {tick_text(floor.value)}", yref="y", y=at, yanchor="bottom", yshift=1))


def plan_point(theme: Theme, x: float, y: float, hover: str) -> go.Scatter:
    """The answer of a plan."""
    return go.Scatter(
        x=[x],
        y=[y],
        mode="markers",
        marker={
            "symbol": "star",
            "size": theme.marker(16),
            "color": PLAN,
            "line": {"color": LIGHT_PAGE, "width": theme.line(1.2)},
        },
        hovertemplate=hover + "<extra></extra>",
    )


def note(theme: Theme, text: str, **place: Any) -> dict[str, Any]:
    """A small remark inside the plot area, by default in its lower left corner."""
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": 6,
        "yshift": 4,
        "showarrow": False,
        "align": "left",
        "font": {"size": theme.small},
        **place,
    }
