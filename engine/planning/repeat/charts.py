"""Chart of "Simulate or repeat": the cost of both ways against the price of a sample."""

from __future__ import annotations

import math

import numpy as np

from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.questions.chart import Axis, Chart, Colour, Curve, Label, Marker, Shade
from isoplan.engine.planning.repeat.answer import Regime, SimulateOrRepeat
from isoplan.engine.planning.repeat.costs import Picture

COLOURS: tuple[Colour, Colour] = ("law", "second")
"""Colours of one pass and of repeated samples."""
NAMES = ("simulate", "repeat")
ROOM = 0.1
"""Space below and above the lines, as a fraction of their range."""
LOW = 0.35
"""Fraction of the height below which the text of a point is above it."""


def chart_price(answer: SimulateOrRepeat) -> Chart:
    """Draw both totals over the price of a sample on log axes; each way is tinted where it is cheaper.

    Raises ValueError if training has no price.
    """
    picture, cheaper = answer.picture, answer.cheaper
    if picture is None or cheaper is None:
        raise ValueError("a chart needs what both ways cost")
    money, even, price = answer.costs.currency, answer.break_even, picture.price
    totals = np.concatenate([picture.one_pass, picture.repeat])
    totals = totals[np.isfinite(totals) & (totals > 0)]
    low, high = float(totals.min()), float(totals.max())
    room = (high / low) ** ROOM
    low, high = low / room, high * room**2
    lines = (
        (answer.one_pass, picture.one_pass, picture.one_pass_band),
        (answer.repeat, picture.repeat, picture.repeat_band),
    )
    everywhere = np.ones(len(price), bool)
    curves = tuple(
        Curve(
            price,
            total,
            everywhere,
            everywhere,
            colour,
            hover=f"%{{x:.3~g}} {money} a sample<br>%{{y:.4~s}} {money}<extra>{regime.name}</extra>",
            band=(np.clip(band[0], low / 100, high * 100), np.clip(band[1], low / 100, high * 100)),
            name=regime.name,
            key=_key(regime),
        )
        for (regime, total, band), colour in zip(lines, COLOURS, strict=True)
    )
    own, cost = picture.point[0], min(picture.point[1:])
    uprights, shades = [], list(_regimes(picture, NAMES[cheaper is answer.repeat]))
    if even.value is not None and price[0] < even.value < price[-1]:
        sure = f"<br>68 %: {between(even, even.ci68)}" if even.ci68 else ""
        uprights.append((even.value, f"break-even {number(even)} {even.unit} a sample{sure}"))
        if even.ci68 is not None:
            ends = np.clip(even.ci68, price[0], price[-1])
            shades.append(Shade(float(ends[0]), float(ends[1])))
    hover = f"<b>Your price</b><br>{own:.3g} {money} a sample<br>{cheaper.name}  {cost:.4g} {money}"
    return Chart(
        "simulate-or-repeat",
        _alt(answer, cheaper),
        Axis("Price of a simulated sample", float(price[0]), float(price[-1]), money, log=True),
        Axis("Simulation and training", low, high, money, log=True),
        curves=curves,
        markers=(Marker(own, cost, hover),),
        labels=(
            Label(
                own,
                cost,
                f"your price<br>{own:.3g} {money}",
                left=math.log(own / price[0]) > 0.84 * math.log(price[-1] / price[0]),
                below=math.log(cost / low) > LOW * math.log(high / low),
            ),
        ),
        shades=tuple(shades),
        uprights=tuple(uprights),
        columns={
            "price of a sample": price,
            **{regime.name: total for regime, total, _ in lines},
            **{
                f"{regime.name} {end}": band[i]
                for regime, _, band in lines
                for i, end in enumerate(("low68", "high68"))
            },
        },
    )


def _regimes(picture: Picture, cheaper: str) -> tuple[Shade, ...]:
    """Return the prices at which each way is cheaper; all if the totals do not cross."""
    low, even, high = float(picture.price[0]), picture.break_even, float(picture.price[-1])
    if math.isnan(even):
        return (Shade(low, high, f"<b>{cheaper}</b>", COLOURS[NAMES.index(cheaper)]),)
    spans = zip(((low, even), (even, high)), NAMES, COLOURS, strict=True)
    return tuple(Shade(*span, f"<b>{name}</b>", colour) for span, name, colour in spans)


def _key(regime: Regime) -> str:
    """Return the name of a line, such as one pass: 122 M jets."""
    how = "one pass" if regime.name == "one pass" else "repeated"
    return f"{how}: {number(regime.unique)} {regime.unique.unit}"


def _alt(answer: SimulateOrRepeat, cheaper: Regime) -> str:
    price, money = answer.costs.sample, answer.costs.currency
    even = answer.break_even
    cross = f"They cross at {number(even)} {even.unit} a sample." if even.value else "They do not cross."
    return (
        f"Cost of one pass and of repeated samples to reach {answer.y} {answer.target:g}, against the price of a "
        f"sample. {cross} At {price:.3g} {money} a sample {cheaper.name} is cheaper."
    )
