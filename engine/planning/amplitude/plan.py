"""Plan of an amplitude surrogate: D, N and C, the laws and runs behind them, and whether the runs support the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.amplitude.evidence import UNITS, Anchor, Axis, PublishedLaw, along
from isoplan.engine.planning.amplitude.needs import Exponent, Need, from_law
from isoplan.engine.planning.amplitude.precision import Precision, asked, lower_first, number
from isoplan.engine.planning.answer.format import decades
from isoplan.engine.planning.plan.answer import EXTRAPOLATED, FAR, UNSUPPORTED
from isoplan.engine.planning.plan.support import ANSWERED, MARKED

AXES: tuple[Axis, ...] = ("D", "N", "C")
SMALLEST_N = 1e4
"""Number of parameters below which N limits the precision of a surrogate (amplitudes, Sec. 5)."""
PER_PARAMETER = 6.0
"""Default training FLOPs per parameter and point (zeta in eq. 7 of amplitudes)."""


@dataclass(frozen=True)
class Size:
    """Range of a size from ``least`` to ``most``. The two are equal if the size is a single number.

    An end is None if it is unknown.
    """

    least: float | None
    most: float | None
    unit: str
    note: str = ""


def published_needs(law: PublishedLaw, mse: float, slow: Exponent) -> tuple[dict[Axis, Need], dict[Axis, str]]:
    """Return the range of each axis that the target ``mse`` needs.

    The ranges are computed from ``law`` and from the other laws of the same process and network. For each axis
    without a known range, the second value states the reason. A law of N or C is valid only for the D at which this law
    was measured. It is not used for a target that needs a larger D.
    """
    found: dict[Axis, Need] = {law.axis: from_law(law, mse, slow)}
    why: dict[Axis, str] = {}
    beside = {other.axis: other for other in law.beside}
    if "D" in beside and mse > beside["D"].floor:
        found["D"] = from_law(beside["D"], mse, slow)
    points = found["D"].least if "D" in found else None
    for axis in AXES:
        if axis in found:
            continue
        other = beside.get(axis)
        if other is None:
            why[axis] = (
                f"not known: no law of {law.process} against {axis} is published; give an anchor limited by {axis}"
            )
        elif mse <= other.floor:
            why[axis] = (
                f"not known: the published law against {axis} levels off at {other.floor:.2g} for {other.held}, above "
                f"the target; give an anchor limited by {axis} at more points"
            )
        elif points is not None and points > other.held_value:
            why[axis] = (
                f"not known: the published law against {axis} is valid for {other.held}, fewer points than the "
                f"target needs; give an anchor limited by {axis} at more points"
            )
        else:
            found[axis] = from_law(other, mse, slow)
    return {axis: found[axis] for axis in AXES if axis in found}, why


def of_law(law: PublishedLaw, found: Mapping[Axis, Need], why: Mapping[Axis, str]) -> tuple[Size, Size, Size]:
    """Return D, N and C, computed from a published law and from the other laws of the same process and network.

    If there is no law of N, the result uses the fixed N at which the law of D was measured.
    """
    laws = {one.axis: one for one in (*law.beside, law)}
    sizes = {}
    for axis in AXES:
        unit = UNITS[axis]
        if axis in found:
            reached = f": {found[axis].origin}" if found[axis].reached else ""
            note = f"by the published law against {axis} at {laws[axis].held}{reached}"
            sizes[axis] = Size(found[axis].least, found[axis].most, unit, note)
        else:
            sizes[axis] = Size(None, None, unit, why[axis])
    if "N" not in found and "D" in found:
        kept = laws["D"].held_value
        sizes["N"] = Size(kept, kept, UNITS["N"], "fixed size of the networks behind the published law against D")
    return sizes["D"], sizes["N"], sizes["C"]


def of_anchors(found: Mapping[Axis, Need], anchors: Sequence[Anchor]) -> tuple[Size, Size, Size]:
    """Return D, N and C, each computed from the anchors that are limited by this axis.

    If no anchor is limited by N (or C), N (or C) is computed from the last anchor that is limited by D.
    """
    ranges = {axis: Size(need.least, need.most, need.unit, need.origin) for axis, need in found.items()}
    data = along(anchors, "D")
    last = data[-1] if data else None
    D = ranges.get("D", Size(None, None, UNITS["D"], "not known: give an anchor limited by D"))
    N = ranges.get("N", Size(None, None, UNITS["N"], "not known: give the N of an anchor limited by D"))
    if "N" not in ranges and last is not None and last.N is not None:
        kept = max(last.N, SMALLEST_N)
        why = "N of the anchor" if kept == last.N else f"raised from {last.N:g} of the anchor to {SMALLEST_N:g}"
        N = Size(kept, kept, UNITS["N"], why)
    C = ranges.get("C", Size(None, None, UNITS["C"], "not known: give an anchor limited by C, or one limited by D"))
    if "C" not in ranges and last is not None:
        C = _compute(D, N, last)
    return D, N, C


def _compute(D: Size, N: Size, anchor: Anchor) -> Size:
    """Return C at the N of the plan: FLOPs per point, times D, times the number of epochs of the anchor."""
    epochs = anchor.epochs
    if anchor.N is None or epochs is None:
        lost = " and ".join(what for what, x in (("N", anchor.N), ("the epochs", epochs)) if x is None)
        return Size(None, None, "FLOPs", f"not known: give {lost} of the anchor, or an anchor limited by C")
    per_parameter = PER_PARAMETER if anchor.flops_per_sample is None else anchor.flops_per_sample / anchor.N

    def flops(n: float | None, d: float | None) -> float | None:
        return None if n is None or d is None else per_parameter * n * d * epochs

    note = f"{per_parameter:.3g} N FLOPs per point x D x {epochs:g} epochs"
    return Size(flops(N.least, D.least), flops(N.most, D.most), "FLOPs", note)


@dataclass(frozen=True, eq=False)
class AmplitudePlan:
    """Plan for an amplitude surrogate: ranges of D, N and C.

    ``needs`` contains the ranges with the exponents behind them. ``anchors``, ``law``, ``floor`` and ``fixed_energy``
    are the inputs. If a law was fitted to anchors or to trained cells of ``process``, ``change`` describes its effect
    on the plan, and ``measured`` contains the errors of the cells. If the runs do not support an answer, ``stopped`` is
    a sentence that replaces the answer, and D, N and C are unknown. ``reached`` is True if the answer consists of
    trained cells that reach the target.

    If the user gave ``points`` instead of a target, ``target`` is the precision for which the conservative end of D
    equals ``points``. ``best`` is the precision for which the optimistic end of D equals ``points``.
    """

    n_f: int
    dimension: int
    bound: float
    exponent: Exponent
    target: Precision
    D: Size
    N: Size
    C: Size
    needs: tuple[Need, ...]
    warnings: tuple[FitWarning, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    law: PublishedLaw | None = None
    floor: float = 0.0
    fixed_energy: bool = False
    process: str = ""
    change: str = ""
    measured: str = ""
    stopped: str = ""
    reached: bool = False
    points: float | None = None
    best: Precision | None = None

    @property
    def runs(self) -> str:
        """Name of the runs that are the basis of the plan, for use within a sentence."""
        if self.process:
            return f"the cells of {self.process}"
        if self.law is not None:
            return f"the published runs of {self.law.process}"
        return "the anchor" if len(self.anchors) == 1 else "the anchors"


SECOND = 10.0
"""Size of the recommended next run, divided by the size of the last run."""
FARTHEST = 100.0
"""Largest size of the recommended next run, divided by the size of the last run. Usually the recommended run is the run
that would make the plan supported. If this run is too large, a smaller run that measures the exponent is recommended.
"""
OF_RANGE = frozenset({"wide-range", "unbounded"})
"""Codes of warnings about a range. They are removed if the range is not shown."""
NOT_STATED = "not stated: too far beyond the runs"


def supported(plan: AmplitudePlan) -> AmplitudePlan:
    """Return ``plan`` with a check of its distance from the runs.

    The distance of a range is measured at its conservative end, and the largest distance of all ranges counts. A
    warning states the distances. Beyond three decades, the ranges are removed and a sentence states what the runs
    support.
    """
    if plan.stopped or not plan.needs:
        return plan
    distances = [f"{need.axis} by {_away(need)}" for need in plan.needs if need.beyond > 0.005]
    if not distances:
        return plan
    need = max(plan.needs, key=lambda one: one.beyond)
    where = ", ".join(distances)
    if need.beyond <= ANSWERED:
        code = FAR if need.beyond > MARKED else EXTRAPOLATED
        warning = FitWarning(code, f"The answer lies beyond {plan.runs}: {where}.")
        return replace(plan, warnings=(*plan.warnings, warning))
    D, N, C = (Size(None, None, UNITS[axis], NOT_STATED) for axis in AXES)
    kept = [w for w in plan.warnings if w.code not in OF_RANGE]
    stop = FitWarning(UNSUPPORTED, f"The plan lies too far beyond {plan.runs} to be an answer: {where}.")
    return replace(plan, D=D, N=N, C=C, needs=(), change="", warnings=(stop, *kept), stopped=_in_place(plan, need))


def _in_place(plan: AmplitudePlan, need: Need) -> str:
    """Return sentences on what the runs support, how far beyond the runs the target lies, and which run is needed."""
    axis, start, unit = need.axis, need.start[0], UNITS[need.axis]
    most = start * 10**ANSWERED
    down = lower_first(asked(replace(plan.target, mse=_reached(need, most))))
    goal = f"{asked(plan.target)} for {plan.n_f} final-state particles"
    start_at, end = (number(x, unit) for x in (start, most))
    return (
        f"Plans from {plan.runs} at {axis} = {start_at} {unit} are supported up to {axis} = {end}, which reaches "
        f"{down}. {goal} needs an extrapolation of {_away(need)} in {axis}. {_next(plan, need)}"
    )


def _away(need: Need) -> str:
    return decades(need.beyond) if math.isfinite(need.beyond) else "more decades than can be counted"


def _reached(need: Need, x: float) -> float:
    """Return the loss at ``x``, predicted with the conservative exponent."""
    if len(need.x) and need.x[-1] >= x:
        return float(np.exp(np.interp(math.log(x), np.log(need.x), np.log(need.slow_loss))))
    return need.floor + (need.start[1] - need.floor) * (need.start[0] / x) ** need.slow.value


def _next(plan: AmplitudePlan, need: Need) -> str:
    """Return a sentence on the run to train next.

    This is the run that would make the plan supported. If it is too large, a run that measures the exponent is named.
    """
    axis, start, unit = need.axis, need.start[0], UNITS[need.axis]
    enough = need.farthest / 10**ANSWERED
    if enough <= start * FARTHEST:
        return f"Train a run near {axis} = {number(enough, unit)} {unit} first."
    alone = len({a.x for a in plan.anchors if a.axis == axis}) == 1
    why = ": two runs measure the exponent, which then replaces the bound" if alone else ""
    return f"Train a run at {axis} = {number(SECOND * start, unit)} {unit} and ask again{why}."
