"""Input fields for the machine and the prices. All questions of the Plan page use the same fields.

The URL of the page stores each value under the name of the corresponding command-line option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.views.widgets.scopes import belong
from isoplan.engine.hardware import DEVICES, Precision
from isoplan.engine.planning.scenario.fields import FIELDS, PRICES, Field
from isoplan.engine.planning.scenario.prices import Currency, Prices
from isoplan.engine.quantities import as_typed

OF_DEVICE = {"hour_price": "", "power": "", "utilisation": FIELDS["utilisation"].start, "precision": None}
"""Fields that are stored separately for each device, with their initial values."""
CHOICES: dict[str, Sequence[str]] = {
    "device": [device.name for device in DEVICES],
    "precision": get_args(Precision),
    "currency": get_args(Currency),
}
"""Options of the selection fields, by field name."""
LISTED = ("precision", "currency")


def widgets(near: DeltaGenerator | None = None) -> dict[str, str]:
    """Show ``fields`` in an expander; return the entered texts by field name."""
    with st.expander("Machine and prices", icon=":material/payments:", key="machine_and_prices"):
        return fields(near)


def fields(near: DeltaGenerator | None = None) -> dict[str, str]:
    """Show the input fields for machine and prices; return the entered texts by field name.

    A value that is entered for one question of the page applies to all questions. If the container ``near`` is given,
    the device and its price per hour are shown there.
    """
    grid = st.grid(4, min_column_width=170)
    first = grid if near is None else near.grid(4, min_column_width=170)
    device = _choose(first, "device")
    belong("device", device, OF_DEVICE)
    hour_price = FIELDS["hour_price"]
    count = FIELDS["devices"]
    early = {hour_price.name: _typed(first, hour_price)} if near is not None else {}
    devices = grid.number_input(count.label, 1, 1_000_000, 1, key=count.name, bind="query-params")
    chosen = {"device": device, "devices": f"{devices}"} | {name: _choose(grid, name) for name in LISTED} | early
    return chosen | {field.name: _typed(grid, field) for field in PRICES if field.name not in chosen}


def _choose(grid: Any, name: str) -> str:
    field, options = FIELDS[name], CHOICES[name]
    first = 0 if field.start else None
    return grid.selectbox(field.label, options, first, key=name, bind="query-params", placeholder=field.hint or None,
                          help=field.tip) or ""  # fmt: skip


def _typed(grid: Any, field: Field) -> str:
    return grid.text_input(
        field.label, field.start, key=field.name, bind="query-params", max_chars=100, placeholder=field.hint or None,
        help=field.tip,
    ) or ""  # fmt: skip


def link(prices: Prices | None) -> dict[str, str]:
    """Return the query parameters of a link that sets the fields to ``prices``; empty if ``prices`` is None."""
    if prices is None:
        return {}
    machine, made, served = prices.machine, prices.simulation, prices.inference
    numbers: dict[str, float | None] = {
        "devices": machine.devices,
        "hour_price": machine.price,
        "utilisation": None if machine.assumed else machine.utilisation,
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
