"""Input fields for the machine and the prices. All questions of the Plan page use the same fields.

The URL of the page stores each value under the name of the corresponding command-line option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.views.widgets.markdown import escape_markdown
from isoplan.app.views.widgets.scopes import belong
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import DEVICES, Precision
from isoplan.engine.planning.plan.utilisation import measured_utilisation
from isoplan.engine.planning.scenario.fields import FIELDS, PRICES, Field
from isoplan.engine.planning.scenario.prices import Currency, Prices
from isoplan.engine.quantities import as_typed
from isoplan.engine.schema import Runs

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


def offer_measured(runs: Runs | None, rule: ComputeRule, prices: Prices | None) -> None:
    """Show the utilisation that the runs reached on the chosen device, with a button that fills in this value.

    Nothing is shown without a device, or if the runs have no measured times. ``rule`` counts the compute of the runs.
    """
    if runs is None or prices is None:
        return
    try:
        share = measured_utilisation(runs, rule, prices.machine)
    except PlannerError as error:
        st.caption(escape_markdown(str(error)))
        return
    if share is None:
        return
    text = f"{100 * share:.2g} %"
    with st.container(horizontal=True, vertical_alignment="center"):
        device = escape_markdown(prices.machine.device.name)
        st.caption(f"Utilisation as measured in your runs: {text} of the peak of one {device}.", width="content")
        if st.session_state.get("utilisation") != text:
            st.button(f"Use {text}", key="use_measured", on_click=_fill, args=("utilisation", text))


def _fill(name: str, text: str) -> None:
    st.session_state[name] = text


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
