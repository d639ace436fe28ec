"""Devices and machines: what runs the FLOPs, for how long, and with how much energy.

Peaks are dense: data sheets that quote tensor cores with 2:4 sparsity are halved here. Each is that of the fastest unit
at its precision (tensor or matrix cores where there are any), with fp32 accumulation for 16 and 8 bits. Memory is in
bytes, 1 GB = 1e9, as the vendors count it. Power is the board's (for the CPU node the two processors'): what a device
draws at most, so energies from it are upper limits for the device and leave out host, network and cooling.
``CHECKED`` dates the numbers. Prices and utilisation are the user's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

Precision = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
CHECKED = "2026-11"
TERA, GIGA = 1e12, 1e9


@dataclass(frozen=True)
class Device:
    """One device: dense peaks in FLOP/s by precision, memory in bytes, power in W, and the sheet that says so.

    ``least`` is the size of the smallest model that reaches 40 % of the peak (docs/time.md).
    ``power`` is None where the vendor publishes none. ``training`` is the precision that people train at on it;
    ``also`` are other names that are understood.
    """

    name: str
    peaks: Mapping[Precision, float]
    memory: float
    power: float | None
    sheet: str
    training: Precision = "bf16"
    also: tuple[str, ...] = ()
    least: float = 1e7

    @property
    def peak(self) -> float:
        """Dense peak in FLOP/s at the precision that people train at."""
        return self.peaks[self.training]

    def peak_at(self, precision: str) -> float:
        """Dense peak in FLOP/s at ``precision``; raises PlannerError where the sheet states none."""
        for name, peak in self.peaks.items():
            if name == precision:
                return peak
        raise PlannerError(f"{self.name} has no peak at precision {precision!r}: use {', '.join(self.peaks)}.")


def _peaks(**tera: float) -> Mapping[Precision, float]:
    """Peaks in TFLOP/s by precision, slowest first."""
    return MappingProxyType({name: tera[name] * TERA for name in PRECISIONS if name in tera})


_HOPPER = _peaks(fp64=67, fp32=67, tf32=494.5, fp16=989, bf16=989, fp8=1979)
_A100 = _peaks(fp64=19.5, fp32=19.5, tf32=156, fp16=312, bf16=312)

DEVICES: tuple[Device, ...] = (
    Device(
        "B200",
        _peaks(fp64=37, fp32=75, tf32=1125, fp16=2250, bf16=2250, fp8=4500),
        180 * GIGA,
        1000,
        "NVIDIA HGX B200 data sheet",
    ),
    Device("H200", _HOPPER, 141 * GIGA, 700, "NVIDIA H200 data sheet, SXM", also=("H200 SXM",)),
    Device("H100", _HOPPER, 80 * GIGA, 700, "NVIDIA H100 data sheet, SXM", also=("H100 SXM",)),
    Device("A100 80GB", _A100, 80 * GIGA, 400, "NVIDIA A100 data sheet, SXM", also=("A100",)),
    Device("A100 40GB", _A100, 40 * GIGA, 400, "NVIDIA A100 data sheet, SXM"),
    Device(
        "L40S",
        _peaks(fp32=91.6, tf32=183, fp16=362, bf16=362, fp8=733),
        48 * GIGA,
        350,
        "NVIDIA L40S data sheet",
    ),
    Device(
        "RTX4090",
        _peaks(fp32=82.6, tf32=82.6, fp16=165.2, bf16=165.2, fp8=330.3),
        24 * GIGA,
        450,
        "NVIDIA Ada GPU architecture white paper",
    ),
    Device("V100", _peaks(fp64=7.8, fp32=15.7, fp16=125), 32 * GIGA, 300, "NVIDIA V100 data sheet, SXM2", "fp16"),
    Device(
        "MI300X",
        _peaks(fp64=163.4, fp32=163.4, tf32=653.7, fp16=1307.4, bf16=1307.4, fp8=2614.9),
        192 * GIGA,
        750,
        "AMD Instinct MI300X data sheet",
    ),
    Device("TPUv5p", _peaks(bf16=459), 95 * GIGA, None, "Google Cloud TPU v5p documentation"),
    Device(
        "CPU node",
        # 192 cores at 2.4 GHz base clock, 16 fp64 or 32 fp32 operations a cycle.
        _peaks(fp64=7.37, fp32=14.75),
        768 * GIGA,
        720,
        "AMD EPYC 9654 data sheet, two sockets with 24 modules of 32 GB",
        "fp32",
        also=("CPU", "EPYC 9654"),
        least=1e6,
    ),
)


def device(name: str) -> Device | None:
    """The device called ``name``, whatever its case, blanks and hyphens; None where the catalogue has none."""
    key = _key(name)
    return next((d for d in DEVICES if key in map(_key, (d.name, *d.also))), None)


def find_device(name: str) -> Device:
    """The device called ``name``; raises PlannerError that lists the catalogue where there is none."""
    match = device(name)
    if match is None:
        raise PlannerError(
            f"The device {name!r} is not in the catalogue: use one of {', '.join(d.name for d in DEVICES)}."
        )
    return match


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


UTILISATION = 0.40
"""Share of the peak that a well-run training job reaches; what is assumed where nobody says otherwise."""
HOUR = 3600.0


@dataclass(frozen=True)
class Machine:
    """``devices`` of one kind at ``utilisation`` (a share) of their peak at ``precision``.

    ``precision`` and ``power`` (W a device) are the device's own where None. ``price`` is money for one device hour,
    None where it is not known. Raises PlannerError that names a field which makes no sense.
    """

    device: Device
    devices: int = 1
    utilisation: float = UTILISATION
    price: float | None = None
    precision: Precision | None = None
    power: float | None = None

    def __post_init__(self) -> None:
        if not (self.devices >= 1 and self.devices == int(self.devices)):
            raise PlannerError(f"{self.devices:g} devices are no machine: give a whole number of {self.device.name}.")
        if not 0 < self.utilisation <= 1:
            raise PlannerError(
                f"The utilisation {self.utilisation:g} is no share of the peak: write 0.4 for 40 %, at most 1."
            )
        if self.price is not None:
            positive(self.price, f"price of one hour of {self.device.name}", "leave it out to count hours alone")
        if self.power is not None:
            positive(self.power, f"power of one {self.device.name} in W", "leave it out to take the data sheet's")
        _ = self.peak

    @property
    def peak(self) -> float:
        """Dense peak of one device in FLOP/s."""
        return self.device.peak_at(self.precision or self.device.training)

    @property
    def watts(self) -> float | None:
        """Power of one device in W; None where neither the vendor nor the user says."""
        return self.power if self.power is not None else self.device.power

    @property
    def least(self) -> float:
        """The size of the smallest model that reaches ``utilisation``: the device's at 40 %, else by its square.

        A step of a small model waits for memory: FLOPs per byte are proportional to the width of a layer, so to the
        square root of N (the roofline of Williams et al. 2009). docs/time.md compares it with measured runs.
        """
        return self.device.least * (self.utilisation / UTILISATION) ** 2

    @property
    def share(self) -> str:
        """``utilisation`` in words: 40 % of the peak of H100."""
        return f"{100 * self.utilisation:.3g} % of the peak of {self.device.name}"

    def device_hours(self, C: ArrayLike) -> Floats:
        """Hours of one device that ``C`` FLOPs take, whatever their number."""
        return np.asarray(C, float) / (self.peak * self.utilisation * HOUR)

    def hours(self, C: ArrayLike) -> Floats:
        """Hours on the clock that ``C`` FLOPs take on all devices."""
        return self.device_hours(C) / self.devices

    def flops(self, hours: ArrayLike) -> Floats:
        """FLOPs that all devices do in so many ``hours`` on the clock: the inverse of ``hours``."""
        return np.asarray(hours, float) * HOUR * self.peak * self.utilisation * self.devices

    def money(self, C: ArrayLike) -> Floats:
        """What ``C`` FLOPs cost, in the currency of ``price``; raises PlannerError without a price."""
        if self.price is None:
            raise PlannerError(f"An hour of {self.device.name} has no price: give one to state money.")
        return self.device_hours(C) * self.price

    def kwh(self, C: ArrayLike, pue: float = 1.0) -> Floats:
        """Energy in kWh of ``C`` FLOPs at full power, times the power usage effectiveness ``pue`` of the site.

        Raises PlannerError where the power is not known and for a ``pue`` below 1.
        """
        if self.watts is None:
            raise PlannerError(f"The vendor states no power for {self.device.name}: give the power of one device in W.")
        if not (math.isfinite(pue) and pue >= 1):
            raise PlannerError(f"The power usage effectiveness {pue:g} is below 1: give 1 for the devices alone.")
        return self.device_hours(C) * self.watts / 1e3 * pue

    @property
    def text(self) -> str:
        """The machine as it stands beside a number, with where its peaks are from and when that was checked.

        ``8 x H100 at 40 % of 989 TFLOP/s bf16 (peaks of the NVIDIA H100 data sheet, SXM, checked 2026-11)``
        """
        precision = self.precision or self.device.training
        share = f"{100 * self.utilisation:.3g} % of {self.peak / 1e12:.4g} TFLOP/s {precision}"
        source = f"peaks of the {self.device.sheet}, checked {CHECKED}"
        return f"{self.devices} x {self.device.name} at {share} ({source})"


def co2(kwh: ArrayLike, grid: float) -> Floats:
    """CO2 in kg of so many ``kwh`` from a grid of ``grid`` g CO2 per kWh (0 where nothing is emitted).

    Raises PlannerError for a negative intensity.
    """
    if not (math.isfinite(grid) and grid >= 0):
        raise PlannerError(
            f"A grid intensity of {grid:g} g/kWh makes no sense: give grams of CO2 per kWh, such as 300."
        )
    return np.asarray(kwh, float) * grid / 1e3


def positive(value: float, what: str, otherwise: str) -> None:
    """Raise PlannerError unless ``value`` is a positive number: "The price ... is 0: give a positive one, or ..."."""
    if not (math.isfinite(value) and value > 0):
        raise PlannerError(f"The {what} is {value:g}: give a positive number, or {otherwise}.")
