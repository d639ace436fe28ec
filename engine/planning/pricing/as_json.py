"""Prices in the JSON of plans: devices go by their name in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from engine.errors import PlannerError
from engine.hardware import find_device
from engine.hardware.machine import Machine
from engine.planning.pricing.prices import Inference, Prices, Simulation


def prices_json(prices: Prices) -> dict[str, Any]:
    """The prices for JSON; ``read_prices`` is its inverse."""
    served = prices.inference
    found: dict[str, Any] = {"machine": _machine(prices.machine), "currency": prices.currency, "pue": prices.pue}
    if prices.grid is not None:
        found["grid"] = prices.grid
    if prices.simulation is not None:
        found["simulation"] = _given(asdict(prices.simulation))
    if served is not None:
        own = {"machine": _machine(served.machine)} if served.machine else {}
        numbers = {"queries": served.queries, "tokens": served.tokens, "flops": served.flops}
        found["inference"] = _given(numbers) | own
    return found


def read_prices(raw: Mapping[str, Any]) -> Prices:
    """The prices in a JSON object. Raises PlannerError that says what is wrong with them."""
    try:
        served, simulated = raw.get("inference"), raw.get("simulation")
        return Prices(
            _read_machine(raw["machine"]),
            Simulation(**simulated) if simulated is not None else None,
            Inference(**{**served, "machine": _read_machine(served["machine"]) if "machine" in served else None})
            if served is not None
            else None,
            raw.get("currency", "EUR"),
            raw.get("grid"),
            raw.get("pue", 1.0),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise PlannerError(f"The prices of this plan cannot be read: {error!r}.") from error


def _machine(machine: Machine) -> dict[str, Any]:
    numbers = {name: getattr(machine, name) for name in ("devices", "utilisation", "price", "precision", "power")}
    return {"device": machine.device.name} | _given(numbers)


def _read_machine(raw: Mapping[str, Any]) -> Machine:
    return Machine(find_device(raw["device"]), **{name: x for name, x in raw.items() if name != "device"})


def _given(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in numbers.items() if x is not None}
