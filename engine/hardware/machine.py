"""A machine: several devices of one kind, with their utilisation and the price of a device hour."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware.catalogue import CHECKED, UTILISATION, Device, Precision

HOUR = 3600.0


@dataclass(frozen=True)
class Machine:
    """``devices`` devices of one kind; each runs at the fraction ``utilisation`` of its peak at ``precision``.

    If ``precision`` or ``power`` (W per device) is None, the value of the device is used. ``price`` is the price of one
    device hour; None if unknown. ``assumed`` is True if the user gave no utilisation. Raises PlannerError that names
    the invalid field.
    """

    device: Device
    devices: int = 1
    utilisation: float = UTILISATION
    price: float | None = None
    precision: Precision | None = None
    power: float | None = None
    assumed: bool = False

    def __post_init__(self) -> None:
        if not (self.devices >= 1 and self.devices == int(self.devices)):
            raise PlannerError(f"{self.devices:g} devices are not possible: give a whole number of {self.device.name}.")
        if not 0 < self.utilisation <= 1:
            raise PlannerError(
                f"The utilisation {self.utilisation:g} is not a fraction of the peak: write 0.4 for 40 %. "
                "The largest utilisation is 1."
            )
        if self.price is not None:
            positive(self.price, f"price of one hour of {self.device.name}", "leave it out to count only hours")
        if self.power is not None:
            positive(
                self.power, f"power of one {self.device.name} in W", "leave it out to use the value of the data sheet"
            )
        _ = self.peak

    @property
    def peak(self) -> float:
        """Dense peak of one device in FLOP/s."""
        return self.device.peak_at(self.precision or self.device.training)

    @property
    def watts(self) -> float | None:
        """Power of one device in W; None if neither the vendor nor the user states it."""
        return self.power if self.power is not None else self.device.power

    @property
    def least(self) -> float:
        """Size in parameters of the smallest model that achieves ``utilisation``.

        The size is the ``least`` of the device, multiplied by ``(utilisation / 0.4)**2``. The reason for the factor is
        that memory bandwidth limits a training step of a small model. The FLOPs per byte of such a step are
        proportional to the width of a layer, and the width is proportional to the square root of N (roofline model,
        Williams et al. 2009). docs/time.md compares this estimate with measured runs.
        """
        return self.device.least * (self.utilisation / UTILISATION) ** 2

    @property
    def share(self) -> str:
        """``utilisation`` as text, such as "40 % of the peak of H100"."""
        return f"{100 * self.utilisation:.3g} % of the peak of {self.device.name}"

    def device_hours(self, C: ArrayLike) -> Floats:
        """Return the device hours for ``C`` FLOPs; the result does not depend on the number of devices."""
        return np.asarray(C, float) / (self.peak * self.utilisation * HOUR)

    def hours(self, C: ArrayLike) -> Floats:
        """Return the wall-clock hours for ``C`` FLOPs if all devices compute in parallel."""
        return self.device_hours(C) / self.devices

    def flops(self, hours: ArrayLike) -> Floats:
        """Return the FLOPs of all devices together in ``hours`` of wall-clock time; the inverse of ``hours()``."""
        return np.asarray(hours, float) * HOUR * self.peak * self.utilisation * self.devices

    def money(self, C: ArrayLike) -> Floats:
        """Return the cost of ``C`` FLOPs in the currency of ``price``; raises PlannerError if ``price`` is None."""
        if self.price is None:
            raise PlannerError(f"An hour of {self.device.name} has no price: give the price to compute costs.")
        return self.device_hours(C) * self.price

    def kwh(self, C: ArrayLike, pue: float = 1.0) -> Floats:
        """Return the energy in kWh for ``C`` FLOPs at full power of the devices.

        The energy of the devices is multiplied by ``pue``, the power usage effectiveness of the site. Raises
        PlannerError if the power of the device is unknown or ``pue`` is below 1.
        """
        if self.watts is None:
            raise PlannerError(f"The vendor states no power for {self.device.name}: give the power of one device in W.")
        if not (math.isfinite(pue) and pue >= 1):
            raise PlannerError(f"The power usage effectiveness {pue:g} is below 1: give 1 to count only the devices.")
        return self.device_hours(C) * self.watts / 1e3 * pue

    @property
    def text(self) -> str:
        """The machine as text: devices, utilisation, peak, and the source and date of the peak. For example:

        ``8 x H100 at 40 % of 989 TFLOP/s bf16 (peaks of the NVIDIA H100 data sheet, SXM, checked 2026-11)``
        """
        precision = self.precision or self.device.training
        share = f"{100 * self.utilisation:.3g} % of {self.peak / 1e12:.4g} TFLOP/s {precision}"
        source = f"peaks of the {self.device.sheet}, checked {CHECKED}"
        return f"{self.devices} x {self.device.name} at {share} ({source})"


def co2(kwh: ArrayLike, grid: float) -> Floats:
    """Return the CO2 emissions in kg for ``kwh`` kWh of electricity from a grid that emits ``grid`` g of CO2 per kWh.

    ``grid`` is 0 for a grid without emissions. Raises PlannerError if ``grid`` is negative.
    """
    if not (math.isfinite(grid) and grid >= 0):
        raise PlannerError(
            f"A grid intensity of {grid:g} g/kWh is not possible: give grams of CO2 per kWh, such as 300."
        )
    return np.asarray(kwh, float) * grid / 1e3


def positive(value: float, what: str, otherwise: str) -> None:
    """Raise PlannerError unless ``value`` is positive: "The price ... is 0: give a positive number, or ...".

    ``what`` names the value in the error. ``otherwise`` tells the user what to do without a value.
    """
    if not (math.isfinite(value) and value > 0):
        raise PlannerError(f"The {what} is {value:g}: give a positive number, or {otherwise}.")
