"""Costs of a simulated sample and of a FLOP, and the price of a sample at which two regimes cost the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import Machine
from isoplan.engine.hardware.machine import positive
from isoplan.engine.planning.scenario.prices import Currency, Prices, check_currency


@dataclass(frozen=True)
class SampleCosts:
    """Money for one simulated ``sample`` and for one ``flop`` of training, both in ``currency``.

    ``have`` samples exist already and cost nothing more. ``machine`` is the source of ``flop``, None if that was given.
    Raises PlannerError for a price that is not positive (at a price of zero the other regime is infinitely more
    expensive), an unknown currency, and a negative stock.
    """

    sample: float
    flop: float
    currency: Currency = "EUR"
    have: float = 0.0
    machine: Machine | None = None

    def __post_init__(self) -> None:
        check_currency(self.currency)
        positive(self.sample, "price of one simulated sample", "ask for a plan, which needs no price")
        positive(self.flop, "price of one FLOP", "ask for a plan, which needs no price")
        if not (math.isfinite(self.have) and self.have >= 0):
            raise PlannerError(
                f"The number of available samples, {self.have:g}, is not possible. Give zero or a positive number."
            )

    def simulation(self, unique: Floats) -> Floats:
        """Return the money for ``unique`` samples in total, of which the existing ones are free; any shape."""
        return self.sample * self.to_simulate(unique)

    def to_simulate(self, unique: Floats) -> Floats:
        """Return how many of ``unique`` samples are still to be simulated; any shape."""
        return np.maximum(np.asarray(unique, float) - self.have, 0.0)

    def training(self, C: Floats) -> Floats:
        """Return the money for ``C`` FLOPs; any shape."""
        return self.flop * np.asarray(C, float)

    def break_even(self, D: Floats, C: Floats, U: Floats, C_rep: Floats) -> Floats:
        """Return the sample price at which ``D`` samples for ``C`` FLOPs cost the same as ``U`` for ``C_rep`` FLOPs.

        It is (C_rep - C) / (D - U) x price per FLOP. With C_rep = kappa C this is (kappa - 1) / (1 - U/D) x C/D x price
        per FLOP, where C/D = 6 n_p N is the one-pass training compute of a sample. Above it repeating is cheaper. It is
        infinite if repeating saves no simulation and zero if it costs no compute; any shape.
        """
        saved = self.to_simulate(D) - self.to_simulate(U)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = self.flop * np.maximum(np.asarray(C_rep, float) - C, 0.0) / saved
        return np.where(saved > 0, price, np.where(np.isnan(saved), np.nan, np.inf))


def costs_of(prices: Prices, have: float = 0.0) -> SampleCosts:
    """Return both costs from the ``prices`` of a plan: money per sample, and money per hour over FLOPs per hour.

    Raises PlannerError if the machine or the simulation has no price.
    """
    if prices.simulation is None or prices.simulation.price is None:
        raise PlannerError("A simulated sample has no price. Give one to compare simulating with repeating.")
    machine = prices.machine
    return SampleCosts(prices.simulation.price, float(machine.money(1.0)), prices.currency, have, machine)
