"""Machine and prices: one scenario for every question of the page, kept in the link under the names of the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import streamlit as st

from engine.errors import PlannerError
from engine.hardware import DEVICES, UTILISATION, Machine, Precision, find_device
from engine.planning.prices import Currency, Inference, Prices, Simulation, by_cpu_time
from engine.quantities import parse_number, parse_share

LABELS = {
    "hour_price": "Price of a device hour",
    "utilisation": "Utilisation",
    "power": "Power of a device [W]",
    "grid": "Grid [g CO₂/kWh]",
    "pue": "PUE of the site",
    "sample_price": "Price of a sample",
    "sample_seconds": "CPU seconds a sample",
    "cpu_price": "Price of a CPU hour",
    "sample_bytes": "Bytes a sample",
    "queries": "Queries over its life",
    "query_tokens": "Tokens a query",
    "query_flops": "FLOPs a query",
}
"""What is typed, by its name in the link."""
STARTS = {"utilisation": f"{100 * UTILISATION:g} %", "pue": "1"}
HINTS = {
    "hour_price": "for example 2.50",
    "power": "the data sheet's",
    "grid": "for example 300",
    "sample_price": "for example 1e-4",
    "sample_seconds": "for example 0.5",
    "cpu_price": "for example 0.02",
    "sample_bytes": "for example 4000",
    "queries": "for example 1e9",
    "query_tokens": "1",
    "query_flops": "2 N a token",
}
HELP = {
    "utilisation": "The share of its peak that training reaches.",
    "pue": "Power usage effectiveness: 1 counts the devices alone.",
    "sample_seconds": "What one simulated sample takes on one core.",
    "cpu_price": "In place of the price of a sample.",
}


@dataclass(frozen=True)
class Typed:
    """What the widgets hold: the choices, and what is typed by its name in the link."""

    device: str | None
    devices: int
    precision: Precision | None
    currency: Currency
    texts: Mapping[str, str]


def ask() -> Prices | None:
    """The machine and the prices that are filled in; None without a machine.

    Every question of the page shows the same widgets, so what is entered for one holds for the others. Raises
    PlannerError for what cannot be, and for prices without a machine.
    """
    return read(widgets())


def widgets() -> Typed:
    """The widgets, and what they hold before it is read."""
    with st.expander("Machine and prices", icon=":material/payments:", key="machine_and_prices"):
        grid = st.grid(4, min_column_width=170)
        device = grid.selectbox("Machine", [d.name for d in DEVICES], None, key="device", bind="query-params",
                                placeholder="none, no prices", help="Peaks and power are the vendors'.")  # fmt: skip
        devices = grid.number_input("How many", 1, 1_000_000, 1, key="devices", bind="query-params")
        precision = grid.selectbox("Precision", get_args(Precision), None, key="precision", bind="query-params",
                                   placeholder="the usual one")  # fmt: skip
        currency = grid.selectbox("Currency of all prices", get_args(Currency), key="currency", bind="query-params")
        return Typed(device, int(devices), precision, currency, {name: _typed(grid, name) for name in LABELS})


def read(typed: Typed) -> Prices | None:
    """The prices in the widgets; None without a machine. Raises PlannerError for what cannot be."""
    texts = typed.texts
    simulation, inference = _simulation(texts), _inference(texts)
    if typed.device is None:
        if simulation or inference or any(texts[name] for name in ("hour_price", "power", "grid")):
            raise PlannerError("Prices need what trains: choose a machine.")
        return None
    pue = _number(texts, "pue")
    machine = Machine(
        find_device(typed.device),
        typed.devices,
        parse_share(texts["utilisation"] or STARTS["utilisation"], "utilisation"),
        _number(texts, "hour_price"),
        typed.precision,
        _number(texts, "power"),
    )
    grid = _number(texts, "grid")
    return Prices(machine, simulation, inference, typed.currency, grid, 1.0 if pue is None else pue)


def _typed(grid: Any, name: str) -> str:
    return grid.text_input(
        LABELS[name], STARTS.get(name, ""), key=name, bind="query-params", max_chars=100,
        placeholder=HINTS.get(name), help=HELP.get(name),
    ) or ""  # fmt: skip


def _simulation(typed: Mapping[str, str]) -> Simulation | None:
    price, seconds, hour, size = (
        _number(typed, name) for name in ("sample_price", "sample_seconds", "cpu_price", "sample_bytes")
    )
    if hour is not None:
        if price is not None or seconds is None:
            raise PlannerError("The price of a CPU hour needs the CPU seconds of a sample, and no price of a sample.")
        return by_cpu_time(seconds, hour, size)
    return None if price is seconds is size is None else Simulation(price, seconds, size)


def _inference(typed: Mapping[str, str]) -> Inference | None:
    queries, tokens, flops = (_number(typed, name) for name in ("queries", "query_tokens", "query_flops"))
    if queries is None:
        if tokens is not None or flops is not None:
            raise PlannerError("Tokens or FLOPs a query say nothing without the queries: give them too.")
        return None
    return Inference(queries, 1.0 if tokens is None else tokens, flops)


def _number(typed: Mapping[str, str], name: str) -> float | None:
    return parse_number(typed[name], LABELS[name].partition(" [")[0].lower()) if typed[name] else None


def link(prices: Prices | None) -> dict[str, str]:
    """What the address of the page holds to fill in ``prices`` again."""
    if prices is None:
        return {}
    machine, made, served = prices.machine, prices.simulation, prices.inference
    numbers: dict[str, float | None] = {
        "devices": machine.devices,
        "hour_price": machine.price,
        "utilisation": machine.utilisation,
        "power": machine.power,
        "grid": prices.grid,
        "pue": prices.pue,
    }
    if made is not None:
        numbers |= {"sample_price": made.price, "sample_seconds": made.cpu_seconds, "sample_bytes": made.size}
    if served is not None:
        numbers |= {"queries": served.queries, "query_tokens": served.tokens, "query_flops": served.flops}
    named = {"device": machine.device.name, "precision": machine.precision or "", "currency": prices.currency}
    return {k: text for k, text in named.items() if text} | {k: repr(x) for k, x in numbers.items() if x is not None}
