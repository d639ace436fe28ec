"""Runs as dots: which runs are drawn, with which colours and which hover text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.app.figures.marks.lines import pack
from isoplan.app.figures.style.axes import hover_format, literal, nice_ticks, tick_text
from isoplan.app.figures.style.palette import ACCENT, GREY, LIGHT_PAGE, LOSS, scale
from isoplan.app.figures.style.palette import category as palette_colour
from isoplan.app.figures.style.theme import GROUP, Part, Theme
from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.mixtures import colouring
from isoplan.engine.schema import Category, Direction, Runs

MOST_DOTS = 300
"""Maximum number of runs that are drawn with a law. More dots would slow down figures with a slider."""
WEBGL_ABOVE = 3_000
"""Number of dots above which Plotly's WebGL traces are faster than SVG traces."""
MOST_FIELDS = 12
"""Maximum number of columns in the hover text of a run."""
_SCALED = {"color", "cmin", "cmax", "colorscale", "colorbar", "showscale"}
"""Names of the marker properties that map numbers to colours."""
FIRST = ("N", "D", "U", "C", "epochs", "budget", "loss")


def drawn(runs: Runs, most: int) -> Runs:
    """Return ``runs``, or a fixed random sample of ``most`` of them, in the order of the table."""
    return runs if len(runs) <= most else runs.take(chosen(len(runs), most))


def chosen(n: int, most: int) -> Ints:
    """Return the positions 0 to n - 1, or a fixed random sample of ``most`` of them, in ascending order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def dots(runs: Runs, x: Floats, y: Floats, extra: Mapping[str, Floats] | None = None, **trace: Any) -> Part:
    """Return a trace with the runs as dots at ``x`` and ``y``.

    The hover text shows the name, all roles, and the columns ``extra``. The first column of ``customdata`` is the row
    id, with which a page identifies a clicked run.
    """
    fields = _fields(runs, extra or {})
    names = runs.labels.get("run")
    ids = runs.ids.astype(float)
    shown = np.stack([ids, *fields.values()], axis=1)
    beyond = bool(np.any(np.abs(shown) > np.finfo(np.float32).max))
    return {
        "type": "scattergl" if len(runs) > WEBGL_ABOVE else "scatter",
        "name": "runs",
        "x": pack(x),
        "y": pack(y),
        "mode": "markers",
        "customdata": shown if beyond else shown.astype(pack(ids).dtype),
        "text": None if names is None else [literal(str(n)) for n in names],
        "hovertemplate": _template(fields, names is not None),
        **trace,
    }


PLOT = (560, 280)
"""Approximate width and height of a plot in pixels, for the distance between dots that share coordinates."""
TURN = math.pi * (3 - 5**0.5)
"""Golden angle in radians. Dots fill a disc evenly if each dot is rotated by this angle from the previous dot."""
WIDEST = 18.0
"""Largest distance, in pixels, between a dot and the true coordinates of its run."""


def side_by_side(
    x: Floats, y: Floats, ends: tuple[tuple[float, float], tuple[float, float]], size: float
) -> tuple[Floats, Floats, int]:
    """Move dots with the same coordinates apart: the first dot stays, and the others lie around it.

    ``x`` and ``y`` (n,) are positions on linear axes (logarithms for log axes). ``ends`` are the ranges of the axes.
    ``size`` is the diameter of a dot in pixels. Returns the new positions and the number of dots that share
    coordinates.
    """
    spans = [high - low or 1.0 for low, high in ends]
    cells = np.stack([np.round((v - low) / span, 3) for v, (low, _), span in zip((x, y), ends, spans, strict=True)])
    _, place, sizes = np.unique(cells, axis=1, return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(x))
    rank[order] = np.arange(len(x)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    step = min(0.75 * size, WIDEST / max(float(sizes.max(initial=1) - 1), 1.0) ** 0.5)
    moves = [step * np.sqrt(rank) * turn(TURN * rank) for turn in (np.cos, np.sin)]
    moved = [v + span * move / pixels for v, span, move, pixels in zip((x, y), spans, moves, PLOT, strict=True)]
    return moved[0], moved[1], int(sizes[sizes > 1].sum())


def runs_over(runs: Runs | None, x: str, y: str, marker: Part, among: Runs | None = None) -> list[Part]:
    """Return the runs as dots over the roles ``x`` and ``y``, one trace per dataset.

    The result is empty without runs, or if a role is missing. ``among`` contains all runs of the figure if
    ``runs`` is only a subset.
    """
    if runs is None or x not in runs or y not in runs:
        return []
    return by_group(runs, dots(runs, runs[x], runs[y], marker=marker), among)


def by_group(runs: Runs, trace: Part, among: Runs | None = None) -> list[Part]:
    """Return the dots of ``runs`` as one trace per dataset, each with its own colour; one trace for a single dataset.

    ``among`` are all runs of the figure. They determine whether there are several datasets. A dataset has the same
    colour in all figures of a table. ``compose`` draws one legend entry per dataset.
    """
    found = colouring(runs if among is None else among)
    if found is None:
        return [trace]
    name, category = found[0], runs.categories[found[0]]
    fill = {key: value for key, value in trace["marker"].items() if key not in _SCALED}
    parts = []
    for code, value in [*enumerate(category.values), (-1, "empty")]:
        rows = np.flatnonzero(category.codes == code)
        if rows.size:
            own = {
                key: _some(trace[key], rows) for key in ("x", "y", "customdata", "text") if trace.get(key) is not None
            }
            named = {"name": literal(value), "legendgroup": f"{GROUP}{value}", "showlegend": True}
            if "hovertemplate" in trace:
                said = f"<br>{literal(name)}  {literal(value)}<extra>"
                named["hovertemplate"] = trace["hovertemplate"].replace("<extra>", said)
            colour = group_colour(category, code)
            parts.append({**trace, **own, **named, "marker": {**fill, "color": colour}})
    return parts


def group_colour(category: Category, code: int) -> str:
    """Return the colour of the dataset with the number ``code``; grey for runs without a dataset (``code`` is -1)."""
    return palette_colour(code) if code >= 0 else GREY


def _some(values: Any, rows: Ints) -> Any:
    return [values[i] for i in rows] if isinstance(values, list) else values[rows]


def _fields(runs: Runs, extra: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the columns of the hover text by name; roles of the laws, such as N and D, come first."""
    known = [f for f in FIRST if f in runs]
    known += [f for f in runs.values if f not in FIRST and f != "weight"]
    return {**{f: runs[f] for f in known[:MOST_FIELDS]}, **extra}


def _template(fields: Iterable[str], named: bool) -> str:
    """Return the template of the hover text: name and row id first, then one column per line."""
    lines = ["<b>%{text}</b> · row %{customdata[0]}" if named else "<b>Row %{customdata[0]}</b>"]
    for i, field in enumerate(fields, start=1):
        lines.append(f"{literal(field)}  %{{customdata[{i}]:{hover_format(field)}}}")
    return "<br>".join(lines) + "<extra></extra>"


def outline(theme: Theme, size: float = 7, **marker: Any) -> Part:
    """Return the marker of a dot with a grey outline, which is visible on light and dark pages for any fill colour."""
    return {"size": theme.marker(size), "line": {"color": GREY, "width": theme.line(0.8)}, **marker}


def loss_colours(values: Floats, theme: Theme, name: str, better: Direction = "min") -> Part:
    """Return marker properties that map ``values`` to the colours of the loss scale, with a colour bar named ``name``.

    Better values are darker; ``better`` is "min" or "max". The scale is logarithmic if all values are positive.
    """
    known = values[np.isfinite(values)]
    low, high = (float(np.min(known)), float(np.max(known))) if known.size else (0.0, 1.0)
    bar, ends = colour_bar(theme, name), (low, high)
    if low > 0:
        ticks = nice_ticks(low, high)
        bar |= {"tickvals": [math.log10(t) for t in ticks], "ticktext": [tick_text(t) for t in ticks]}
        ends = (math.log10(low), math.log10(high))
    scaled = {
        "cmin": ends[0],
        "cmax": ends[1] if ends[1] > ends[0] else ends[0] + 1,
        "colorscale": scale(LOSS if better == "min" else LOSS[::-1]),
    }
    colours = {**scaled, "colorbar": bar, "showscale": True}
    return colours | {"color": on_scale(values, colours)}


def is_log(colours: Part) -> bool:
    """Return whether the colour scale from ``loss_colours`` is logarithmic."""
    return "tickvals" in colours["colorbar"]


def on_scale(values: Floats, colours: Part) -> NDArray[np.float32]:
    """Return ``values`` as positions on the colour scale from ``loss_colours``: log10 of the values on a log scale."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log10(values) if is_log(colours) else values, np.float32)


def colour_bar(theme: Theme, name: str, **extra: Any) -> Part:
    """Return a narrow colour bar to the right of the plot, with the title ``name``."""
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


def faint(theme: Theme) -> Part:
    """Return the marker of runs that are drawn in the background: grey and transparent."""
    return {"size": theme.marker(6), "color": GREY, "opacity": 0.65, "line": {"width": 0}}


def filled(theme: Theme) -> Part:
    """Return the marker of runs in the foreground, whose colour does not encode a value."""
    return {"size": theme.marker(8), "color": ACCENT, "line": {"color": LIGHT_PAGE, "width": theme.line(1)}}
