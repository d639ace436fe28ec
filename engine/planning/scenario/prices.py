"""Prices of a plan: machine, simulation, inference, currency, and CO2 emission of the power grid.

Functions accept arrays, for example one value per resample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import Machine
from isoplan.engine.hardware.machine import HOUR, co2, positive

Currency = Literal["EUR", "USD"]
Part = Literal["training", "simulation", "inference", "total"]
FORWARD = 2.0
"""FLOPs per parameter and token of a forward pass (Kaplan et al. 2020, sec. 2.1). Training costs 3 times as much."""
GIGABYTE = 1e9


@dataclass(frozen=True)
class Simulation:
    """Costs of simulating one unique sample: ``price`` in money, ``cpu_seconds`` on one core, ``size`` in bytes.

    A value is None if it is unknown.

    Raises PlannerError for a number that is not positive.
    """

    price: float | None = None
    cpu_seconds: float | None = None
    size: float | None = None

    def __post_init__(self) -> None:
        for value, what in (
            (self.price, "price of one sample"),
            (self.cpu_seconds, "CPU time of one sample in s"),
            (self.size, "size of one sample in bytes"),
        ):
            if value is not None:
                positive(value, what, "leave it out to count only samples")


def by_cpu_time(cpu_seconds: float, price_per_cpu_hour: float, size: float | None = None) -> Simulation:
    """Return the costs of a sample, with a price that is computed from the CPU time.

    ``cpu_seconds`` is the time of one core per sample, ``price_per_cpu_hour`` is in money per core hour, and ``size``
    is in bytes per sample. Raises PlannerError for a number that is not positive.
    """
    positive(price_per_cpu_hour, "price of one CPU hour", "leave it out to count only CPU hours")
    return Simulation(cpu_seconds / HOUR * price_per_cpu_hour, cpu_seconds, size)


@dataclass(frozen=True)
class Inference:
    """Queries that a model answers over its life.

    A query costs ``flops`` FLOPs. If ``flops`` is None, a query costs ``2 * N`` FLOPs for each of its ``tokens``
    (forward pass of a model of N parameters, Kaplan et al. 2020, sec. 2.1). ``machine`` answers the queries; None means
    the machine that trained the model. Raises PlannerError for a number that is not positive.
    """

    queries: float
    tokens: float = 1.0
    flops: float | None = None
    machine: Machine | None = None

    def __post_init__(self) -> None:
        positive(self.queries, "number of queries over the model's life", "leave inference out")
        positive(self.tokens, "number of tokens in a query", "give the FLOPs of a query instead")
        if self.flops is not None:
            positive(self.flops, "number of FLOPs of a query", "leave it out to count 2 N per token")

    def compute(self, N: ArrayLike) -> Floats:
        """Return the FLOPs of all queries over the life of a model of ``N`` parameters, in the shape of ``N``."""
        N = np.asarray(N, float)
        if self.flops is not None:
            return np.full(N.shape, self.queries * self.flops)
        return FORWARD * N * self.tokens * self.queries


def check_currency(name: str) -> Currency:
    """Return ``name`` if it is a known currency. Raises PlannerError otherwise."""
    found = next((known for known in get_args(Currency) if known == name), None)
    if found is None:
        raise PlannerError(f"The currency {name!r} is unknown: use {' or '.join(get_args(Currency))}.")
    return cast(Currency, found)


@dataclass(frozen=True)
class Line:
    """A line of a bill: the part of the plan (such as training), the kind of cost (such as money), unit and amount.

    ``amount`` is an array of any shape.
    """

    part: Part
    what: str
    unit: str
    amount: Floats


@dataclass(frozen=True)
class Rates:
    """Coefficients of a cost that is linear in training compute, unique samples and parameters.

    The cost is ``flop * C + sample * U + parameter * N + fixed``, for C FLOPs of training, U unique samples and N
    parameters. The unit of the cost is the currency, or FLOPs for ``COMPUTE``.
    """

    flop: float
    sample: float = 0.0
    parameter: float = 0.0
    fixed: float = 0.0

    @property
    def weighs(self) -> bool:
        """Whether the cost depends on samples or parameters, in addition to training compute.

        If so, the plan of least cost can differ from the plan of least compute.
        """
        return bool(self.sample or self.parameter)


COMPUTE = Rates(1.0)
"""Rates for which the cost equals the training compute in FLOPs."""


@dataclass(frozen=True)
class Prices:
    """Prices that convert FLOPs, samples and queries to hours, money, energy and CO2.

    All prices are in ``currency``; no currency is converted. ``grid`` is the emission of the power grid in g CO2 per
    kWh; if ``grid`` is None, the bill contains no CO2. ``pue`` is the power usage effectiveness of the site. Raises
    PlannerError for an unknown currency and for an invalid ``pue`` or ``grid``.
    """

    machine: Machine
    simulation: Simulation | None = None
    inference: Inference | None = None
    currency: Currency = "EUR"
    grid: float | None = None
    pue: float = 1.0

    def __post_init__(self) -> None:
        check_currency(self.currency)
        if not (math.isfinite(self.pue) and self.pue >= 1):
            raise PlannerError(
                f"The power usage effectiveness {self.pue:g} is below 1: give 1 to count only the devices."
            )
        if self.grid is not None:
            co2(0.0, self.grid)

    def lines(self, C: ArrayLike, N: ArrayLike, U: ArrayLike) -> tuple[Line, ...]:
        """Return the bill of ``C`` FLOPs of training, ``N`` parameters and ``U`` unique samples; the arrays broadcast.

        A line is omitted if its price, power, size or grid emission is unknown. The last line is the total money, if
        any line is in money.
        """
        C, N, U = np.broadcast_arrays(*(np.asarray(x, float) for x in (C, N, U)))
        found = self._of_machine("training", self.machine, C)
        if self.simulation is not None:
            found += self._of_simulation(self.simulation, U)
        if self.inference is not None:
            served = self.inference.compute(N)
            found.append(Line("inference", "compute", "FLOPs", served))
            found += self._of_machine("inference", self.inference.machine or self.machine, served)
        money = [line.amount for line in found if line.what == "money"]
        if money:
            found.append(Line("total", "money", self.currency, np.sum(money, axis=0)))
        return tuple(found)

    @property
    def rates(self) -> Rates:
        """Rates of the total money: training, simulation and queries.

        Raises PlannerError if an hour of the training machine has no price.
        """
        flop = float(self.machine.money(1.0))
        sample = (self.simulation.price or 0.0) if self.simulation is not None else 0.0
        served, machine = self.inference, (self.inference and self.inference.machine) or self.machine
        if served is None or machine.price is None:
            return Rates(flop, sample)
        money = float(machine.money(served.compute(1.0)))
        return Rates(flop, sample, money) if served.flops is None else Rates(flop, sample, 0.0, money)

    @property
    def aim(self) -> Rates:
        """Rates of the cost that a plan for a target minimises.

        The result is the rates of the total money if this money depends on samples or parameters. Otherwise the result
        is ``COMPUTE``, because the plan of least compute is then also the cheapest plan. The result is also ``COMPUTE``
        if an hour of the training machine has no price.
        """
        rates = self.rates if self.machine.price is not None else COMPUTE
        return rates if rates.weighs else COMPUTE

    def _of_machine(self, part: Part, machine: Machine, C: Floats) -> list[Line]:
        found = [
            Line(part, "time", "h", machine.hours(C)),
            Line(part, "device hours", f"{machine.device.name} h", machine.device_hours(C)),
        ]
        if machine.price is not None:
            found.append(Line(part, "money", self.currency, machine.money(C)))
        if machine.watts is not None:
            energy = machine.kwh(C, self.pue)
            found.append(Line(part, "energy", "kWh", energy))
            if self.grid is not None:
                found.append(Line(part, "CO2", "kg", co2(energy, self.grid)))
        return found

    def _of_simulation(self, one: Simulation, U: Floats) -> list[Line]:
        amounts = (
            ("CPU time", "CPU h", one.cpu_seconds, HOUR),
            ("money", self.currency, one.price, 1.0),
            ("storage", "GB", one.size, GIGABYTE),
        )
        return [Line("simulation", what, unit, U * each / per) for what, unit, each, per in amounts if each is not None]
