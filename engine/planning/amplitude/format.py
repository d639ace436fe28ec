"""Sizes, shares and targets of amplitude plans as text."""

from __future__ import annotations

from isoplan.engine.planning.amplitude.target import Precision
from isoplan.engine.quantities import count, power10


def number(x: float, unit: str) -> str:
    """Return a size as text, without its unit: 340 M points, 3.6 × 10¹⁷ FLOPs."""
    return power10(x, 2) if unit == "FLOPs" else count(x)


def percent(share: float) -> str:
    """Return a share with two digits: 0.1 %, 500 %."""
    return f"{float(f'{100 * share:.2g}'):,g} %"


def relative_error(target: Precision) -> str:
    """Return the relative error of a target as text: 0.15 %, or "-" if it is not known."""
    return "-" if target.relative is None else percent(target.relative)


def asked(target: Precision) -> str:
    """Return a target as the start of a sentence: "An MSE of 1e-06 (RMS relative error 0.15 %)"."""
    if target.kind != "rms":
        return f"A {target.name} of {relative_error(target)}"
    relative = "" if target.relative is None else f" ({target.name} {relative_error(target)})"
    return f"An MSE of {target.mse:.3g}{relative}"


def lower_first(text: str) -> str:
    """Return ``text`` for use within a sentence: "An MSE" becomes "an MSE"."""
    return text[0].lower() + text[1:]
