"""Chart of "Simulate or repeat": the cost of both ways against the price of a sample."""

from __future__ import annotations

import math

import numpy as np

from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.questions.chart import Axis, Chart, Colour, Curve, Label, Marker, Shade
from isoplan.engine.planning.repeat.answer import Regime, SimulateOrRepeat

COLOURS: tuple[Colour, Colour] = ("law", "second")
"""Colours of one pass and of repeated samples."""
ROOM = 0.1
"""Space below and above the lines, as a fraction of their range."""
LOW = 0.35
"""Fraction of the height below which the text of a point is above it."""
RIGHT = 0.84
"""Fraction of the width above which the text of a point is at its left."""


def chart_price(answer: SimulateOrRepeat) -> Chart:
    """Draw both totals over the price of a sample on log axes; each way is tinted where it is cheaper.

    Raises ValueError if training has no price.
    """
    picture, cheaper = answer.picture, answer.cheaper
    if picture is None or cheaper is None:
        raise ValueError("a chart needs what both ways cost")
    money, even, price = answer.costs.currency, answer.break_even, picture.price
    both = np.concatenate([picture.one_pass, picture.repeat])
    both = both[np.isfinite(both) & (both > 0)]
    room = float(both.max() / both.min()) ** ROOM
    x = Axis("Price of a simulated sample", float(price[0]), float(price[-1]), money, log=True)
    y = Axis("Simulation and training", float(both.min()) / room, float(both.max()) * room**2, money, log=True)
    own, cost = picture.point[0], min(picture.point[1:])
    label = Label(own, cost, f"your price<br>{own:.3g} {money}", _share(x, own) > RIGHT, below=_share(y, cost) > LOW)
    hover = f"<b>Your price</b><br>{own:.3g} {money} a sample<br>{cheaper.name}  {cost:.4g} {money}"
    shades, uprights, crossing = list[Shade](), [], picture.break_even
    if math.isnan(crossing):
        crossing = x.low if cheaper is answer.repeat else x.high
    tints = (
        Shade(x.low, crossing, "<b>simulate</b>", COLOURS[0]),
        Shade(crossing, x.high, "<b>repeat</b>", COLOURS[1]),
    )
    shades += [tint for tint in tints if tint.low < tint.high]
    if even.value is not None and x.low < even.value < x.high:
        sure = f"<br>68 %: {between(even, even.ci68)}" if even.ci68 else ""
        uprights.append((even.value, f"break-even {number(even)} {even.unit}", f" a sample{sure}"))
        shades += [Shade(max(even.ci68[0], x.low), min(even.ci68[1], x.high))] if even.ci68 else []
    columns = {"price of a sample": price, "one pass": picture.one_pass, "repeat": picture.repeat}
    ways = (
        (answer.one_pass, picture.one_pass, picture.one_pass_band, COLOURS[0]),
        (answer.repeat, picture.repeat, picture.repeat_band, COLOURS[1]),
    )
    curves = list[Curve]()
    for regime, total, ends, colour in ways:
        columns |= {f"{regime.name} low68": ends[0], f"{regime.name} high68": ends[1]}
        line = f"%{{x:.3~g}} {money} a sample<br>%{{y:.4~s}} {money}<extra>{regime.name}</extra>"
        band, all_seen = np.clip(ends, y.low / 100, y.high * 100), np.ones(len(price), bool)
        curves.append(Curve(price, total, all_seen, all_seen, colour, hover=line, band=(band[0], band[1]),
                            name=regime.name, key=_key(regime)))  # fmt: skip
    return Chart(
        "simulate-or-repeat", _alt(answer, cheaper), x, y, tuple(curves), markers=(Marker(own, cost, hover),),
        labels=(label,), shades=tuple(shades), uprights=tuple(uprights), columns=columns,
    )  # fmt: skip


def _share(axis: Axis, value: float) -> float:
    """Return the position of a value along a log axis, from 0 to 1."""
    return math.log(value / axis.low) / math.log(axis.high / axis.low)


def _key(regime: Regime) -> str:
    """Return the name of a line, such as one pass: 122 M jets."""
    how = "one pass" if regime.name == "one pass" else "repeated"
    return f"{how}: {number(regime.unique)} {regime.unique.unit}"


def _alt(answer: SimulateOrRepeat, cheaper: Regime) -> str:
    even, price = answer.break_even, f"{answer.costs.sample:.3g} {answer.costs.currency}"
    cross = f"They cross at {number(even)} {even.unit} a sample." if even.value else "They do not cross."
    return (
        f"Cost of one pass and of repeated samples to reach {answer.y} {answer.target:g}, against the price of a "
        f"sample. {cross} At {price} a sample {cheaper.name} is cheaper."
    )
