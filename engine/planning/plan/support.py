"""Range of plans that the runs of a law support, and the cells (training runs) to add for a plan beyond this range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.laws.law import Point
from isoplan.engine.planning.answer.format import decades
from isoplan.engine.planning.answer.quantity import STATED, Quantity, beyond, reach
from isoplan.engine.planning.optimum.constrained import ROUNDING
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.quantities import count, power10

UNKNOWN_C: Interval = (1e15, 1e21)
"""Range of budgets in FLOPs if the compute of the runs is not known."""
ANSWERED = STATED
"""Largest distance above the runs, in decades, at which a plan is still an answer."""
BELOW = 1.0
"""Largest distance below the runs, in decades, at which a plan is still an answer.

Smaller models may not train at all, so that their loss is that of an untrained model.
"""
MARKED = 1.0
"""The sentence of an answer states the distance from the runs if this distance is above this number of decades."""
FARTHER = 1.0
"""Cells (training runs) are suggested only if they lie at most this many decades beyond the supported range."""
SIZES = ("N", "D", "C")
REACH, STEP = 40, 0.1
"""Width and step of the search for supported budgets, in decades of compute; the width is on each side of the runs."""


@dataclass(frozen=True)
class Support:
    """Range of plans that the runs support, from ``low`` to ``high`` along ``axis`` (C, or the only axis of the law).

    ``low`` and ``high`` are None if the runs support no plan of the law. ``cells`` has the N, D and C of training runs
    to add. After these runs are added, the requested plan lies at most ``ANSWERED`` decades beyond the runs. ``cells``
    is empty if these runs themselves would lie more than ``FARTHER`` decades beyond the range.
    """

    axis: str
    low: float | None
    high: float | None
    cells: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the support as a JSON object."""
        return {"axis": self.axis, "low": self.low, "high": self.high, "cells": dict(self.cells)}


def read_support(raw: Mapping[str, Any]) -> Support:
    """Read the support from a JSON object."""
    low, high = (None if raw[end] is None else float(raw[end]) for end in ("low", "high"))
    return Support(str(raw["axis"]), low, high, {str(name): float(x) for name, x in raw["cells"].items()})


def farthest(quantities: Mapping[str, Quantity]) -> tuple[str, float]:
    """Return the name of the quantity farthest beyond the runs, and its distance in decades.

    The result is ("", 0.0) if no quantity lies beyond the runs.
    """
    name = max(quantities, key=lambda one: quantities[one].beyond, default="")
    far = quantities[name].beyond if name else 0.0
    return (name, far) if far > 0 else ("", 0.0)


def extrapolation(placed: Mapping[str, Quantity], y: str = "loss") -> str:
    """Return the clause for the distance of an answer from the runs: ", extrapolated 1.5 decades in C".

    ``placed`` are the quantities of the answer, ``y`` is the name of its loss. The clause is empty up to a distance of
    one decade.
    """
    name, far = farthest(placed)
    return f", extrapolated {decades(far)} in {y if name == 'loss' else name}" if far > MARKED else ""


def in_place(support: Support, units: Mapping[str, str], *away: str) -> str:
    """Return the text that is shown instead of an answer.

    The text states the range of supported plans, the sentences ``away`` (such as the distance of the plan from the
    runs), and the cells (training runs) to train first. ``units`` are the units of N, D and C.
    """
    parts = [_range_text(support, units), *away, _cells_text(support, units)]
    return " ".join(part for part in parts if part)


def _range_text(support: Support, units: Mapping[str, str]) -> str:
    if support.low is None or support.high is None:
        return "The runs support no plan of this law."
    low, high = (power10(x, 1) for x in (support.low, support.high))
    return f"These runs support plans from {support.axis} = {low} to {high} {units[support.axis]}."


def _cells_text(support: Support, units: Mapping[str, str]) -> str:
    sizes = [f"{count(support.cells[x])} {units[x]}" for x in ("N", "D") if x in support.cells]
    compute = f"{power10(support.cells['C'], 2)} FLOPs" if "C" in support.cells else ""
    what = " on ".join(sizes) + (f" ({compute})" if sizes and compute else compute)
    return f"Train cells near {what} first." if what else ""


def too_far(fit: Fit, quantities: Mapping[str, Quantity]) -> bool:
    """Return whether a plan of these ``quantities`` lies too far beyond the runs of ``fit`` to be an answer."""
    if farthest(quantities)[1] > ANSWERED:
        return True
    return any(_size_too_far(quantities[name], fit.data.ranges.get(name)) for name in SIZES if name in quantities)


def _size_too_far(q: Quantity, span: Interval | None) -> bool:
    """Return whether a size (N, D or C) lies too far above or below the range ``span`` of the runs."""
    return q.beyond > ANSWERED or (span is not None and any(x < _least(span) for x in _stated(q)))


def _stated(q: Quantity) -> list[float]:
    """Return the value of ``q`` as a list; if it has no value, the finite ends of its intervals."""
    if q.value is not None:
        return [q.value]
    return [x for ci in (q.ci68, q.ci95) for x in ci or () if math.isfinite(x)]


def _least(span: Interval) -> float:
    return span[0] / 10**BELOW


def support(fit: Fit, rule: ComputeRule, quantities: Mapping[str, Quantity]) -> Support | None:
    """Return the range of plans that the runs of ``fit`` support; None if a plan of ``quantities`` is supported."""
    if not too_far(fit, quantities):
        return None
    axis, (low, high) = _supported(fit, rule)
    if low is None or high is None:
        return Support(axis, low, high)
    cells, far = _cells(fit, rule, quantities), 10**FARTHER * (1 + ROUNDING)
    helps = any(_size_too_far(quantities[name], fit.data.ranges.get(name)) for name in SIZES if name in quantities)
    near = helps and axis in cells and low / far <= cells[axis] <= high * far
    return Support(axis, low, high, cells if near else {})


def within_reach(fit: Fit, draws: Point) -> Point:
    """Return ``draws`` (r,); each N, D, C or U that lies too far above the runs is replaced by infinity.

    Costs, passes and times computed from the result then have intervals without an upper end.
    """
    spans = fit.data.ranges
    most = {name: reach(spans.get(name))[1] for name in SIZES}
    N, D, C, U = (
        np.where(x > top, np.inf, x)
        for x, top in ((draws.N, most["N"]), (draws.D, most["D"]), (draws.C, most["C"]), (draws.U, most["D"]))
    )
    return replace(draws, N=N, D=D, C=C, U=U)


def budgets(fit: Fit) -> Interval:
    """Return the smallest and the largest C of the runs, in FLOPs.

    Without a column C, the values of C are computed from N and D by the compute rule of the fit.
    """
    spans = fit.data.ranges
    if "C" in spans or not {"N", "D"} <= set(spans):
        return spans.get("C", UNKNOWN_C)
    low, high = (float(fit.compute.flops_anywhere(N, D)) for N, D in zip(spans["N"], spans["D"], strict=True))
    return (low, high) if 0 < low < high < math.inf else UNKNOWN_C


def _supported(fit: Fit, rule: ComputeRule) -> tuple[str, tuple[float, float] | tuple[None, None]]:
    """Return the axis that describes plans, such as C, and the range of supported plans on this axis.

    The range is (None, None) if no plan is supported. A budget is supported if its compute-optimal N, D and C are near
    enough to the runs.
    """
    spans = {name: fit.data.ranges[name] for name in SIZES if name in fit.data.ranges}
    if fit.law.frontier is None:
        axis = str(fit.law.axis)
        return axis, (_least(spans[axis]), spans[axis][1] * 10**ANSWERED) if axis in spans else (None, None)
    C = np.asarray(_centre(rule, spans) * 10.0 ** np.arange(-REACH, REACH, STEP))
    try:
        near = np.flatnonzero(_near(fit, rule, C, spans))
    except PlannerError:
        return "C", (None, None)
    return "C", (float(C[near[0]]), float(C[near[-1]])) if near.size else (None, None)


def _centre(rule: ComputeRule, spans: Mapping[str, Interval]) -> float:
    """Return the budget at the middle of the runs (geometric mean), in FLOPs."""
    middle = {name: math.sqrt(low * high) for name, (low, high) in spans.items()}
    if "C" in middle or not {"N", "D"} <= set(middle):
        return middle.get("C", 1e15)
    return float(rule.flops_anywhere(middle["N"], middle["D"]))


def _near(fit: Fit, rule: ComputeRule, C: Floats, spans: Mapping[str, Interval]) -> Bools:
    """Return which of the budgets ``C`` (k,) are supported, (k,).

    A budget is supported if its compute-optimal N, D and C are near enough to the ranges ``spans`` of the runs.
    """
    at = frontier(fit.law, fit.values, C, rule)
    sizes = {"N": at.N, "D": at.D, "C": C}
    near = np.isfinite(at.loss)
    for name, span in spans.items():
        x = sizes[name]
        near &= np.isnan(x) | ((_least(span) <= x) & (x <= span[1] * 10**ANSWERED))
    return near


def _cells(fit: Fit, rule: ComputeRule, quantities: Mapping[str, Quantity]) -> dict[str, float]:
    """Return the N, D and C of training runs to add, so that the runs then support a plan of ``quantities``.

    The N and D of a run cost its C by ``rule``. The result is empty if N, D or C is below one or infinite.
    """
    known = ((name, _stated(quantities[name]), fit.data.ranges.get(name)) for name in SIZES if name in quantities)
    found = {name: _toward(_outermost(stated, span), span) for name, stated, span in known if stated and span}
    if {"N", "D"} <= set(found):
        found |= _spending(rule, found, fit.data.ranges.get("C"))
    return found if all(1 <= x < math.inf for x in found.values()) else {}


def _spending(rule: ComputeRule, found: Mapping[str, float], span: Interval | None) -> dict[str, float]:
    """Return N and D of a cell, and the C that they cost by ``rule``.

    If the C in ``found`` lies outside ``span``, the N and D in ``found`` are multiplied by the same factor. If compute
    is proportional to ``N * D``, this factor gives a cell that costs the C in ``found``. The factor is at least 1 for a
    C above ``span`` and at most 1 for a C below.
    """
    N, D = found["N"], found["D"]
    times = 1.0
    if span is not None and "C" in found and not span[0] <= found["C"] <= span[1]:
        times = math.sqrt(found["C"] / float(rule.flops_anywhere(N, D)))
        times = max(times, 1.0) if found["C"] > span[1] else min(times, 1.0)
    return {"N": times * N, "D": times * D, "C": float(rule.flops_anywhere(times * N, times * D))}


def _outermost(stated: list[float], span: Interval) -> float:
    return max(stated, key=lambda x: beyond(x, span))


def _toward(value: float, span: Interval) -> float:
    """Return the size of a run to add, so that the runs support ``value``.

    Of all sizes that have this effect, the result is the size nearest to ``span``, the range of the runs.
    """
    low, high = span
    if value > high:
        return max(high, value / 10**ANSWERED)
    return min(low, value * 10**BELOW) if value < low else value
