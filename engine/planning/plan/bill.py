"""The costs of a plan, line by line, each with intervals from the resamples of the fit.

If a model is too small to reach the machine's stated share of its peak, its time is not known, nor are the amounts that
follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.hardware import Machine
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import Quantity, given, measure
from isoplan.engine.planning.plan.parts import CostLine
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.planning.scenario.prices import Line, Part, Prices
from isoplan.engine.quantities import count

UNPOWERED = "kWh and CO2 are left out: the vendor publishes no power of {}, so give the W of one device"
OF = {"training": "C", "inference": "N", "simulation": "D"}
"""Number to which each part of the bill is proportional."""

SMALL_MODEL = "small-model"
PRICE = "The price of a FLOP"
OF_TIME = ("time", "device hours", "money", "energy", "CO2")
"""Lines of a bill that follow from the time on a machine."""
FOLLOWS = "not known: it follows from the time"


def bill(fit: Fit, best: Point, draws: Point, prices: Prices | None, spent: bool = False) -> tuple[CostLine, ...]:
    """Return the costs of an answer by ``prices``: ``best`` () of the best fit, ``draws`` (r,) of its resamples.

    Each unique sample is simulated once; D beyond them repeats samples. Resamples that cannot reach a target cost
    infinity. ``spent`` states that the compute is a given budget. A part has no value, and a note, if the law does not
    determine its size. The same is true for the time of a model that is too small for the machine's assumed share of
    its peak. Without prices there are no lines.
    """
    if prices is None:
        return ()
    central, resampled = (_lines(prices, at) for at in (best, draws))
    alone = prices.simulation is None and prices.inference is None  # the total is then the cost of training
    found = [
        CostLine(one.part, one.what, _amount(fit, one, many, spent and (one.part == "training" or alone)))
        for one, many in zip(central, resampled, strict=True)
    ]
    parts, total = ([line for line in found if (line.part == "total") is whole] for whole in (False, True))
    return without_time((*parts, *_unpowered(prices), *total), prices, float(best.N))


def _lines(prices: Prices, at: Point) -> tuple[Line, ...]:
    """Return the lines of answers; if there is no answer, all are infinite, including those without a size."""
    lines = prices.lines(at.C, at.N, np.minimum(at.D, at.U))
    never = np.isinf(at.C) | np.isinf(at.D) | np.isinf(at.N)
    return tuple(replace(line, amount=np.where(never, np.inf, line.amount)) for line in lines)


def _unpowered(prices: Prices) -> list[CostLine]:
    """Return energy lines without a value, and with a note, for machines of unknown power."""
    return [
        CostLine(part, "energy", Quantity(None, unit="kWh", note=UNPOWERED.format(machine.device.name)))
        for part, machine in machines(prices).items()
        if machine.watts is None
    ]


def _amount(fit: Fit, one: Line, many: Line, spent: bool) -> Quantity:
    value = float(one.amount)
    if math.isnan(value):
        size = OF.get(one.part, "N or D")
        return Quantity(None, unit=one.unit, note=f"the law on {fit.law.axis or 'C'} says nothing of {size}")
    if spent:
        return given(fit, value, one.unit)
    return measure(fit, value, np.broadcast_to(many.amount, len(fit.resamples)), one.unit)


def unknown(unit: str, note: str = FOLLOWS) -> Quantity:
    """Return an amount that follows from an unknown time."""
    return Quantity(None, unit=unit, note=note)


def without_time(lines: Iterable[CostLine], prices: Prices, N: float | None) -> tuple[CostLine, ...]:
    """Return ``lines`` of the bill of a model of ``N`` parameters without the amounts that need its unknown time.

    The total money is also left out. Nothing changes if N is not known (None or NaN).
    """
    of = machines(prices)
    lost: dict[Part, str] = {part: note for part, machine in of.items() if (note := why_unknown(machine, N))}
    if any(of[part].price is not None for part in lost):
        lost["total"] = FOLLOWS
    found = []
    for line in lines:
        note = lost.get(line.part, "") if line.what in OF_TIME else ""
        if note and line.what != "time":
            note = FOLLOWS
        found.append(replace(line, amount=unknown(line.amount.unit, note)) if note else line)
    return tuple(found)


def machines(prices: Prices) -> dict[Part, Machine]:
    """Return the machine of each part of a bill that has one."""
    found: dict[Part, Machine] = {"training": prices.machine}
    if prices.inference is not None:
        found["inference"] = prices.inference.machine or prices.machine
    return found


def converted(
    prices: Prices | None, limits: Mapping[LimitName, float], weighs: bool, N: float
) -> tuple[FitWarning, ...]:
    """Return a warning if time or money limits the plan of such a small model, or money ``weighs`` in its cost."""
    named = [name for name in ("hours", "money") if name in limits]
    if prices is None or not (named or weighs):
        return ()
    return small_model(prices.machine, N, f"The limit on {' and '.join(named)}" if named else PRICE)


def small_model(machine: Machine | None, N: float | None, what: str) -> tuple[FitWarning, ...]:
    """Return a warning that ``what`` assumes a share of the peak that no model of ``N`` parameters reaches."""
    if machine is None or N is None or not N < machine.least:
        return ()
    return (FitWarning(SMALL_MODEL, f"{what} counts on {machine.share}; {_because(machine, N, 'it')}."),)


def why_unknown(machine: Machine | None, N: float | None) -> str:
    """Return why the time of a model of ``N`` parameters on ``machine`` is not known; empty if its share is reached."""
    if machine is None or N is None or not N < machine.least:
        return ""
    return f"not known: {_because(machine, N, machine.share)}"


def _because(machine: Machine, N: float, what: str) -> str:
    most = machine.utilisation * math.sqrt(N / machine.least)
    return (
        f"a model of {count(N)} parameters does not reach {what} (about {100 * most:.2g} % at most); give the share "
        "that you measured"
    )
