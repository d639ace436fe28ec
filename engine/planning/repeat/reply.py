"""Answer to "Simulate or repeat" for the page and the terminal: its sentences, tables and charts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import Row, number
from isoplan.engine.planning.answer.format import between as between_ends
from isoplan.engine.planning.questions.answer import Answer, Part, Table, tabulate
from isoplan.engine.planning.questions.chart import Axis, Chart, Colour, Curve, Label, Marker, Shade
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.repeat.answer import Regime, SimulateOrRepeat, simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.document import as_document
from isoplan.engine.planning.repeat.factor import fit_factor, stated
from isoplan.engine.planning.repeat.few_epochs import Between, between
from isoplan.engine.planning.repeat.floors import mismatch, together
from isoplan.engine.planning.repeat.text import as_text, between_text, crossing, rows, two_ways, worth_text
from isoplan.engine.planning.repeat.worth import Worth, worth_of
from isoplan.engine.quantities import power10

COLOURS: tuple[Colour, Colour] = ("law", "second")
"""Colours of the regimes in the chart: single pass, repeated samples."""
HEAD = ("", "Simulate", "Repeat")
"""Headings of the short table."""
ROOM = 0.1
"""Space below and above the lines of a chart, as a fraction of their range."""
LOW = 0.25
"""A point below this fraction of the chart's height has its text above it. Any other point has its text below it."""
RIGHT = 0.84
"""A point to the right of this fraction of the chart's width has its text on its left. Any other point has its text on
its right.
"""
UNPRICED = (
    "Enter a device, its price per hour and the price of a simulated sample under Machine and prices to compare the "
    "costs of both ways."
)
NO_FILE = {
    "terminal": "This format requires prices. Give --sample-price, and also either --flop-price or both "
    "--device and --hour-price.",
    "python": "Answer: a file needs the costs of both regimes. Give sample_price, and also flop_price or a device.",
}


@dataclass(frozen=True, eq=False, repr=False)
class Repeat(Answer):
    """Answer with both regimes in ``result``.

    ``between`` contains the intermediate regimes, and ``worth`` the losses that the existing samples reach. Each is
    None if unknown.
    """

    between: Between | None = None
    worth: Worth | None = None


def answer(one_pass: Fit, given: Given) -> Repeat:
    """Return both regimes at the requested loss. Raises PlannerError under the conditions of ``simulate_or_repeat``."""
    fits, target, priced = given.fits, given.loss.value, given.costs is not None
    repeated, surface = fits["repeated"], fits.get("surface")
    costs: SampleCosts = given.costs or SampleCosts(1.0, 1.0, have=given.values["have"])
    curves = given.curves
    kappa = fit_factor(one_pass, curves, given.rule) if curves is not None else stated(given.values["kappa"])
    found = simulate_or_repeat(one_pass, repeated, target, costs, kappa, fits.get("threshold"), given.rule)
    few = between(surface, target, costs, given.rule) if surface is not None and priced and found.priced else None
    worth = worth_of(one_pass, repeated, costs.have) if costs.have else None
    remarks = [between_text(few, costs.currency)] if few is not None else []
    if worth is not None and worth.answers and worth.mismatched:
        if not found.mismatched:
            why = mismatch(together(one_pass, repeated), "the samples at hand reach a worse loss if they are repeated")
            found = replace(found, warnings=(why, *found.warnings))
        worth = None
    remarks += [worth_text(worth, found.one_pass.unique.unit)] if worth is not None else []
    return Repeat(
        found,
        "\n\n".join([as_text(found, priced), *remarks]),
        as_document(found, kappa, given.files, given.group, few, worth) if priced else None,
        found.warnings,
        _name(found),
        tuple(remarks),
        crossing(found, priced),
        _parts(found, priced),
        hint="" if priced else UNPRICED,
        no_file=NO_FILE.get(given.place, ""),
        between=few,
        worth=worth,
    )


def _name(found: SimulateOrRepeat) -> str:
    return f"{found.y} {found.target:.4g} at {_price(found.costs.sample)} {found.costs.currency} a sample"


def _price(x: float) -> str:
    return f"{x:.3g}" if 1e-3 <= x < 1e3 else power10(x)


def _parts(found: SimulateOrRepeat, priced: bool) -> tuple[Part, ...]:
    """Return the short table of both regimes with the chart of their costs, and a folded table of all numbers.

    The result is empty if the runs do not support the answer.
    """
    body = [_brief(row, found) for row in rows(found, priced)]
    if not body:
        return ()
    costs = priced and found.cheaper is not None and found.cheaper.total.value is not None
    short = Table(HEAD, two_ways(found, priced), "Both ways side by side.")
    every = tabulate(body, "Numbers of both ways.")
    return (Part(short, partial(chart_price, found) if costs else None), Part(every, folded=True))


def _brief(row: Row, found: SimulateOrRepeat) -> Row:
    """Return the row without the note on missing intervals. A warning contains this note once for all rows."""
    missing = "" if found.p_reach is not None else found.one_pass.C.note
    return replace(row, note=", ".join(part for part in row.note.split(", ") if part != missing))


def chart_price(answer: SimulateOrRepeat) -> Chart:
    """Return the chart of the total of both regimes against the price of a sample, on log axes.

    The price range in which a regime is cheaper has the colour of this regime. Raises ValueError if training has no
    price.
    """
    picture, cheaper = answer.picture, answer.cheaper
    if picture is None or cheaper is None:
        raise ValueError("a chart needs the costs of both regimes")
    money, even, price = answer.costs.currency, answer.break_even, picture.price
    both = np.concatenate([picture.one_pass, picture.repeat])
    both = both[np.isfinite(both) & (both > 0)]
    room = float(both.max() / both.min()) ** ROOM
    x = Axis("Price of a simulated sample", float(price[0]), float(price[-1]), money, log=True)
    y = Axis("Simulation and training", float(both.min()) / room, float(both.max()) * room**2, money, log=True)
    own, cost = picture.point[0], min(picture.point[1:])
    stated = f"{_price(own)} {money}"
    label = Label(own, cost, f"your price<br>{stated}", _share(x, own) > RIGHT, below=_share(y, cost) > LOW)
    hover = f"<b>Your price</b><br>{stated} a sample<br>{cheaper.name}  {cost:.4g} {money}"
    shades, uprights, crossing = list[Shade](), [], picture.break_even
    if math.isnan(crossing):
        crossing = x.low if cheaper is answer.repeat else x.high
    tints = (
        Shade(x.low, crossing, "<b>simulate</b>", COLOURS[0]),
        Shade(crossing, x.high, "<b>repeat</b>", COLOURS[1]),
    )
    shades += [tint for tint in tints if tint.low < tint.high]
    if even.value is not None and x.low < even.value < x.high:
        sure = f"<br>68 %: {between_ends(even, even.ci68)}" if even.ci68 else ""
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
    """Return the position of ``value`` on a log axis: 0 at its lower end, 1 at its upper end."""
    return math.log(value / axis.low) / math.log(axis.high / axis.low)


def _key(regime: Regime) -> str:
    """Return the name of a line in the legend, such as "one pass: 122 M jets"."""
    how = "one pass" if regime.name == "one pass" else "repeated"
    return f"{how}: {number(regime.unique)} {regime.unique.unit}"


def _alt(answer: SimulateOrRepeat, cheaper: Regime) -> str:
    even, price = answer.break_even, f"{answer.costs.sample:.3g} {answer.costs.currency}"
    cross = f"They cross at {number(even)} {even.unit} a sample." if even.value else "They do not cross."
    return (
        f"Cost of one pass and of repeated samples to reach {answer.y} {answer.target:g}, against the price of a "
        f"sample. {cross} At {price} a sample {cheaper.name} is cheaper."
    )
