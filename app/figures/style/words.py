"""Numbers and names as they stand on a figure."""

from __future__ import annotations

import math
from html import escape

HOVER_FORMATS = {"N": ".3~s", "D": ".3~s", "U": ".3~s", "C": ".3~e", "budget": ".3~e"}

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "lambda": "λ", "omega": "ω"}


def hover_format(role: str) -> str:
    """The d3 format of a role's values when hovered: SI for counts, a power for FLOPs."""
    return HOVER_FORMATS.get(role, ".4~g")


def nice_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers from ``low`` to ``high`` for a log scale: even steps within a decade, else 1-2-5 or decades."""
    if high / low < 20:
        power = math.floor(math.log10(high)) + 1
        units = (float(f"{s}e{e}") for e in range(power, power - 12, -1) for s in (5, 2, 1))
        found = next((_multiples(low, high, u) for u in units if len(_multiples(low, high, u)) >= 4), [])
        return found or [low]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1e2 else (1,)
    found = [x for e in decades for s in steps if low <= (x := float(f"{s}e{e}")) <= high]
    return found[:: math.ceil(len(found) / most)]


def _multiples(low: float, high: float, unit: float) -> list[float]:
    first, last = math.ceil(low / unit - 1e-9), math.floor(high / unit + 1e-9)
    return [float(f"{k * unit:.6g}") for k in range(first, last + 1)] if last - first < 100 else []


def tick_text(value: float, significant: int = 3) -> str:
    """A number on a figure: plain from 0.001 to 10,000, else a power of ten."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{float(f'{value:.{significant}g}'):.12g}"
    mantissa, _, exponent = f"{value:.{significant - 1}e}".partition("e")
    lead = "" if float(mantissa) == 1 else f"{float(mantissa):g}×"
    return f"{lead}10<sup>{int(exponent)}</sup>"


def literal(text: str) -> str:
    """``text`` of a user's as figures show it as it is: no HTML and, where it is part of a template, no placeholder."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def span_text(ends: tuple[float, float], significant: int = 2) -> str:
    """An interval on a figure: ``0.31 to 0.58``, ``above 12`` where it is open."""
    low, high = ends
    if math.isinf(high):
        return f"above {tick_text(low, significant)}" if math.isfinite(low) else "unbounded"
    return (
        f"{tick_text(low, significant)} to {tick_text(high, significant)}"
        if math.isfinite(low)
        else (f"below {tick_text(high, significant)}")
    )


def symbol(name: str) -> str:
    """A parameter's name as it stands on an axis: Greek where it is, an index below the line."""
    first, _, index = name.partition("_")
    return f"<i>{GREEK.get(first, first)}</i>" + (f"<sub>{index}</sub>" if index else "")
