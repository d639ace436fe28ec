"""Limits and prices of a plan: the options of `isoplan plan`, each a number or a text with its unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from isoplan.options import Amount, as_text

if TYPE_CHECKING:
    from isoplan.engine.planning.scenario.limits import LimitName, Limits
    from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation


class MachineOptions(TypedDict, total=False):
    """What trains and what it costs: ``hour_price`` is money for one hour of a device, ``utilisation`` a share."""

    device: str
    hour_price: Amount
    utilisation: Amount
    precision: str
    currency: str


class SampleOptions(TypedDict, total=False):
    """What a simulated sample costs: money, or CPU seconds and money for a CPU hour."""

    sample_price: Amount
    sample_seconds: Amount
    cpu_price: Amount


class RepeatPrices(MachineOptions, SampleOptions, total=False):
    """Prices of simulating and repeating: ``flop_price`` is money for one FLOP, in place of a device."""

    flop_price: Amount


class PlanOptions(MachineOptions, SampleOptions, total=False):
    """Limits and prices of a plan.

    ``max_memory`` is in GB for each device, ``max_hours`` in hours on all devices, ``power`` in W, ``grid`` in g CO2
    per kWh, ``sample_bytes`` in bytes; ``pue`` is the power usage effectiveness of the site.
    """

    max_unique: Amount
    max_params: Amount
    max_epochs: Amount
    max_hours: Amount
    max_memory: Amount
    max_money: Amount
    devices: Amount
    power: Amount
    grid: Amount
    pue: Amount
    sample_bytes: Amount
    queries: Amount
    query_tokens: Amount
    query_flops: Amount


LIMITS: dict[LimitName, str] = {
    "unique": "max_unique",
    "parameters": "max_params",
    "epochs": "max_epochs",
    "hours": "max_hours",
    "memory": "max_memory",
    "money": "max_money",
}
QUERIES = ("queries", "query_tokens", "query_flops")
PRICES = tuple(name for name in PlanOptions.__annotations__ if name not in LIMITS.values())
CALLED = {name: f"option {name}" for name in (*PRICES, "flop_price")}
"""What sentences call each option."""


def read_limits(options: Mapping[str, object]) -> Limits:
    """Return the limits among ``options``. Raises PlannerError that names the option which cannot be read."""
    from isoplan.engine.planning.scenario import typed_prices

    texts = {limit: as_text(options.get(name)) for limit, name in LIMITS.items()}
    called = {limit: f"option {name}" for limit, name in LIMITS.items()}
    return typed_prices.read_limits(texts, called, as_text(options.get("currency")) or typed_prices.EUR)


def read_prices(options: Mapping[str, object], *without: str) -> Prices | None:
    """Return the prices among ``options``, ``without`` some of them; None if there are none.

    Raises PlannerError that names the option which is missing or cannot be read.
    """
    from isoplan.engine.planning.scenario import typed_prices

    return typed_prices.read_prices(_price_texts(options, without), CALLED)


def read_simulation(options: Mapping[str, object]) -> Simulation | None:
    """Return what a simulated sample costs; None if no option states it."""
    from isoplan.engine.planning.scenario import typed_prices

    return typed_prices.read_simulation(_price_texts(options), CALLED)


def read_inference(options: Mapping[str, object]) -> Inference | None:
    """Return the queries over the life of a model; None if no option states them."""
    from isoplan.engine.planning.scenario import typed_prices

    return typed_prices.read_inference(_price_texts(options), CALLED)


def _price_texts(options: Mapping[str, object], without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the text of each price that is given; one device is not given, as in the terminal."""
    texts = {name: as_text(options.get(name)) for name in PRICES if name not in without}
    return texts | ({"devices": ""} if texts.get("devices") == "1" else {})
