"""Two figures of amplitude surrogates: required sizes, and exponents of D for each dimension of phase space."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines
from isoplan.app.figures.style.axes import axis, literal, log_axis, tick_text, title
from isoplan.app.figures.style.palette import ACCENT, GREY, LIGHT_PAGE, PLAN
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose, legend
from isoplan.engine.arrays import Floats
from isoplan.engine.laws.catalogue.dimension import least_exponent
from isoplan.engine.planning.amplitude.cell_laws import DataExponent
from isoplan.engine.planning.amplitude.needs import Need
from isoplan.engine.planning.amplitude.precision import Precision, percent
from isoplan.engine.quantities import count, power10

HEIGHT = 420
ASIDE = 0.12
"""Horizontal distance between a dot and its dimension d of phase space. Published exponents are drawn to the left of d,
and exponents of trained cells are drawn to the right.
"""


def draw_exponents(
    published: Sequence[DataExponent], trained: Sequence[DataExponent] = (), theme: Theme = WEB
) -> Drawing:
    """Draw exponents of D, with 68 % intervals, against the dimension d of phase space. A line shows the bound 4/d.

    ``published`` contains exponents from papers. ``trained`` contains exponents that were fitted to cells (training
    runs).
    """
    every = [*published, *trained]
    low, high = min(one.d for one in every) - 0.6, max(one.d for one in every) + 0.6
    d = np.linspace(low, high, 80)
    bound = np.array([least_exponent(x) for x in d])
    top = 1.08 * max(*(one.ends[1] for one in every), 4 / min(one.d for one in every))
    traces: list[Part] = [
        lines.line(theme, d, bound, PLAN, 1.6, "dash", name="bound 4/d", hoverinfo="skip"),
        _points(theme, published, GREY, "published", -ASIDE),
        *([_points(theme, trained, ACCENT, "trained", ASIDE)] if trained else []),
    ]
    figure = compose(
        theme, HEIGHT, "exponents", traces,
        xaxis=axis(theme, "Dimension of the phase space <i>d</i>", range=[low, high],
                   tickvals=sorted({one.d for one in every})),
        yaxis=axis(theme, "Exponent of <i>D</i>, <i>α</i>", range=[0, top]),
        **legend(theme),
    )  # fmt: skip
    return Drawing(figure, _alt(published, trained), "exponents", lambda: _table(published, trained))


def _points(theme: Theme, found: Sequence[DataExponent], colour: str, name: str, aside: float) -> Part:
    up, down = [one.ends[1] - one.alpha for one in found], [one.alpha - one.ends[0] for one in found]
    bar = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": colour,
           "thickness": theme.line(1.5), "width": theme.line(4)}  # fmt: skip
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [one.d + aside for one in found],
        "y": [one.alpha for one in found], "error_y": bar, "text": [literal(one.process) for one in found],
        "marker": {"size": theme.marker(9), "color": colour},
        "hovertemplate": f"%{{text}}<br>α  %{{y:.3g}}<extra>{name}</extra>",
    }  # fmt: skip


def _table(published: Sequence[DataExponent], trained: Sequence[DataExponent]) -> pd.DataFrame:
    rows = [("published", one) for one in published] + [("trained", one) for one in trained]
    return pd.DataFrame(
        [{"source": source, "process": one.process, "d": one.d, "alpha": one.alpha, "low68": one.ends[0],
          "high68": one.ends[1], "bound": least_exponent(one.d)} for source, one in rows]
    )  # fmt: skip


def _alt(published: Sequence[DataExponent], trained: Sequence[DataExponent]) -> str:
    every = [*published, *trained]
    below = [one.process for one in every if one.ends[1] < least_exponent(one.d)]
    ours = ", ".join(f"{one.process} {one.alpha:.3g}" for one in trained)
    fails = f" Processes below the line: {', '.join(dict.fromkeys(below))}." if below else ""
    return (
        f"Exponents of D against the dimension d for {len(published)} published processes, and the line 4/d."
        f"{f' Exponents of trained cells: {ours}.' if trained else ''}{fails}"
    )


NEED_HEIGHT = 420
TITLES = {"D": "Training points <i>D</i>"}


def draw_need(need: Need, target: Precision, theme: Theme = WEB) -> Drawing:
    """Draw the required value of D, N or C (y axis) against the MSE (x axis, decreasing to the right).

    ``need`` contains a conservative curve and, if known, an optimistic curve. Both curves start at the measured run.
    One dot per curve shows the required value at the ``target``.
    """
    window = max(target.mse / 1.6, need.floor), need.start[1] * 1.6
    floor = f"floor {tick_text(need.floor, 2)}" if need.floor >= window[0] else ""
    slow = need.x, need.slow_loss
    fast = _line(need, target)
    values = need.start[0] / 2, float(need.x[-1]) * 2.5
    ends = [need.most if need.least is None else need.least, need.most]
    traces: list[Part] = []
    if len(fast[0]):
        top = np.r_[fast[1], slow[1][::-1]], np.r_[fast[0], slow[0][::-1]]
        traces.append(lines.area(*top, ACCENT, lines.TINT68))
        traces.append(_curve(theme, fast, ACCENT, need.axis, "optimistic"))
    traces += [
        _curve(theme, slow, PLAN, need.axis, "conservative"),
        _dot(theme, [need.start[1]], [need.start[0]], GREY, "start"),
        _dot(theme, [target.mse] * len(ends), ends, PLAN, "target"),
    ]
    line = {"color": PLAN, "width": theme.line(1.5), "dash": "dot"}
    upright = {"type": "line", "x0": target.mse, "x1": target.mse, "y0": 0, "y1": 1, "yref": "y domain", "line": line}
    notes = [
        lines.note(
            theme, _asked(target), xref="x", x=math.log10(target.mse), xanchor="right", xshift=-6, align="right"
        ),
        _label(theme, f"conservative exponent {need.slow.value:.3g}", slow, "top left"),
        *([_label(theme, f"optimistic exponent {need.fast.value:.3g}", fast, "bottom right")] if need.fast else []),
        *([lines.corner(theme, floor)] if floor else []),
    ]  # fmt: skip
    figure = compose(
        theme, NEED_HEIGHT, f"need-{need.axis}", traces, [upright], notes,
        xaxis=log_axis(theme, target.measure, *window)
        | {"range": [math.log10(window[1]), math.log10(window[0])]},
        yaxis=log_axis(theme, TITLES.get(need.axis, title(need.axis)), *values),
    )  # fmt: skip
    return Drawing(figure, _need_alt(need, target), f"need-{need.axis}", lambda: _need_table(need))


def _line(need: Need, target: Precision) -> tuple[Floats, Floats]:
    """Return size and MSE along the optimistic curve, which ends at the target.

    Both arrays are empty if there is no optimistic exponent.
    """
    if need.least is None:
        return np.empty(0), np.empty(0)
    seen = need.fast_loss > target.mse
    return np.append(need.x[seen], need.least), np.append(need.fast_loss[seen], target.mse)


def _curve(theme: Theme, line: tuple[Floats, Floats], colour: str, axis: str, name: str) -> Part:
    hover = f"MSE  %{{x:.3~g}}<br>{axis}  %{{y:.3~s}}<extra>{name}</extra>"
    return lines.line(theme, line[1], line[0], colour, 2.2, hovertemplate=hover, name=name)


def _dot(theme: Theme, x: list[float], y: list[float], colour: str, name: str) -> Part:
    edge = {"color": LIGHT_PAGE, "width": theme.line(1)}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "cliponaxis": False,
            "marker": {"size": theme.marker(10), "color": colour, "line": edge},
            "hovertemplate": "MSE  %{x:.3~g}<br>%{y:.3~s}<extra>" + name + "</extra>"}  # fmt: skip


def _label(theme: Theme, text: str, line: tuple[Floats, Floats], place: str) -> Part:
    """Return a label next to the middle of a line; ``place`` is its side of the line, for example "top left"."""
    i = len(line[0]) // 2
    left = "left" in place
    return lines.note(
        theme, text, xref="x", yref="y", x=math.log10(line[1][i]), y=math.log10(line[0][i]),
        xanchor="right" if left else "left", yanchor="bottom" if "top" in place else "top",
        xshift=-8 if left else 8, yshift=4 if "top" in place else -4,
    )  # fmt: skip


def _asked(target: Precision) -> str:
    error = "" if target.relative is None else f"<br>{target.name} {percent(target.relative)}"
    return f"target {tick_text(target.mse)}{error}"


def _need_table(need: Need) -> pd.DataFrame:
    other = need.fast_loss if len(need.fast_loss) else np.full(len(need.x), np.nan)
    return pd.DataFrame({need.axis: need.x, "MSE, conservative": need.slow_loss, "MSE, optimistic": other})


def _need_alt(need: Need, target: Precision) -> str:
    say = power10 if need.axis == "C" else count
    least = "" if need.least is None else f"from {say(need.least)} (exponent {need.fast and need.fast.value:.3g}) "
    return (
        f"Required {need.axis} against the MSE, extrapolated from {say(need.start[0])}. The target MSE "
        f"{target.mse:.3g} needs {least}up to {say(need.most)} {need.unit} (exponent {need.slow.value:.3g})."
    )
