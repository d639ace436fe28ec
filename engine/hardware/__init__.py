"""Devices and machines: compute rate, time, money and energy.

``Machine`` is imported on first access, because it needs numpy and the table of fields does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoplan.engine.hardware.catalogue import CHECKED, DEVICES, UTILISATION, Device, Precision, device, find_device

if TYPE_CHECKING:
    from isoplan.engine.hardware.machine import Machine

__all__ = ["CHECKED", "DEVICES", "UTILISATION", "Device", "Machine", "Precision", "device", "find_device"]


def __getattr__(name: str) -> Any:
    """Import ``Machine`` from its module."""
    if name != "Machine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from isoplan.engine.hardware.machine import Machine

    return Machine
