"""Smaller for longer: what models of one loss cost to train, and what they cost over their lives."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis, literal, log_axis, tick_text, title
from isoplan.app.figures.style.palette import ACCENT, GREY, PARTS, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.smaller.answer import Lifetime, LifetimeCurve, SameLoss
from isoplan.engine.quantities import count, power10

HEIGHT = 420
MOST = 2.0
"""The largest overhead that is drawn: three times the compute."""
SHOWN = {0.5: "half", 2.0: "twice"}
"""Fractions whose overhead stands beside the line, as far as there is room."""
CROWDED = 1.3
"""From here on there is room for the first alone."""
INSIDE = 0.005
"""Decades beyond the runs up to which a model counts as within them."""
TALLEST = 2.6
"""How far above the minimum the axis of a lifetime reaches."""


def draw(curve: SameLoss, life: float | None = None, theme: Theme = WEB) -> Drawing:
    """Overhead in compute against model size; ``life`` is the fraction that is cheapest over its life."""
    x, y = curve.fraction, curve.overhead
    window = 0.85 * float(x[y <= MOST][0]), float(x[-1])
    values = min(-0.08, 1.2 * float(y.min())), MOST
    text = [f"N  {count(float(n), 3)}<br>D  {count(float(d), 3)}" for n, d in zip(curve.N, curve.D, strict=True)]
    hover = "%{x:.3~f} of the best size<br>%{text}<br>compute %{y:+.1%}<extra>same loss</extra>"
    low, high = np.clip((curve.low68, curve.high68), -MOST, 2 * MOST)  # no farther than the figure could be moved
    traces = [
        *lines.band(x, low, high, ACCENT),
        *lines.law(theme, x, y, curve.within & (curve.beyond <= INSIDE), ACCENT, 2.4, text=text, hovertemplate=hover),
        lines.star(theme, 1.0, 0.0, _hover("Best for training", curve, 1.0)),
    ]
    if life is not None and window[0] < life < window[1]:
        at = float(np.interp(math.log(life), np.log(x), y))
        traces.append(_dot(theme, life, at, _hover("Cheapest over its life", curve, life)))
    shades, notes = _bounds(theme, curve, window)
    said = [k for k in SHOWN if x[0] < k < x[-1] and np.interp(k, x, y) < 0.9 * MOST]
    notes += [_share(theme, curve, k) for k in (said[:1] if theme.crowding > CROWDED else said)]
    ticks = [k for k in (0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3) if window[0] <= k <= window[1]]
    figure = compose(
        theme, HEIGHT, "smaller", traces, shades, notes,
        xaxis=log_axis(theme, "Model size <i>N</i> / <i>N</i>* at the same loss", *window,
                       tickvals=ticks, ticktext=[f"{k:g}" for k in ticks], minor={"ticks": ""}),
        yaxis=axis(theme, "More compute to train", tickformat="+.0%", range=list(values), zeroline=True,
                   zerolinecolor=GREY, zerolinewidth=theme.line(1)),
    )  # fmt: skip
    return Drawing(figure, _alt(curve), "smaller-for-longer", lambda: _table(curve))


def draw_life(curve: LifetimeCurve, life: Lifetime, theme: Theme = WEB) -> Drawing:
    """Training, simulation and inference stacked over model size; the least sum with the 68 % intervals of ``life``."""
    total, least = curve.total, float(np.interp(curve.best, curve.N, curve.total))
    values = 0.0, TALLEST * least
    shown = np.flatnonzero(total <= values[1] * 1.5)
    cut = slice(shown[0], shown[-1] + 1)
    N, window = curve.N[cut], (float(curve.N[cut][0]), float(curve.N[cut][-1]))
    seen = curve.beyond[cut] <= INSIDE
    parts = {"training": curve.training, "simulation": curve.simulation, "inference": curve.inference}
    parts = {name: x[cut] for name, x in parts.items() if x.any()}
    traces: list[Part] = []
    notes: list[Part] = []
    below = np.zeros(len(N))
    for name, amount in parts.items():
        top = np.minimum(below + amount, values[1])
        traces.append(lines.area(np.r_[N, N[::-1]], np.r_[below, top[::-1]], PARTS[name], 0.35))
        notes += _name(theme, name, N, below, top, values[1])
        below = top
    unit = literal(curve.unit)
    hover = "N  %{x:.3~s}<br>%{y:.4~s} " + unit + "<extra>over its life</extra>"
    traces += [
        *lines.law(theme, N, total[cut], curve.within[cut] & seen, theme.text, 2.2, hovertemplate=hover),
        _least(theme, curve, life, least),
    ]
    line = {"color": GREY, "width": theme.line(1.4), "dash": "dot"}
    first = {"type": "line", "x0": curve.first, "x1": curve.first, "y0": 0, "y1": 1, "yref": "y domain", "line": line}
    right = lines.position(curve.first, window) < 0.6
    side: Part = {"xanchor": "left", "xshift": 6} if right else {"xanchor": "right", "xshift": -6, "align": "right"}
    side |= {"y": 1, "yanchor": "top", "yshift": -4}
    notes.append(lines.note(theme, "best for<br>training alone", xref="x", x=math.log10(curve.first), **side))
    ticks: Part = {} if curve.unit == "FLOPs" else {"exponentformat": "B"}  # 1.5M, 2B
    shades, remark = _outside(theme, N, curve.within[cut], seen)
    figure = compose(
        theme, HEIGHT, "lifetime", traces, [*shades, first], [*notes, *remark],
        xaxis=log_axis(theme, title("N"), *window),
        yaxis=axis(theme, f"Cost over its life [{unit}]", range=list(values), rangemode="tozero", **ticks),
    )  # fmt: skip
    return Drawing(figure, _alt_life(curve, least), "lifetime-cost", lambda: _table_life(curve))


def _least(theme: Theme, curve: LifetimeCurve, life: Lifetime, y: float) -> Part:
    """The cheapest model as a star, with the intervals of its size and of what it costs."""
    errors: Part = {}
    for key, at, q in (("error_x", curve.best, life.N), ("error_y", y, life.total)):
        if q.ci68 is not None and all(map(math.isfinite, q.ci68)):
            ends = {"array": [max(q.ci68[1] - at, 0.0)], "arrayminus": [max(at - q.ci68[0], 0.0)]}
            bar = {"type": "data", "symmetric": False, "color": PLAN, "thickness": theme.line(1.6), "width": 4}
            errors[key] = bar | ends
    hover = f"<b>Cheapest</b><br>N  {count(curve.best, 3)}<br>{y:.4g} {literal(curve.unit)}"
    return lines.star(theme, curve.best, y, hover, **errors)


def _dot(theme: Theme, x: float, y: float, hover: str) -> Part:
    marker = {"symbol": "circle-open", "size": theme.marker(12), "color": PLAN, "line": {"width": theme.line(2.4)}}
    return {"type": "scatter", "mode": "markers", "x": [x], "y": [y], "marker": marker, "name": "lifetime",
            "hovertemplate": hover + "<extra></extra>"}  # fmt: skip


def _hover(name: str, curve: SameLoss, k: float) -> str:
    N, D = (float(np.interp(k, curve.fraction, sizes)) for sizes in (curve.N, curve.D))
    return f"<b>{name}</b><br>N  {count(N, 3)}<br>D  {count(D, 3)}"


def _share(theme: Theme, curve: SameLoss, k: float) -> Part:
    """What the model of ``k`` times the best size costs more, beside the line."""
    y = float(np.interp(k, curve.fraction, curve.overhead))
    side: Part = {"xanchor": "left", "xshift": 8} if k < 1 else {"xanchor": "right", "xshift": -8}
    return lines.note(
        theme,
        f"{SHOWN[k]} the size: {100 * y:+.2g} %",
        xref="x",
        yref="y",
        x=math.log10(k),
        y=y,
        yanchor="bottom",
        **side,
    )


def _bounds(theme: Theme, curve: SameLoss, window: tuple[float, float]) -> tuple[list[Part], list[Part]]:
    """Grey where no number of samples is enough, and where the limits end: shapes and notes."""
    shapes, notes = _outside(theme, curve.fraction, curve.within, curve.beyond <= INSIDE, top=True)
    q = curve.smallest
    if q.value is None or q.value <= window[0]:
        return shapes, notes
    shapes.append(lines.upright(window[0], q.value, GREY, 0.22))
    sure = f"<br>68 %: {between(q, q.ci68)}" if q.ci68 else ""
    words = f"below {number(q)} no number<br>of samples is enough{sure}"
    return shapes, [*notes, lines.note(theme, words, xref="x", x=math.log10(q.value), y=1, yanchor="top")]


def _outside(theme: Theme, x: Floats, within: Bools, seen: Bools, top: bool = False) -> tuple[list[Part], list[Part]]:
    """Grey over the sizes that the limits do not allow, and over those beyond the runs; a remark for each."""
    shapes, notes = _disallowed(theme, x, within, top)
    shades, remarks = lines.beyond(theme, x, seen, top)
    lower = 1.6 * theme.small if notes and top == (notes[0]["yanchor"] == "top") else 0.0  # below the other remark
    return [*shapes, *shades], [
        *notes,
        *(one | {"yshift": one["yshift"] + (-lower if top else lower)} for one in remarks),
    ]


def _disallowed(theme: Theme, x: Floats, within: Bools, top: bool = False) -> tuple[list[Part], list[Part]]:
    """Grey over the sizes that the limits do not allow."""
    allowed = x[within]
    if not allowed.size or within.all():
        return [], []
    parts = [(float(low), float(high)) for low, high in ((x[0], allowed[0]), (allowed[-1], x[-1])) if high > low]
    place: Part = {}
    if parts[-1][1] != x[-1]:
        place, top = {"x": 0, "xanchor": "left", "xshift": 6, "align": "left"}, False
    words = lines.corner(theme, "beyond the limits", top=top, **place)
    return [lines.upright(*part, GREY, lines.BEYOND) for part in parts], [words]


def _name(theme: Theme, name: str, N: Floats, below: Floats, top: Floats, most: float) -> list[Part]:
    """The name of a part on itself, where it is tallest and not at an edge; nothing where it is too thin."""
    tall = top - below
    inner = slice(len(N) // 10, len(N) - len(N) // 10)
    i = int(np.argmax(tall[inner])) + len(N) // 10
    if tall[i] < 0.07 * most * theme.crowding:
        return []
    middle = float(below[i] + top[i]) / 2
    return [lines.note(theme, name, xref="x", yref="y", x=math.log10(N[i]), y=middle, xanchor="center",
                       yanchor="middle", xshift=0, yshift=0)]  # fmt: skip


def _table(curve: SameLoss) -> pd.DataFrame:
    names = ("fraction", "N", "D", "overhead", "low68", "high68", "within", "beyond")
    return pd.DataFrame({name: getattr(curve, name) for name in names})


def _table_life(curve: LifetimeCurve) -> pd.DataFrame:
    names = ("N", "training", "simulation", "inference", "total", "within", "beyond")
    return pd.DataFrame({name: getattr(curve, name) for name in names})


def _alt(curve: SameLoss) -> str:
    half = float(np.interp(0.5, curve.fraction, curve.overhead))
    said = f"Half of it takes {100 * half:.2g} % more. " if curve.fraction[0] < 0.5 else ""
    return (
        f"How much more compute models of other sizes take to reach the same loss {float(abs(curve.best.loss)):.4g}; "
        f"the best has {count(float(curve.best.N))} parameters. {said}Below {number(curve.smallest)} of it no "
        "number of samples is enough."
    )


def _alt_life(curve: LifetimeCurve, least: float) -> str:
    costs = f"{power10(least)} {curve.unit}" if curve.unit == "FLOPs" else f"{tick_text(least)} {curve.unit}"
    return (
        f"What models of one loss cost over their lives against their size: least, {costs}, at "
        f"{count(curve.best)} parameters; the best for training alone has {count(curve.first)}."
    )
