"""What a plan costs, line by line, each with the intervals of the fit's resamples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import Quantity, given, measure
from isoplan.engine.planning.plan.parts import CostLine
from isoplan.engine.planning.plan.small_models import machines, without_time
from isoplan.engine.planning.scenario.prices import Line, Prices

UNPOWERED = "kWh and CO2 are left out: the vendor publishes no power of {}, so give the W of one device"
OF = {"training": "C", "inference": "N", "simulation": "D"}
"""The number that a part of the bill is proportional to."""


def bill(fit: Fit, best: Point, draws: Point, prices: Prices, spent: bool = False) -> tuple[CostLine, ...]:
    """What an answer costs by ``prices``: ``best`` of the best fit, shape (), ``draws`` of its resamples, (r,).

    Every unique sample is simulated once: beyond them D repeats. Resamples that cannot reach a
    target cost infinity. ``spent`` says that the compute is a given budget. A part whose size the law says nothing of
    has no value and says so, and so has the time of a model that is too small for the machine's assumed share of its
    peak.
    """
    central, resampled = (_lines(prices, at) for at in (best, draws))
    alone = prices.simulation is None and prices.inference is None  # the total is then what training costs
    found = [
        CostLine(one.part, one.what, _amount(fit, one, many, spent and (one.part == "training" or alone)))
        for one, many in zip(central, resampled, strict=True)
    ]
    parts, total = ([line for line in found if (line.part == "total") is whole] for whole in (False, True))
    return without_time((*parts, *_unpowered(prices), *total), prices, float(best.N))


def _lines(prices: Prices, at: Point) -> tuple[Line, ...]:
    """The lines of answers; all of them infinite where there is none, those that no size is behind too."""
    lines = prices.lines(at.C, at.N, np.minimum(at.D, at.U))
    never = np.isinf(at.C) | np.isinf(at.D) | np.isinf(at.N)
    return tuple(replace(line, amount=np.where(never, np.inf, line.amount)) for line in lines)


def _unpowered(prices: Prices) -> list[CostLine]:
    """The energy of machines whose power nobody states: a line without a value that says so."""
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
