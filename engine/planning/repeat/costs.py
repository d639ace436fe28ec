"""Costs of a simulated sample and of a FLOP, and the total cost of each regime against the price of a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.intervals import Resampling
from isoplan.engine.hardware import Machine
from isoplan.engine.hardware.machine import positive
from isoplan.engine.planning.scenario.fields import EUR, Place, Texts
from isoplan.engine.planning.scenario.prices import Currency, Prices, check_currency
from isoplan.engine.planning.scenario.typed_prices import read_prices, read_simulation

MACHINE = ("device", "hour_price", "utilisation", "precision")
SAMPLE = ("sample_price", "sample_seconds", "cpu_price")
UNPRICED = "A simulated sample has no price. Give its price to compare simulating with repeating."
NO_HOUR = {
    "terminal": "--device requires the price of a device hour: add --hour-price, for example --hour-price 3.",
    "python": "Option hour_price: the price of a device hour is missing. Add it, for example hour_price='3 EUR'.",
}
POINTS = 61
DECADES = 2.5
"""Number of decades by which the price axis extends below and above the user's price and the break-even price."""


@dataclass(frozen=True)
class SampleCosts:
    """Money for one simulated ``sample`` and for one ``flop`` of training, both in ``currency``.

    ``have`` is the number of existing samples, which cost nothing more. ``machine`` is the machine whose price gives
    ``flop``; None if the user gave the price of a FLOP. Raises PlannerError for an unknown currency, for a negative
    number of existing samples, and for a price that is not positive. At a price of zero, the comparison of the regimes
    would have no meaning.
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
        """Return the money for ``unique`` samples. Existing samples cost nothing. Arrays can have any shape."""
        return self.sample * self.to_simulate(unique)

    def to_simulate(self, unique: Floats) -> Floats:
        """Return the number of samples to simulate for a total of ``unique`` samples. Arrays can have any shape.

        Existing samples are subtracted.
        """
        return np.maximum(np.asarray(unique, float) - self.have, 0.0)

    def training(self, C: Floats) -> Floats:
        """Return the money for ``C`` FLOPs of training. Arrays can have any shape."""
        return self.flop * np.asarray(C, float)

    def break_even(self, D: Floats, C: Floats, U: Floats, C_rep: Floats) -> Floats:
        """Return the price of a sample at which both regimes cost the same. Above this price, repeating is cheaper.

        The single pass needs ``D`` samples and ``C`` FLOPs, repeating ``U`` samples and ``C_rep`` FLOPs. The price is
        ``(C_rep - C) / (D - U)`` times the price of a FLOP. With ``C_rep = kappa * C``, the first factor is
        ``(kappa - 1) / (1 - U / D) * C / D``. Here ``C / D = 6 * n_p * N`` is the one-pass training compute per sample.
        The price is infinite if repeating saves no simulation, and zero if repeating needs no additional compute.
        Arrays can have any shape.
        """
        saved = self.to_simulate(D) - self.to_simulate(U)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = self.flop * np.maximum(np.asarray(C_rep, float) - C, 0.0) / saved
        return np.where(saved > 0, price, np.where(np.isnan(saved), np.nan, np.inf))


def costs_of(prices: Prices, have: float = 0.0) -> SampleCosts:
    """Return the costs of a sample and of a FLOP from the ``prices`` of a plan. ``have`` samples exist already.

    A FLOP costs the price of a device hour divided by the FLOPs per hour. Raises PlannerError if the machine or
    the simulation has no price.
    """
    if prices.simulation is None or prices.simulation.price is None:
        raise PlannerError(UNPRICED)
    machine = prices.machine
    return SampleCosts(prices.simulation.price, float(machine.money(1.0)), prices.currency, have, machine)


def read_costs(texts: Texts, place: Place, values: Mapping[str, Any]) -> SampleCosts | None:
    """Read the costs of a sample and of a FLOP from typed ``texts``; None if no price is given.

    ``values`` contains the number of existing samples and the price of a FLOP. If the price of a FLOP is not given, it
    is computed from the price of a machine hour. The form for prices on the page also serves other questions, so
    incomplete prices on the page count as no prices.
    """
    have, flop = values["have"], values["flop_price"]
    if place == "page":
        prices = read_prices(texts, place)
        complete = prices is not None and prices.machine.price is not None and prices.simulation is not None
        return costs_of(prices, have) if prices is not None and complete else None
    machine = any(texts.get(name) for name in MACHINE)
    if not (machine or flop is not None or any(texts.get(name) for name in SAMPLE)):
        return None
    if (flop is not None) == machine:
        dashes = "--" if place == "terminal" else ""
        names = (f"{dashes}{name}" for name in ("flop-price", "device", "hour-price"))
        one, device, hour = (name if dashes else name.replace("-", "_") for name in names)
        raise PlannerError(f"Price of training: give either {one}, or {device} and {hour}.")
    if flop is not None:
        sample = read_simulation(texts, place)
        if sample is None or sample.price is None:
            raise PlannerError(UNPRICED)
        return SampleCosts(sample.price, flop, check_currency(texts.get("currency") or EUR), have)
    if texts.get("device") and not texts.get("hour_price"):
        raise PlannerError(NO_HOUR[place])
    prices = read_prices(texts, place)
    assert prices is not None  # an option of the machine is given, so prices are not None
    return costs_of(prices, have)


@dataclass(frozen=True, eq=False)
class Picture:
    """Total money of both regimes as a function of the price of a sample, for a figure.

    ``price`` (k,) includes the user's price and the break-even price. ``one_pass`` and ``repeat`` (k,) are the totals
    by the best fit. The fields that end in ``_band`` (2, k) are the 68 % intervals of the totals, NaN without
    resamples. ``point`` is the user's price with the totals of both regimes. ``break_even`` is NaN if the lines do not
    cross.
    """

    price: Floats
    one_pass: Floats
    repeat: Floats
    one_pass_band: Floats
    repeat_band: Floats
    point: tuple[float, float, float]
    break_even: float


def price_picture(
    costs: SampleCosts, best: Mapping[str, Floats], draws: Mapping[str, Floats], how: Resampling
) -> Picture:
    """Compute the totals of both regimes over a range of sample prices.

    ``best`` and ``draws`` contain the numbers of the answer by name (D, U, one_train, ...). ``best`` has values of the
    best fit, shape (), and ``draws`` those of the resamples, (r,).
    """
    crossing = float(best["break_even"])
    crosses = np.isfinite(crossing) and crossing > 0
    ends = [costs.sample, *([crossing] if crosses else [])]
    price = np.geomspace(min(ends) / 10**DECADES, max(ends) * 10**DECADES, POINTS)
    lines = [_line(costs, best, draws, price, how, *names) for names in (("D", "one_train"), ("U", "rep_train"))]
    (one, one_band), (rep, rep_band) = lines
    at = (costs.sample, float(best["one_total"]), float(best["rep_total"]))
    return Picture(price, one, rep, one_band, rep_band, at, crossing if crosses else float("nan"))


def _line(
    costs: SampleCosts,
    best: Mapping[str, Floats],
    draws: Mapping[str, Floats],
    price: Floats,
    how: Resampling,
    samples: str,
    training: str,
) -> tuple[Floats, Floats]:
    """Return the total of one regime at each price (k,), and the ends of its 68 % interval (2, k).

    ``samples`` and ``training`` are the keys in ``best`` of the number of samples and of the training cost.
    """
    central = price * costs.to_simulate(best[samples]) + best[training]
    each = price * costs.to_simulate(draws[samples])[:, None] + draws[training][:, None]
    return central, np.stack(how.band(central, each, 0.68))
