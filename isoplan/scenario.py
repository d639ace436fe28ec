"""Limits and prices as options, each a number or a text with its unit. The table of fields defines how they are
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from isoplan.options import Amount, as_text


class PlanOptions(TypedDict, total=False):
    """Limits and prices of a plan.

    ``hour_price`` is money per device hour, ``utilisation`` a share, ``sample_price`` money, or ``sample_seconds`` CPU
    seconds and ``cpu_price`` money per CPU hour. ``max_memory`` is in GB per device, ``max_hours`` in hours on all
    devices, ``power`` in W, ``grid`` in g CO2 per kWh, ``sample_bytes`` in bytes; ``pue`` is the power usage
    effectiveness of the site.
    """

    max_unique: Amount
    max_params: Amount
    max_epochs: Amount
    max_hours: Amount
    max_memory: Amount
    max_money: Amount
    device: str
    devices: Amount
    hour_price: Amount
    utilisation: Amount
    precision: str
    currency: str
    power: Amount
    grid: Amount
    pue: Amount
    sample_price: Amount
    sample_seconds: Amount
    cpu_price: Amount
    sample_bytes: Amount
    queries: Amount
    query_tokens: Amount
    query_flops: Amount


def texts_of(options: Mapping[str, object]) -> dict[str, str]:
    """Return the text of each option, with every digit of a number; options that are None are left out."""
    return {name: as_text(value) for name, value in options.items() if value is not None}
