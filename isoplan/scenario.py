"""Limits and prices as options, each a number or a text with its unit. The table of fields defines how they are
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from isoplan.options import Amount, as_text


class MachineOptions(TypedDict, total=False):
    """Training machine and its price: ``hour_price`` is money per device hour, ``utilisation`` a share."""

    device: str
    hour_price: Amount
    utilisation: Amount
    precision: str
    currency: str


class SampleOptions(TypedDict, total=False):
    """Price of a simulated sample: money, or CPU seconds and money per CPU hour."""

    sample_price: Amount
    sample_seconds: Amount
    cpu_price: Amount


class RepeatPrices(MachineOptions, SampleOptions, total=False):
    """Prices of simulating and repeating: ``flop_price`` is money per FLOP, instead of a device."""

    flop_price: Amount


def texts_of(options: Mapping[str, object]) -> dict[str, str]:
    """Return the text of each option, with every digit of a number; options that are None are left out."""
    return {name: as_text(value) for name, value in options.items() if value is not None}
