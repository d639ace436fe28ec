"""Question 7: what an amplitude surrogate of a stated precision takes, before anything big is trained.

The exponents of D, N and C are known before training, because they follow from the dimension of the phase space
(amplitudes, Secs. 2 and 5); one cheap run on an axis fixes the scale. With a data anchor alone D follows from the
exponent, N is kept at the anchor's (sizes beyond 1e4 parameters gain nothing, Sec. 5), and C is what one point costs
times D times the epochs that the anchor needed (eq. 7, per epoch). C and N get laws of their own from anchors on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import PlannerError
from engine.fitting.result import FitWarning
from engine.laws.dimension import phase_space_dimension
from engine.planning.amplitude.anchors import Anchor, Axis, along
from engine.planning.amplitude.exponents import Exponent, conservative
from engine.planning.amplitude.needs import Need, from_anchors, from_law
from engine.planning.amplitude.published import RAW_TARGETS, PublishedLaw
from engine.planning.amplitude.target import Precision
from engine.planning.amplitude.text import number

WIDE = 2.0
"""Decades of a range beyond which one more anchor is asked for."""
SMALLEST_N = 1e4
"""Parameters below which size limits a surrogate (amplitudes, Sec. 5)."""
PER_PARAMETER = 6.0
"""FLOPs for one parameter and one point (zeta of amplitudes, eq. 7) where nobody says otherwise."""
SECOND = 10.0
"""How far beyond the last anchor the next one is asked for."""
UNCHECKED, WIDE_RANGE, RAW = "unchecked-anchor", "wide-range", "raw-targets"
BOUND_FAILS, NO_OTHER, UNBOUNDED = "bound-fails", "one-end", "unbounded"


@dataclass(frozen=True)
class Size:
    """A number that is a range: (``least``, ``most``), equal where it is one number; None where nothing says it."""

    least: float | None
    most: float | None
    unit: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class AmplitudePlan:
    """The answer: D, N and C as ranges, and the laws behind those that have one in ``needs``.

    ``anchors``, ``law``, ``floor`` and ``fixed_energy`` are what it was asked with.
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


def plan_amplitude(
    n_f: int,
    target: Precision,
    anchors: Sequence[Anchor] = (),
    law: PublishedLaw | None = None,
    published: Sequence[PublishedLaw] = (),
    *,
    floor: float = 0.0,
    fixed_energy: bool = False,
) -> AmplitudePlan:
    """D, N and C for ``n_f`` final-state particles at ``target``, from anchors or from one published ``law``.

    ``published`` are laws of other processes, of which those with the same n_f give the other end of a range.
    ``floor`` is the noise of the amplitudes themselves, zero for tree level (amplitudes, eq. 2). Raises PlannerError
    without an anchor or a law, for both, for a law of another n_f, and for a target at or below the floor.
    """
    slow = conservative(n_f, fixed_energy=fixed_energy)
    _check(n_f, target, anchors, law, floor)
    same = tuple(p for p in published if p.n_f == n_f and not p.raw)
    found: dict[Axis, Need] = {}
    if law is not None:
        found[law.axis] = from_law(law, target.mse, slow)
    for axis in ("D", "N", "C"):
        need = from_anchors(anchors, axis, target.mse, slow, same, floor)
        if need is not None:
            found[axis] = need
    D, N, C = _sizes(found, anchors)
    d = phase_space_dimension(n_f, fixed_energy=fixed_energy)
    shown = target if law is None or not law.raw else Precision(target.mse)
    return AmplitudePlan(n_f, d, 4 / d, slow, shown, D, N, C, tuple(found.values()),
                         tuple(_notes(n_f, slow, found, anchors, law)), tuple(anchors), law, floor,
                         fixed_energy)  # fmt: skip


def _check(n_f: int, target: Precision, anchors: Sequence[Anchor], law: PublishedLaw | None, floor: float) -> None:
    if not anchors and law is None:
        raise PlannerError("The scale of the law is not known: give one anchor, or choose a published law.")
    if anchors and law is not None:
        raise PlannerError("Anchors and a published law each fix the scale: give one of the two.")
    if law is not None and law.n_f != n_f:
        raise PlannerError(
            f"{law.process} has {law.n_f} final-state particles and the plan is for {n_f}: choose a law of the same "
            "number, or give an anchor."
        )
    if not floor >= 0:
        raise PlannerError(f"A floor of {floor:g} is no MSE: give zero or a positive number.")
    if target.mse <= floor:
        raise PlannerError(f"A target MSE of {target.mse:g} is below the floor {floor:g}: ask for a higher one.")


def _sizes(found: dict[Axis, Need], anchors: Sequence[Anchor]) -> tuple[Size, Size, Size]:
    """D, N and C: from laws of their own where there are any, else N and C from the last data anchor."""
    ranges = {axis: Size(need.least, need.most, need.unit, "from a law of its own") for axis, need in found.items()}
    missing = "not known: no anchor is limited by it"
    D = ranges.get("D", Size(None, None, "phase-space points", missing))
    data = along(anchors, "D")
    last = data[-1] if data else None
    N = ranges.get("N", Size(None, None, "parameters", missing))
    if "N" not in ranges and last is not None and last.N is not None:
        kept = max(last.N, SMALLEST_N)
        why = "that of the anchor" if kept == last.N else f"raised from the anchor's to {SMALLEST_N:g}"
        N = Size(kept, kept, "parameters", why)
    C = ranges.get("C", Size(None, None, "FLOPs", missing))
    if "C" not in ranges and last is not None:
        C = _compute(D, N, last)
    return D, N, C


def _compute(D: Size, N: Size, anchor: Anchor) -> Size:
    """FLOPs of one point times D times the anchor's epochs, at the N of the plan."""
    epochs = anchor.epochs
    if anchor.N is None or epochs is None:
        return Size(None, None, "FLOPs", "withheld: give N and the epochs of the anchor")
    per_parameter = PER_PARAMETER if anchor.flops_per_sample is None else anchor.flops_per_sample / anchor.N

    def flops(n: float | None, d: float | None) -> float | None:
        return None if n is None or d is None else per_parameter * n * d * epochs

    note = f"{per_parameter:.3g} N FLOPs a point x D x {epochs:g} epochs"
    return Size(flops(N.least, D.least), flops(N.most, D.most), "FLOPs", note)


def _notes(
    n_f: int, slow: Exponent, found: dict[Axis, Need], anchors: Sequence[Anchor], law: PublishedLaw | None
) -> list[FitWarning]:
    notes = [FitWarning(BOUND_FAILS, f"The conservative exponent is {slow.source}.")] if n_f == 2 else []
    if law is not None and law.raw:
        notes.append(FitWarning(RAW, RAW_TARGETS))
    for anchor in anchors:
        if anchor.doubled is None:
            text = (
                f"Nobody checked that {anchor.axis} limits the anchor at {anchor.axis} = {anchor.x:g}: double the "
                "other axes and see that its loss changes by less than 10 %."
            )
            notes.append(FitWarning(UNCHECKED, text))
    for axis, need in found.items():
        if need.least is None:
            text = f"No other exponent of {axis} is known for {n_f} particles: the conservative one alone is shown."
            notes.append(FitWarning(NO_OTHER, text))
        if need.decades > WIDE:
            how = "a second anchor" if len(along(anchors, axis)) < 2 else "another anchor"
            text = (
                f"The range of {axis} spans {need.decades:.1f} decades: train {how} at {axis} = "
                f"{number(SECOND * need.start[0], need.unit)} {need.unit} and ask again."
            )
            notes.append(FitWarning(WIDE_RANGE, text))
        if not math.isfinite(need.most):
            notes.append(FitWarning(UNBOUNDED, f"By {slow.source} no finite {axis} reaches the target."))
    return notes
