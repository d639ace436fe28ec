"""Axes of a figure in SVG: conversion of values to pixels, grid, ticks, labels and titles."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoplan.app.figures.style.axes import nice_ticks, tick_text
from isoplan.app.reports.svg_text import LEADING, draw_text, width_of
from isoplan.engine.arrays import Floats
from isoplan.engine.quantities import count

Part = Mapping[str, Any]
DASHES = {"dot": (1.5, 2.5), "dash": (6.0, 4.0), "dashdot": (6.0, 3.0, 1.5, 3.0), "longdash": (10.0, 5.0)}
"""Lengths of the dashes and gaps of each line style, in units of the line width."""


@dataclass(frozen=True)
class Scale:
    """An axis of a figure: its Plotly description, the pixels of its ends, and its range (log10 on a log axis)."""

    part: Part
    start: float
    end: float
    low: float
    high: float

    @property
    def log(self) -> bool:
        return self.part.get("type") == "log"

    def at(self, values: Any) -> Floats:
        """Return the pixel positions of ``values``; on a log axis, zero and negative values give NaN or infinity."""
        given = np.asarray(values, float)
        with np.errstate(invalid="ignore", divide="ignore"):
            known = np.log10(given) if self.log else given
        return self.start + (known - self.low) / (self.high - self.low) * (self.end - self.start)

    def along(self, share: float) -> float:
        """Return the pixel position at the fraction ``share`` of the axis, counted from its start."""
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the value and the text of each tick."""
        if self.part.get("tickvals") is not None:
            values = list(self.part["tickvals"])
            named = list(self.part.get("ticktext") or map(tick_text, values))
        else:
            low, high = sorted((10**self.low, 10**self.high) if self.log else (self.low, self.high))
            values = nice_ticks(low, high, int(self.part.get("nticks") or 7)) if self.log else _even(low, high)
            named = [self._name(x) for x in values]
        pixels = self.at(values)
        ends = sorted((self.start, self.end))
        return [
            (float(x), str(name)) for x, name in zip(pixels, named, strict=True) if ends[0] - 0.5 <= x <= ends[1] + 0.5
        ]

    def _name(self, x: float) -> str:
        if "%" in str(self.part.get("tickformat", "")):
            return f"{100 * x:+.0f} %"
        if self.part.get("exponentformat") == "B":
            return count(x) if x else "0"
        return f"{x:,.6g}" if self.log and "r" in str(self.part.get("tickformat", "")) else tick_text(x, 4)


def _even(low: float, high: float) -> list[float]:
    """Return the multiples of a round step (1, 2 or 5 times a power of ten) from ``low`` to ``high``."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def read_scales(layout: Part, traces: Sequence[Part], width: float, height: float) -> dict[str, Scale]:
    """Return the scales by axis name, such as x and y2. Margins are enlarged for long labels and a colour bar."""
    margin, size = dict(layout["margin"]), float(layout["font"]["size"])
    axes = {key.replace("axis", ""): part for key, part in layout.items() if key[1:5] == "axis"}
    for name, part in axes.items():
        if name.startswith("y") and part.get("showticklabels") is not False and not (part.get("domain") or (0,))[0]:
            names = [shown for _, shown in _scale(part, name, traces, 0, 1).ticks()]
            wide = max((width_of(shown, size) for shown in names), default=0.0)
            margin["l"] = max(margin["l"], wide + (2.4 * size if _title(part) else size) + 8)
    margin["b"] = max(margin["b"], 3.5 * size)
    if any((one.get("marker") or {}).get("showscale") for one in traces):
        margin["r"] = max(margin["r"], 5.5 * size)
    found = {}
    for name, part in axes.items():
        low, high = part.get("domain") or (0.0, 1.0)
        if name.startswith("x"):
            across = width - margin["l"] - margin["r"]
            ends = margin["l"] + low * across, margin["l"] + high * across
        else:
            across = height - margin["t"] - margin["b"]
            ends = height - margin["b"] - low * across, height - margin["b"] - high * across
        found[name] = _scale(part, name, traces, *ends)
    return found


def _scale(part: Part, name: str, traces: Sequence[Part], start: float, end: float) -> Scale:
    if part.get("range") is not None:
        low, high = (float(x) for x in part["range"])
    else:
        letter = name[0]
        own = [read_values(one.get(letter)) for one in traces if one.get(f"{letter}axis", letter) == name]
        known = np.concatenate([*own, np.empty(0)])
        known = known[np.isfinite(known) & ((known > 0) | (part.get("type") != "log"))]
        low, high = (float(known.min()), float(known.max())) if known.size else (1.0, 10.0)
        low, high = (math.log10(low), math.log10(high)) if part.get("type") == "log" else (low, high)
        room = 0.06 * (high - low) or 0.5
        low, high = low - room, high + room
    return Scale(part, start, end, low, high if high != low else low + 1)


def read_values(given: Any) -> Floats:
    """Return the numbers of a Plotly array, which is a list of numbers or a base64 text."""
    if isinstance(given, Mapping) and "bdata" in given:
        return np.frombuffer(base64.b64decode(given["bdata"]), np.dtype(given["dtype"])).astype(float)
    return np.asarray([] if given is None else given, float)


def _title(part: Part) -> str:
    title = part.get("title") or ""
    return str(title.get("text") or "") if isinstance(title, Mapping) else str(title)


def draw_axis(scales: Mapping[str, Scale], name: str, size: float, ink: str) -> str:
    """Return the grid, ticks, labels, frame and title of the axis ``name`` as SVG.

    The axis is drawn at the start of the perpendicular axis.
    """
    scale, partner = scales[name], _partner(scales, name)
    part, upright = scale.part, name.startswith("y")
    small = float((part.get("tickfont") or {}).get("size") or size)
    base, far = (partner.start, partner.end) if partner is not None else (0.0, 0.0)
    out, tick = [], float(part.get("ticklen") or 4)
    grid, frame = part.get("gridcolor") or "#e6e6e6", part.get("linecolor") or ink
    labelled = part.get("showticklabels") is not False
    for at, shown in scale.ticks():
        line = (base, at, far, at) if upright else (at, base, at, far)
        if part.get("showgrid") is not False:
            out.append(draw_line(*line, grid, float(part.get("gridwidth") or 1)))
        if part.get("ticks"):
            end = (base, at, base - tick, at) if upright else (at, base, at, base + tick)
            out.append(draw_line(*end, part.get("tickcolor") or ink, float(part.get("tickwidth") or 1)))
        if labelled and shown:
            place = (base - tick - 3, at, "right", "middle") if upright else (at, base + tick + 1, "center", "top")
            out.append(draw_text(shown, place[0], place[1], small, ink, place[2], place[3]))
    if part.get("showline"):
        for edge in (base, far) if part.get("mirror") else (base,):
            ends = (edge, scale.start, edge, scale.end) if upright else (scale.start, edge, scale.end, edge)
            out.append(draw_line(*ends, frame, float(part.get("linewidth") or 1)))
    if _title(part):
        middle = (scale.start + scale.end) / 2
        if upright:
            wide = max((width_of(shown, small) for _, shown in scale.ticks()), default=0.0) if labelled else 0.0
            out.append(draw_text(_title(part), base - tick - wide - 8, middle, size, ink, "center", "bottom", -90))
        else:
            out.append(draw_text(_title(part), middle, base + tick + LEADING * small + 4, size, ink, "center", "top"))
    return "".join(out)


def _partner(scales: Mapping[str, Scale], name: str) -> Scale | None:
    """Return the perpendicular axis of the axis ``name``; None if there is none.

    The labels of the axis ``name`` are drawn at the start of the perpendicular axis.
    """
    anchor = str(scales[name].part.get("anchor") or ("x" if name[0] == "y" else "y") + name[1:])
    return scales.get(anchor)


def draw_line(x0: float, y0: float, x1: float, y1: float, colour: str, width: float, dash: str = "") -> str:
    return (
        f'<line x1="{x0:.2f}" y1="{y0:.2f}" x2="{x1:.2f}" y2="{y1:.2f}" stroke="{colour}" '
        f'stroke-width="{width:.2f}"{dashes(dash, width)}/>'
    )


def dashes(dash: str, width: float) -> str:
    if not dash or dash == "solid":
        return ""
    named = [w * max(width, 1) for w in DASHES.get(dash, ())]
    lengths = named or [float(x.removesuffix("px")) for x in dash.replace(" ", ",").split(",") if x]
    return f' stroke-dasharray="{" ".join(f"{x:.2f}" for x in lengths)}"'
