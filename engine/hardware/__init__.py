"""Devices and machines: what runs the FLOPs, for how long, with how much energy."""

from isoplan.engine.hardware.catalogue import CHECKED, DEVICES, Device, Precision, device, find_device
from isoplan.engine.hardware.machine import UTILISATION, Machine

__all__ = ["CHECKED", "DEVICES", "UTILISATION", "Device", "Machine", "Precision", "device", "find_device"]
