"""Conversions of a column: text read as numbers, and numbers converted to the unit that a law needs. Pure.

A conversion is a short text that a mapping stores: ``suffix``, ``comma``, ``point`` or ``thousands`` for text, a unit
for numbers (``millions``, ``pf-days``, ``log10``, ``perplexity``, ``H100@40%``, ``1e6``), or both
(``thousands+millions``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware.catalogue import UTILISATION, Device, device
from isoplan.engine.hardware.machine import Machine

TextKind = Literal["suffix", "comma", "point", "thousands"]
TEXT_KINDS: tuple[TextKind, ...] = get_args(TextKind)
AS_IS = "as-is"
"""Conversion for numbers that the user agreed to read unchanged, although the name states a unit."""
GPU_HOURS = "gpu-hours"
"""Proposal for GPU-hours. The user chooses the device."""
LOGARITHM = "log"
"""Proposal for a logarithm without a stated base. The user chooses the base."""
OPEN: dict[str, tuple[str, tuple[str, ...]]] = {
    GPU_HOURS: ("GPU-hours of a device", ("H100",)),
    LOGARITHM: ("a logarithm without a stated base", ("log10", "ln")),
}
"""Proposals that the user completes: proposal -> (description of the column, example conversions)."""
PF_DAY = 1e15 * 24 * 3600
FACTORS: dict[str, float] = {
    "millions": 1e6,
    "billions": 1e9,
    "trillions": 1e12,
    "gigaflop": 1e9,
    "teraflop": 1e12,
    "petaflop": 1e15,
    "exaflop": 1e18,
    "zettaflop": 1e21,
    "yottaflop": 1e24,
    "pf-days": PF_DAY,
}
FUNCTIONS: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "log10": (lambda x: np.power(10.0, x), "as the decimal logarithm, 10^x"),
    "log2": (np.exp2, "as the binary logarithm, 2^x"),
    "ln": (np.exp, "as the natural logarithm, e^x"),
    "perplexity": (np.log, "as perplexity, whose natural logarithm is the loss"),
    "percent": (lambda x: x / 100, "as percent, divided by 100"),
    AS_IS: (lambda x: x, "as it stands"),
}
"""Nonlinear units: unit -> (function that converts the numbers, description in a sentence)."""


@dataclass(frozen=True)
class Reading:
    """A conversion: how text is read (None for a numeric column), the unit, and the number after "@" (None without)."""

    text: TextKind | None
    unit: str
    number: float | None = None

    @property
    def about(self) -> str:
        """Description of the unit in a sentence; empty without a unit."""
        if not self.unit:
            return ""
        if self.unit in FUNCTIONS:
            return FUNCTIONS[self.unit][1]
        if self.unit == "bits":
            what = f"nats per token ({self.number:g} bytes per token)" if self.number else "nats for the same unit"
            return f"as bits, times ln 2: {what}"
        if (found := device(self.unit)) is not None:
            return f"as hours of {found.name} at {100 * (self.number or UTILISATION):g} % of its peak"
        name = {"pf-days": "PF-days (8.64e19 FLOPs)"}.get(self.unit, self.unit)
        return f"in {name}" if self.unit in FACTORS else f"in units of {self.unit}"

    def __call__(self, x: Floats) -> Floats:
        """Return the numbers of the column in the unit of its role, (n,); NaN if the conversion has no finite value."""
        with np.errstate(all="ignore"):
            converted = self._converted(x)
        return np.where(np.isinf(x), x, np.where(np.isfinite(converted), converted, np.nan))

    def one(self, x: float) -> float:
        """Convert a single number."""
        return float(self(np.array([x]))[0])

    def _converted(self, x: Floats) -> Floats:
        if not self.unit:
            return x
        if self.unit in FUNCTIONS:
            return FUNCTIONS[self.unit][0](x)
        if self.unit == "bits":
            return x * math.log(2) * (self.number or 1.0)
        if (found := device(self.unit)) is not None:
            return _machine(found, self.number).flops(x)
        return x * (FACTORS.get(self.unit) or float(self.unit))


def read_conversion(text: str, column: str) -> Reading:
    """Parse the conversion ``text`` for ``column``; raises PlannerError that lists the valid conversions."""
    kind, plus, unit = text.partition("+")
    if kind in TEXT_KINDS:
        inner = read_conversion(unit, column) if plus else Reading(None, "")
        return Reading(next(k for k in TEXT_KINDS if k == kind), inner.unit, inner.number)
    unit, at, number = text.partition("@")
    if unit in (*FACTORS, *FUNCTIONS) and not at:
        return Reading(None, unit)
    if unit == GPU_HOURS:
        raise PlannerError(
            f"Conversion of {column!r}: GPU-hours need a device. Write {column}:H100 or {column}:A100@35%."
        )
    if unit == LOGARITHM:
        raise PlannerError(
            f"Conversion of {column!r}: the base of the logarithm is missing. Write {column}:log10 or {column}:ln."
        )
    if unit == "bits":
        return Reading(None, unit, _number(number, column) if at else None)
    if (found := device(unit)) is not None:
        share = _number(number, column) if at else None
        _machine(found, share)
        return Reading(None, found.name, share)
    if not at and _is_factor(unit):
        return Reading(None, unit)
    known = ", ".join((*TEXT_KINDS, *FACTORS, *FUNCTIONS, "bits", "a device such as H100"))
    raise PlannerError(f"Conversion of {column!r}: {text!r} is unknown. Use a factor such as 1e6, or one of {known}.")


def text_kind(text: str | None) -> TextKind | None:
    """Return how a stored conversion reads text; None if it reads a numeric column."""
    return next((kind for kind in TEXT_KINDS if text is not None and text.partition("+")[0] == kind), None)


def _machine(found: Device, share: float | None) -> Machine:
    return Machine(found, utilisation=UTILISATION if share is None else share)


def _is_factor(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


def _number(text: str, column: str) -> float:
    bare, scale = (text[:-1], 0.01) if text.endswith("%") else (text, 1.0)
    if not _is_factor(bare):
        raise PlannerError(f"Conversion of {column!r}: {text!r} after @ is not a positive number. Write a number.")
    return float(bare) * scale
