"""Axes: titles with units, powers of ten, minor ticks, and what they show at first."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from isoplan.app.figures.style.palette import GREY
from isoplan.app.figures.style.theme import Part, Theme
from isoplan.app.figures.style.words import literal
from isoplan.engine.arrays import Floats

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
    """Axis title of a role, or of a metric under its own column name."""
    return TITLES.get(role, literal(role))


def log_axis(theme: Theme, text: str, low: float, high: float, **extra: Any) -> Part:
    """A log axis from ``low`` to ``high`` with a power of ten at each decade and minor ticks between.

    Over less than two decades of numbers that are read at a glance these stand in full: 200 and not 2 x 10^2.
    """
    ends = [math.log10(low), math.log10(high)]
    plain = {"tickformat": ",.4~r"} if ends[1] - ends[0] < 2 and _glance(low, high) else {}
    return axis(theme, text) | {
        "type": "log",
        "range": ends,
        "nticks": _ticks(ends[1] - ends[0]),
        "minorloglabels": "complete",  # 2 x 10^7 and not a small 2 beside 10^7
        "minor": {"ticks": "outside", "ticklen": theme.line(3), "showgrid": False, "tickcolor": theme.muted or GREY},
        "tickfont": {"size": theme.small - (0 if plain else 1)},
        **plain,
        **extra,
    }


def _ticks(decades: float) -> int:
    """How many ticks to ask for so that Plotly labels every decade; 2 and 5 too below two; round numbers below one."""
    if decades < 1:
        return 6
    return min(math.ceil(decades), 9) if decades > 2 else int(decades / 0.31)


def value_axis(theme: Theme, y: str, low: float, high: float, **extra: Any) -> Part:
    """The axis of a loss or metric: log where everything on it is positive, else linear."""
    if low > 0:
        plain = {"tickformat": ".4~g", "tickfont": {"size": theme.small}} if 1e-3 <= low and high < 1e4 else {}
        return log_axis(theme, title(y), low, high, **plain | extra)
    plain = {"tickformat": ",.5~g"} if _glance(max(-low, high) / 100, max(-low, high)) else {}
    return axis(theme, title(y)) | {"range": [low, high], **plain, **extra}


def _glance(low: float, high: float) -> bool:
    """Whether numbers from ``low`` to ``high`` are read faster in full than as powers of ten."""
    return low >= 1e-3 and high < 1e5


def extent(*values: Floats, positive: bool = False, room: float = 0.06) -> tuple[float, float]:
    """The ends of all finite ``values`` (those above zero where ``positive``) with some room; (1, 10) without any."""
    known = np.concatenate([np.ravel(v) for v in values]) if values else np.empty(0)
    known = known[np.isfinite(known) & ((known > 0) | (not positive))]
    if not known.size:
        return 1.0, 10.0
    low, high = float(np.min(known)), float(np.max(known))
    if low > 0:
        return padded(low, high, room)
    gap = room * (high - low) or 1.0
    return low - gap, high + gap


def axis(theme: Theme, text: str, **extra: Any) -> Part:
    """A linear axis with ticks outside, a thin grid and no zero line."""
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
        "ticklabeloverflow": "allow",  # else every label is measured against the edge, which takes as long as a trace
        "automargin": True,
        "fixedrange": False,
        **extra,
    }


def padded(low: float, high: float, decades: float = 0.06) -> tuple[float, float]:
    """``low`` and ``high`` moved apart by a share of their distance on a log axis (or a factor 2 if they are one)."""
    span = math.log10(high) - math.log10(low)
    factor = 10 ** (span * decades) if span > 0 else 2.0
    return max(low / factor, sys.float_info.min), min(high * factor, sys.float_info.max)
