"""Axes of figures: ranges, ticks, titles, and numbers and symbols as text."""

from __future__ import annotations

import math
import sys
from html import escape
from typing import Any

import numpy as np

from isoplan.app.figures.style.palette import GREY
from isoplan.app.figures.style.theme import Part, Theme
from isoplan.engine.arrays import Floats

HOVER_FORMATS = {"N": ".3~s", "D": ".3~s", "U": ".3~s", "C": ".3~e", "budget": ".3~e"}

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "lambda": "λ", "omega": "ω"}


def hover_format(role: str) -> str:
    """Return the d3 format for hover values of ``role``: SI prefixes for counts, powers of ten for FLOPs."""
    return HOVER_FORMATS.get(role, ".4~g")


def nice_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers from ``low`` to ``high`` as ticks of a log scale.

    The numbers depend on the ratio ``high / low``. For a ratio below 20, they have equal steps. For a ratio of at least
    20 and below 100, they are 1, 2 and 5 times powers of ten. For a larger ratio, they are powers of ten. If the ratio
    is at least 20, at most ``most`` numbers are returned.
    """
    if high / low < 20:
        power = math.floor(math.log10(high)) + 1
        units = (float(f"{s}e{e}") for e in range(power, power - 12, -1) for s in (5, 2, 1))
        ticks = next((_multiples(low, high, u) for u in units if len(_multiples(low, high, u)) >= 4), [])
        return ticks or [low]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1e2 else (1,)
    ticks = [x for e in decades for s in steps if low <= (x := float(f"{s}e{e}")) <= high]
    return ticks[:: math.ceil(len(ticks) / most)]


def _multiples(low: float, high: float, unit: float) -> list[float]:
    first, last = math.ceil(low / unit - 1e-9), math.floor(high / unit + 1e-9)
    return [float(f"{k * unit:.6g}") for k in range(first, last + 1)] if last - first < 100 else []


def tick_text(value: float, significant: int = 3) -> str:
    """Return a number as HTML: plain between 0.001 and 10,000, otherwise as a power of ten."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{float(f'{value:.{significant}g}'):.12g}"
    mantissa, _, exponent = f"{value:.{significant - 1}e}".partition("e")
    lead = "" if float(mantissa) == 1 else f"{float(mantissa):g}×"
    return f"{lead}10<sup>{int(exponent)}</sup>"


def literal(text: str) -> str:
    """Return a user's ``text`` for a figure. HTML and the placeholders of Plotly templates are escaped."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def span_text(ends: tuple[float, float], significant: int = 2) -> str:
    """Return an interval as HTML, such as ``0.31 to 0.58``, or ``above 12`` if it has no upper end."""
    low, high = ends
    if math.isinf(high):
        return f"above {tick_text(low, significant)}" if math.isfinite(low) else "unbounded"
    return (
        f"{tick_text(low, significant)} to {tick_text(high, significant)}"
        if math.isfinite(low)
        else (f"below {tick_text(high, significant)}")
    )


def symbol(name: str) -> str:
    """Return the symbol of a parameter as HTML: ``alpha`` becomes α, and the part after ``_`` becomes a subscript."""
    first, _, index = name.partition("_")
    return f"<i>{GREEK.get(first, first)}</i>" + (f"<sub>{index}</sub>" if index else "")


TITLES = {
    "N": "Model size <i>N</i> [parameters]",
    "D": "Training samples <i>D</i> [samples]",
    "U": "Unique samples <i>U</i> [samples]",
    "C": "Training compute <i>C</i> [FLOPs]",
    "loss": "Loss <i>L</i>",
    "epochs": "Epochs",
    "budget": "Budget [FLOPs]",
}


def title(role: str) -> str:
    """Return the title of the axis of a role. A metric has the name of its column as title."""
    return TITLES.get(role, literal(role))


def log_axis(theme: Theme, text: str, low: float, high: float, **extra: Any) -> Part:
    """Return a log axis from ``low`` to ``high``, with a label at each power of ten and minor ticks between them.

    If the axis has less than two decades and its numbers are of moderate size, labels are written in full: 200 instead
    of 2 x 10^2.
    """
    ends = [math.log10(low), math.log10(high)]
    plain = {"tickformat": ",.4~r"} if ends[1] - ends[0] < 2 and _glance(low, high) else {}
    return axis(theme, text) | {
        "type": "log",
        "range": ends,
        "nticks": _ticks(ends[1] - ends[0]),
        "minorloglabels": "complete",  # label 2 x 10^7 instead of a small 2 next to 10^7
        "minor": {"ticks": "outside", "ticklen": theme.line(3), "showgrid": False, "tickcolor": theme.muted or GREY},
        "tickfont": {"size": theme.small - (0 if plain else 1)},
        **plain,
        **extra,
    }


def _ticks(decades: float) -> int:
    """Return the number of ticks (``nticks``) with which Plotly labels every decade of a log axis.

    An axis of one to two decades also gets labels at 2 and 5. A shorter axis gets labels at round numbers.
    """
    if decades < 1:
        return 6
    return min(math.ceil(decades), 9) if decades > 2 else int(decades / 0.31)


def value_axis(theme: Theme, y: str, low: float, high: float, **extra: Any) -> Part:
    """Return the axis of a loss or metric ``y``: logarithmic if ``low`` is positive, otherwise linear."""
    if low > 0:
        plain = {"tickformat": ".4~g", "tickfont": {"size": theme.small}} if 1e-3 <= low and high < 1e4 else {}
        return log_axis(theme, title(y), low, high, **plain | extra)
    plain = {"tickformat": ",.5~g"} if _glance(max(-low, high) / 100, max(-low, high)) else {}
    return axis(theme, title(y)) | {"range": [low, high], **plain, **extra}


def _glance(low: float, high: float) -> bool:
    """Return whether numbers from ``low`` to ``high`` are easier to read in full than as powers of ten."""
    return low >= 1e-3 and high < 1e5


def extent(*values: Floats, positive: bool = False, room: float = 0.06) -> tuple[float, float]:
    """Return the range of all finite ``values`` with a margin; (1, 10) if there are none.

    If ``positive``, only positive values count. ``room`` is the margin as a fraction of the range.
    """
    finite = np.concatenate([np.ravel(v) for v in values]) if values else np.empty(0)
    finite = finite[np.isfinite(finite) & ((finite > 0) | (not positive))]
    if not finite.size:
        return 1.0, 10.0
    low, high = float(np.min(finite)), float(np.max(finite))
    if low > 0:
        return padded(low, high, room)
    gap = room * (high - low) or 1.0
    return low - gap, high + gap


def axis(theme: Theme, text: str, **extra: Any) -> Part:
    """Return a linear axis with the title ``text``, outside ticks, a thin grid and no zero line."""
    return {
        "title": {"text": text, "standoff": 10, "font": {"size": theme.size}},
        "tickfont": {"size": theme.small},
        "ticks": "outside",
        "ticklen": theme.line(6),
        "tickwidth": theme.line(1),
        "tickcolor": theme.muted or GREY,
        "exponentformat": "power",
        "showexponent": "all",
        "showgrid": True,
        "gridwidth": theme.line(1),
        "gridcolor": theme.grid,
        "zeroline": False,
        "showline": theme.frame,
        "mirror": theme.frame,
        "linecolor": theme.ink,
        "linewidth": theme.line(1),
        "tickangle": 0,
        "ticklabeloverflow": "allow",  # otherwise Plotly measures every label, which is slow
        "automargin": True,
        "fixedrange": False,
        **extra,
    }


def padded(low: float, high: float, decades: float = 0.06) -> tuple[float, float]:
    """Return the range ``low`` to ``high`` of a log axis with a margin at each end.

    A margin is ``decades`` times the length of the axis in decades. If ``low`` equals ``high``, a margin is a factor of
    2.
    """
    span = math.log10(high) - math.log10(low)
    factor = 10 ** (span * decades) if span > 0 else 2.0
    return max(low / factor, sys.float_info.min), min(high * factor, sys.float_info.max)
