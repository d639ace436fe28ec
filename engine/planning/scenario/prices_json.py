"""Conversion of prices to and from JSON. A device is saved as its name in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import Machine, find_device
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation


def prices_json(prices: Prices) -> dict[str, Any]:
    """Return the prices as a JSON object, which ``read_prices`` can read."""
    found: dict[str, Any] = {"machine": _machine(prices.machine), "currency": prices.currency, "pue": prices.pue}
    if prices.grid is not None:
        found["grid"] = prices.grid
    if prices.simulation is not None:
        found["simulation"] = _given(asdict(prices.simulation))
    if prices.inference is not None:
        found["inference"] = inference_json(prices.inference)
    return found


def inference_json(served: Inference) -> dict[str, Any]:
    """Return the queries over the life of a model as a JSON object, which ``read_inference`` can read."""
    own = {"machine": _machine(served.machine)} if served.machine else {}
    return _given({"queries": served.queries, "tokens": served.tokens, "flops": served.flops}) | own


def read_prices(raw: Mapping[str, Any]) -> Prices:
    """Read prices from a JSON object. Raises PlannerError if the object does not contain valid prices."""
    try:
        served, simulated = raw.get("inference"), raw.get("simulation")
        return Prices(
            _read_machine(raw["machine"]),
            Simulation(**simulated) if simulated is not None else None,
            read_inference(served) if served is not None else None,
            raw.get("currency", "EUR"),
            raw.get("grid"),
            raw.get("pue", 1.0),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise PlannerError(f"The prices of this plan cannot be read: {error!r}.") from error


def read_inference(raw: Mapping[str, Any]) -> Inference:
    """Read the queries over the life of a model from a JSON object."""
    return Inference(**{**raw, "machine": _read_machine(raw["machine"]) if "machine" in raw else None})


def _machine(machine: Machine) -> dict[str, Any]:
    numbers = {name: getattr(machine, name) for name in ("devices", "utilisation", "price", "precision", "power")}
    return {"device": machine.device.name} | _given(numbers) | ({"assumed": True} if machine.assumed else {})


def _read_machine(raw: Mapping[str, Any]) -> Machine:
    return Machine(find_device(raw["device"]), **{name: x for name, x in raw.items() if name != "device"})


def _given(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in numbers.items() if x is not None}
