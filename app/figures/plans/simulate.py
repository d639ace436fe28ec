"""Simulation or repetition: cost of both against the price of a sample, their crossing, and the user's price."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from isoplan.app.figures.marks import lines as marks
from isoplan.app.figures.marks.lines import Span
from isoplan.app.figures.style.axes import extent, literal, log_axis, span_text, tick_text
from isoplan.app.figures.style.palette import CATEGORIES, GREY
from isoplan.app.figures.style.theme import WEB, Drawing, Part, Theme, compose
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.repeat import Picture, Regime, SimulateOrRepeat

HEIGHT = 460
COLOURS = (CATEGORIES[0], CATEGORIES[2])
"""Colours of one pass and of repeated samples."""
NAMES = ("simulate", "repeat")
CROWDED = 1.3
"""Crowding above which texts are shorter and the key of the lines is above the plot."""
LOW = 0.35
"""Fraction of the height below which the text of a point is above it."""
REGION = 0.07
"""Opacity of a regime."""


def draw(answer: SimulateOrRepeat, theme: Theme = WEB) -> Drawing:
    """Draw both totals over the price of a sample on log axes; each regime is tinted where it is cheaper."""
    picture, money = _known(answer)[0], answer.costs.currency
    window = float(picture.price[0]), float(picture.price[-1])
    values = extent(picture.one_pass, picture.repeat, positive=True, room=0.1)
    values = values[0], values[1] * (values[1] / values[0]) ** 0.1  # space for the names of the regimes
    lines = (
        (answer.one_pass, picture.one_pass, picture.one_pass_band),
        (answer.repeat, picture.repeat, picture.repeat_band),
    )
    traces: list[Part] = []
    for (regime, line, band), colour in zip(lines, COLOURS, strict=True):
        low, high = np.clip(band, values[0] / 100, values[1] * 100)
        traces += marks.band(picture.price, low, high, colour)
        hover = f"%{{x:.3~g}} {money} a sample<br>%{{y:.4~s}} {money}<extra>{literal(regime.name)}</extra>"
        traces.append(marks.line(theme, picture.price, line, colour, 2.4, hovertemplate=hover, name=regime.name))
    traces.append(_point(theme, answer))
    regions, names = _regimes(theme, answer, window)
    crossing, said = _crossing(theme, answer.break_even, window)
    key = marks.keyed(*zip(map(_name, (answer.one_pass, answer.repeat)), COLOURS, strict=True), between="<br>")
    notes = [*names, *said, _own(theme, answer, window, values), _key(theme, key)]
    figure = compose(
        theme, HEIGHT * (1.25 if theme.crowding > CROWDED else 1), "simulate", traces, [*regions, *crossing], notes,
        xaxis=log_axis(theme, f"Price of a simulated sample [{literal(money)}]", *window),
        yaxis=log_axis(theme, f"Simulation and training [{literal(money)}]", *values),
        margin={"t": 44} if theme.crowding > CROWDED else {},
    )  # fmt: skip
    return Drawing(figure, _alt(answer), "simulate-or-repeat", lambda: _table(answer))


def _known(answer: SimulateOrRepeat) -> tuple[Picture, Regime]:
    """Return the picture and the cheaper regime. Raises ValueError if training has no price."""
    if answer.picture is None or answer.cheaper is None:
        raise ValueError("a picture needs what both ways cost")
    return answer.picture, answer.cheaper


def _point(theme: Theme, answer: SimulateOrRepeat) -> Part:
    """Return the user's price as a star, on the line of the cheaper regime."""
    picture, cheaper = _known(answer)
    price, one, rep = picture.point
    costs, money = min(one, rep), answer.costs.currency
    hover = f"<b>Your price</b><br>{price:.3g} {money} a sample<br>{cheaper.name}  {costs:.4g} {money}"
    return marks.star(theme, price, costs, hover)


def _regimes(theme: Theme, answer: SimulateOrRepeat, window: Span) -> tuple[list[Part], list[Part]]:
    """Return the ranges where each regime is cheaper, as tints with a name at the top: shapes and notes."""
    picture, cheaper = _known(answer)
    crossing = picture.break_even
    spans: list[tuple[int, Span]] = [(0, (window[0], crossing)), (1, (crossing, window[1]))]
    if math.isnan(crossing):
        spans = [(1 if cheaper is answer.repeat else 0, window)]
    tints = [marks.upright(*span, COLOURS[i], REGION) for i, span in spans]
    names = [
        marks.note(theme, f"<b>{NAMES[i]}</b>", xref="x", x=sum(map(math.log10, span)) / 2, xanchor="center", xshift=0,
                   y=1, yanchor="top", yshift=-4, font={"size": theme.size + 1})
        for i, span in spans
    ]  # fmt: skip
    return tints, names


def _crossing(theme: Theme, price: Quantity, window: Span) -> tuple[list[Part], list[Part]]:
    """Return the break-even price as a line with its 68 % interval as a tint: shapes and notes."""
    if price.value is None or not window[0] < price.value < window[1]:
        return [], []
    line = {"color": theme.text, "width": theme.line(1.5)}
    shapes: list[Part] = [
        {"type": "line", "x0": price.value, "x1": price.value, "y0": 0, "y1": 1, "yref": "y domain", "line": line}
    ]
    sure = ""
    if price.ci68 is not None:
        shapes.insert(0, marks.upright(*marks.cut(price.ci68, *window), GREY, marks.TINT68))
        sure = f"<br>68 %: {span_text(price.ci68)}"
    text = f"break-even {tick_text(price.value)} {literal(price.unit)} a sample{sure}"
    if theme.crowding > CROWDED:
        text = f"break-even {tick_text(price.value)} {literal(price.unit)}"
    right = marks.position(price.value, window) < 0.6
    side: Part = {"xanchor": "left", "xshift": 6} if right else {"xanchor": "right", "xshift": -6, "align": "right"}
    return shapes, [marks.note(theme, text, xref="x", x=math.log10(price.value), **side)]


def _name(regime: Regime) -> str:
    """Return the name of a line, such as one pass: 122 M jets."""
    how = "one pass" if regime.name == "one pass" else "repeated"
    return f"{how}: {number(regime.unique)} {literal(regime.unique.unit)}"


def _key(theme: Theme, key: str) -> Part:
    """Return the key of the lines: in the lower right corner, which is free of lines, or above a crowded plot."""
    if theme.crowding > CROWDED:
        return marks.note(theme, key, y=1, yshift=4, xshift=0)
    return marks.corner(theme, key, top=False, align="left", xshift=-14)


def _own(theme: Theme, answer: SimulateOrRepeat, window: Span, values: Span) -> Part:
    """Return the label of the user's price, beside its star."""
    price, one, rep = _known(answer)[0].point
    text = "your price"
    if theme.crowding <= CROWDED:
        text = f"{text}<br>{tick_text(price)} {literal(answer.costs.currency)}"
    y = min(one, rep)
    side: Part = {"yanchor": "top", "yshift": -4, "xshift": 10}
    if marks.position(y, values) < LOW:
        side = {"yshift": 6, "xshift": 4}
    if marks.position(price, window) > 1 - 0.16 * theme.crowding:  # no space at the right: place it above both lines
        y, side = max(one, rep), {"yshift": 4, "xanchor": "right", "xshift": -4, "align": "right"}
    return marks.note(theme, text, xref="x", yref="y", x=math.log10(price), y=math.log10(y), **side)


def _table(answer: SimulateOrRepeat) -> pd.DataFrame:
    p = _known(answer)[0]
    bands = {
        f"{name} {end}": ends[i]
        for name, ends in (("one pass", p.one_pass_band), ("repeat", p.repeat_band))
        for i, end in enumerate(("low68", "high68"))
    }
    return pd.DataFrame({"price of a sample": p.price, "one pass": p.one_pass, "repeat": p.repeat} | bands)


def _alt(answer: SimulateOrRepeat) -> str:
    price, money = answer.costs.sample, answer.costs.currency
    even = answer.break_even
    cross = f"They cross at {number(even)} {even.unit} a sample." if even.value else "They do not cross."
    return (
        f"Cost of one pass and of repeated samples to reach {answer.y} {answer.target:g}, against the price of a "
        f"sample. {cross} At {price:.3g} {money} a sample {_known(answer)[1].name} is cheaper."
    )
