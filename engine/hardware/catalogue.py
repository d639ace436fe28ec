"""Peak rates, memory and power of common devices, to convert FLOPs to hours and "200 H200 hours" to FLOPs.

Peaks are for dense matrices: if a data sheet states the rate with 2:4 sparsity, the value here is half of it. The peak
at a precision is the rate of the fastest unit of the device for this precision (tensor or matrix cores if the device
has them). Products of 16 and 8 bits are accumulated in fp32. Memory is in bytes, with 1 GB = 1e9 bytes as in the data
sheets. Power is the maximum power of the board, or of both processors for the CPU node. Energy that is computed from
this power is therefore an upper limit for the devices; host, network and cooling are not included. ``CHECKED`` is the
month in which the numbers were compared with the data sheets. Prices and utilisation come from the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from isoplan.engine.errors import PlannerError

Precision = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
CHECKED = "2026-11"
UTILISATION = 0.40
"""Default utilisation: the fraction of the peak FLOP/s that a well-run training job achieves."""
TERA, GIGA = 1e12, 1e9


@dataclass(frozen=True)
class Device:
    """A device: dense peaks in FLOP/s by precision, memory in bytes, power in W, and the data sheet with these numbers.

    ``least`` is the size, in parameters, of the smallest model that achieves 40 % of the peak (docs/time.md). ``power``
    is None if the vendor publishes no value. ``training`` is the usual precision for training on this device. ``also``
    contains other accepted names of the device.
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
        """Dense peak in FLOP/s at the usual training precision."""
        return self.peaks[self.training]

    def peak_at(self, precision: str) -> float:
        """Return the dense peak in FLOP/s at ``precision``; raises PlannerError if the data sheet states none."""
        for name, peak in self.peaks.items():
            if name == precision:
                return peak
        raise PlannerError(f"{self.name} has no peak at precision {precision!r}: use {', '.join(self.peaks)}.")


def _peaks(**tera: float) -> Mapping[Precision, float]:
    """Return the peaks in FLOP/s by precision, in the order of PRECISIONS; the arguments are in TFLOP/s."""
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
        # 192 cores at 2.4 GHz (base clock), each with 16 fp64 or 32 fp32 operations per cycle.
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
    """Return the device called ``name``, or None if the catalogue does not contain it.

    Upper and lower case, blanks and hyphens in ``name`` make no difference.
    """
    key = _key(name)
    return next((d for d in DEVICES if key in map(_key, (d.name, *d.also))), None)


def find_device(name: str) -> Device:
    """Return the device called ``name``; raises PlannerError, which lists all devices, if there is none."""
    found = device(name)
    if found is None:
        raise PlannerError(
            f"The device {name!r} is not in the catalogue: use one of {', '.join(d.name for d in DEVICES)}."
        )
    return found


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
