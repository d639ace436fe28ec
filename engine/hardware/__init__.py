"""Devices and machines: compute rate in FLOP/s, training time, cost and energy.

``Machine`` is imported when it is first used: its module needs numpy, and the table of planner fields needs only the
names of the devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoplan.engine.hardware.catalogue import CHECKED, DEVICES, UTILISATION, Device, Precision, device, find_device

if TYPE_CHECKING:
    from isoplan.engine.hardware.machine import Machine

__all__ = ["CHECKED", "DEVICES", "UTILISATION", "Device", "Machine", "Precision", "device", "find_device"]


def __getattr__(name: str) -> Any:
    """Import ``Machine`` from its module on first use; raises AttributeError for any other name."""
    if name != "Machine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from isoplan.engine.hardware.machine import Machine

    return Machine
