"""Bill of a plan: time, money, energy and other costs, line by line, with intervals from the resamples of the fit.

The time on a machine is computed from an assumed fraction of the peak speed. If a model is too small to reach this
fraction, the time is unknown. The amounts that are computed from the time, such as money, are then unknown too.
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

UNPOWERED = "kWh and CO2 are left out: the vendor does not publish the power of {}; give the power of one device in W"
OF = {"training": "C", "inference": "N", "simulation": "D"}
"""Quantity of the plan that determines the cost of each part of the bill."""

SMALL_MODEL = "small-model"
PRICE = "The price of a FLOP"
OF_TIME = ("time", "device hours", "money", "energy", "CO2")
"""Kinds of cost that are computed from the time on a machine."""
FOLLOWS = "not known: it is computed from the time, which is not known"


def bill(fit: Fit, best: Point, draws: Point, prices: Prices | None, spent: bool = False) -> tuple[CostLine, ...]:
    """Return the bill of an answer by ``prices``; it is empty without prices.

    ``best`` () is the answer of the best fit, and ``draws`` (r,) are the answers of the resamples. A resample that
    cannot reach the target counts as infinite cost. ``spent`` states that the compute is a given budget; the cost of
    training then has no uncertainty. Each unique sample is simulated once; repeated samples cost no simulation.

    In two cases an amount has no value, and its note states the reason. In the first case the law does not determine N
    or D. In the second case the model is too small to reach the assumed fraction of the machine's peak speed.
    """
    if prices is None:
        return ()
    central, resampled = (_lines(prices, at) for at in (best, draws))
    # Without simulation and queries, the total is the cost of training. If the compute is given, this cost has no
    # uncertainty.
    alone = prices.simulation is None and prices.inference is None
    found = [
        CostLine(one.part, one.what, _amount(fit, one, many, spent and (one.part == "training" or alone)))
        for one, many in zip(central, resampled, strict=True)
    ]
    parts, total = ([line for line in found if (line.part == "total") is whole] for whole in (False, True))
    return without_time((*parts, *_unpowered(prices), *total), prices, float(best.N))


def _lines(prices: Prices, at: Point) -> tuple[Line, ...]:
    """Return the lines of the bill at the points ``at``. A point with infinite N, D or C has infinite amounts."""
    lines = prices.lines(at.C, at.N, np.minimum(at.D, at.U))
    never = np.isinf(at.C) | np.isinf(at.D) | np.isinf(at.N)
    return tuple(replace(line, amount=np.where(never, np.inf, line.amount)) for line in lines)


def _unpowered(prices: Prices) -> list[CostLine]:
    """Return a line for energy, with a note and no amount, for each machine whose power is unknown."""
    return [
        CostLine(part, "energy", Quantity(None, unit="kWh", note=UNPOWERED.format(machine.device.name)))
        for part, machine in machines(prices).items()
        if machine.watts is None
    ]


def _amount(fit: Fit, one: Line, many: Line, spent: bool) -> Quantity:
    value = float(one.amount)
    if math.isnan(value):
        size = OF.get(one.part, "N or D")
        return Quantity(None, unit=one.unit, note=f"the law on {fit.law.axis or 'C'} does not determine {size}")
    if spent:
        return given(fit, value, one.unit)
    return measure(fit, value, np.broadcast_to(many.amount, len(fit.resamples)), one.unit)


def unknown(unit: str, note: str = FOLLOWS) -> Quantity:
    """Return an amount in ``unit`` without a value. The default note states that the time is unknown."""
    return Quantity(None, unit=unit, note=note)


def without_time(lines: Iterable[CostLine], prices: Prices, N: float | None) -> tuple[CostLine, ...]:
    """Return the ``lines`` of a bill; amounts that depend on an unknown time on a machine have no value.

    The time is unknown if a model of ``N`` parameters is too small to reach the assumed fraction of the machine's peak
    speed. The total money then has no value either. If N is None or NaN, no line changes.
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
    """Return the machine of training and, if the prices include queries, the machine of inference."""
    found: dict[Part, Machine] = {"training": prices.machine}
    if prices.inference is not None:
        found["inference"] = prices.inference.machine or prices.machine
    return found


def converted(
    prices: Prices | None, limits: Mapping[LimitName, float], weighs: bool, N: float
) -> tuple[FitWarning, ...]:
    """Return a warning if a model is so small that the conversion of its compute to time or money is too optimistic.

    A warning is given only if hours or money are limited, or if the plan minimises money (``weighs``).
    """
    named = [name for name in ("hours", "money") if name in limits]
    if prices is None or not (named or weighs):
        return ()
    return small_model(prices.machine, N, f"The limit on {' and '.join(named)}" if named else PRICE)


def small_model(machine: Machine | None, N: float | None, what: str) -> tuple[FitWarning, ...]:
    """Return a warning if a model of ``N`` parameters does not reach the assumed fraction of the machine's peak speed.

    ``what`` is the subject of the warning, such as "The price of a FLOP".
    """
    if machine is None or N is None or not N < machine.least:
        return ()
    return (FitWarning(SMALL_MODEL, f"{what} assumes {machine.share}; {_because(machine, N, 'this share')}."),)


def why_unknown(machine: Machine | None, N: float | None) -> str:
    """Return the reason why the time of a model of ``N`` parameters on ``machine`` is unknown.

    The result is empty if the model reaches the assumed fraction of the machine's peak speed.
    """
    if machine is None or N is None or not N < machine.least:
        return ""
    return f"not known: {_because(machine, N, machine.share)}"


def _because(machine: Machine, N: float, what: str) -> str:
    most = machine.utilisation * math.sqrt(N / machine.least)
    return (
        f"a model of {count(N)} parameters does not reach {what} (at most about {100 * most:.2g} %); give the share "
        "that you measured"
    )
