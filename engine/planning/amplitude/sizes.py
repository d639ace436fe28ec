"""D, N and C of an amplitude plan: from their own laws, from the published run behind a law, or from an anchor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isoplan.engine.planning.amplitude.anchors import UNITS, Anchor, Axis, along
from isoplan.engine.planning.amplitude.needs import Exponent, Need, from_law
from isoplan.engine.planning.amplitude.published import PublishedLaw

AXES: tuple[Axis, ...] = ("D", "N", "C")
SMALLEST_N = 1e4
"""Number of parameters below which the size limits a surrogate (amplitudes, Sec. 5)."""
PER_PARAMETER = 6.0
"""Default FLOPs per parameter and point (zeta of amplitudes, eq. 7)."""


@dataclass(frozen=True)
class Size:
    """A size as a range (``least``, ``most``). Both are equal for a single number; None if an end is not known."""

    least: float | None
    most: float | None
    unit: str
    note: str = ""


def published_needs(law: PublishedLaw, mse: float, slow: Exponent) -> tuple[dict[Axis, Need], dict[Axis, str]]:
    """Return what ``mse`` needs along ``law`` and its companion laws, and for each other axis why it is not known.

    A law of N or C is valid for the D at which it was measured, so it does not apply to a target that needs more
    points.
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
                f"not known: the published law against {axis} holds for {other.held}, fewer points than the target "
                f"takes; give an anchor limited by {axis} at more points"
            )
        else:
            found[axis] = from_law(other, mse, slow)
    return {axis: found[axis] for axis in AXES if axis in found}, why


def of_law(law: PublishedLaw, found: Mapping[Axis, Need], why: Mapping[Axis, str]) -> tuple[Size, Size, Size]:
    """Return D, N and C by a published law and its companions; N without a law is the fixed N of the law of D."""
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
        sizes["N"] = Size(kept, kept, UNITS["N"], "that of the networks behind the published law against D")
    return sizes["D"], sizes["N"], sizes["C"]


def of_anchors(found: Mapping[Axis, Need], anchors: Sequence[Anchor]) -> tuple[Size, Size, Size]:
    """Return D, N and C from the anchors limited by them. Without these, N and C are from the last data anchor."""
    ranges = {axis: Size(need.least, need.most, need.unit, need.origin) for axis, need in found.items()}
    data = along(anchors, "D")
    last = data[-1] if data else None
    D = ranges.get("D", Size(None, None, UNITS["D"], "not known: give an anchor limited by D"))
    N = ranges.get("N", Size(None, None, UNITS["N"], "not known: give the N of an anchor limited by D"))
    if "N" not in ranges and last is not None and last.N is not None:
        kept = max(last.N, SMALLEST_N)
        why = "that of the anchor" if kept == last.N else f"raised from the anchor's to {SMALLEST_N:g}"
        N = Size(kept, kept, UNITS["N"], why)
    C = ranges.get("C", Size(None, None, UNITS["C"], "not known: give an anchor limited by C, or one limited by D"))
    if "C" not in ranges and last is not None:
        C = _compute(D, N, last)
    return D, N, C


def _compute(D: Size, N: Size, anchor: Anchor) -> Size:
    """Compute C as FLOPs per point times D times the anchor's epochs, at the N of the plan."""
    epochs = anchor.epochs
    if anchor.N is None or epochs is None:
        lost = " and ".join(what for what, x in (("N", anchor.N), ("the epochs", epochs)) if x is None)
        return Size(None, None, "FLOPs", f"not known: give {lost} of the anchor, or an anchor limited by C")
    per_parameter = PER_PARAMETER if anchor.flops_per_sample is None else anchor.flops_per_sample / anchor.N

    def flops(n: float | None, d: float | None) -> float | None:
        return None if n is None or d is None else per_parameter * n * d * epochs

    note = f"{per_parameter:.3g} N FLOPs a point x D x {epochs:g} epochs"
    return Size(flops(N.least, D.least), flops(N.most, D.most), "FLOPs", note)
