"""Machine and prices: one scenario for every question of the page, kept in the link under the names of the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import streamlit as st

from isoplan.app.views.widgets.scopes import belong
from isoplan.engine.hardware import DEVICES, UTILISATION, Precision
from isoplan.engine.planning.scenario.prices import Currency, Prices
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.quantities import as_typed

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
CHOSEN = {
    "device": "Machine",
    "devices": "Number of devices",
    "precision": "Precision",
    "currency": "Currency of all prices",
}
"""What is chosen, by its name in the link."""
CALLED = {
    name: label if label[1].isupper() else label[0].lower() + label[1:]
    for name, text in (CHOSEN | LABELS).items()
    for label in [text.partition(" [")[0]]
}
"""What each field is called within a sentence."""
STARTS = {"devices": "1", "currency": "EUR", "utilisation": f"{100 * UTILISATION:g} %", "pue": "1"}
"""What the fields hold before anybody says otherwise."""
OF_DEVICE = {"hour_price": "", "power": "", "utilisation": STARTS["utilisation"], "precision": None}
"""Fields that belong to a device, with their starts: another device has another price."""
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


def ask() -> Prices | None:
    """The machine and the prices that are filled in; None without a machine.

    Every question of the page shows the same widgets, so what is entered for one holds for the others. Raises
    PlannerError for what cannot be, and for prices without a machine.
    """
    return read(widgets())


def widgets() -> dict[str, str]:
    """The widgets, and what they hold by its name in the link before it is read."""
    with st.expander("Machine and prices", icon=":material/payments:", key="machine_and_prices"):
        grid = st.grid(4, min_column_width=170)
        device = grid.selectbox(CHOSEN["device"], [d.name for d in DEVICES], None, key="device", bind="query-params",
                                placeholder="none, no prices", help="Peaks and power are the vendors'.")  # fmt: skip
        belong("device", device or "", OF_DEVICE)
        devices = grid.number_input(CHOSEN["devices"], 1, 1_000_000, 1, key="devices", bind="query-params")
        precision = grid.selectbox(CHOSEN["precision"], get_args(Precision), None, key="precision", bind="query-params",
                                   placeholder="the usual one")  # fmt: skip
        currency = grid.selectbox(CHOSEN["currency"], get_args(Currency), key="currency", bind="query-params")
        chosen = {"device": device or "", "devices": f"{devices}", "precision": precision or "", "currency": currency}
        return chosen | {name: _typed(grid, name) for name in LABELS}


def read(typed: Mapping[str, str]) -> Prices | None:
    """The prices in the widgets; None without a machine. Raises PlannerError for what cannot be."""
    return read_prices({name: text for name, text in typed.items() if text != STARTS.get(name)}, CALLED)


def _typed(grid: Any, name: str) -> str:
    return grid.text_input(
        LABELS[name], STARTS.get(name, ""), key=name, bind="query-params", max_chars=100,
        placeholder=HINTS.get(name), help=HELP.get(name),
    ) or ""  # fmt: skip


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
        tokens = served.tokens if served.flops is None else None
        numbers |= {"queries": served.queries, "query_tokens": tokens, "query_flops": served.flops}
    named = {"device": machine.device.name, "precision": machine.precision or "", "currency": prices.currency}
    return {k: text for k, text in named.items() if text} | {
        k: as_typed(x) for k, x in numbers.items() if x is not None
    }
