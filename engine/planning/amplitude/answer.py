"""Question 7: resources for an amplitude surrogate of a given precision, before any large training.

The exponents of D, N and C are known before training, because they follow from the dimension of the phase space
(amplitudes, Secs. 2 and 5). One cheap run on an axis fixes the scale. If there is only a data anchor, D follows from
the exponent, N stays at that of the anchor (more than 1e4 parameters improve nothing, Sec. 5), and C is the cost of one
point times D times the epochs of the anchor (eq. 7, per epoch). C and N have their own laws if there are anchors on
them, or published laws of the same process and network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.laws.catalogue.dimension import phase_space_dimension
from isoplan.engine.planning.amplitude.anchors import Anchor, Axis, along
from isoplan.engine.planning.amplitude.needs import Exponent, Need, conservative, from_anchors
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Precision, check_worth, number, only_rms
from isoplan.engine.planning.amplitude.published import RAW_TARGETS, PublishedLaw
from isoplan.engine.planning.amplitude.sizes import AXES, of_anchors, of_law, published_needs
from isoplan.engine.planning.amplitude.support import SECOND, supported

WIDE = 2.0
"""Width of a range in decades above which one more anchor is requested."""
UNCHECKED, WIDE_RANGE, RAW = "unchecked-anchor", "wide-range", "raw-targets"
BOUND_FAILS, NO_OTHER, UNBOUNDED, UNSEEN = "bound-fails", "one-end", "unbounded", "beyond-published-particles"
ONE_BY_ONE = "laws-one-by-one"


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
    """Plan with ``scaled``; the answer is withheld if it lies more than three decades beyond the runs."""
    return supported(scaled(n_f, target, anchors, law, published, floor=floor, fixed_energy=fixed_energy))


def scaled(
    n_f: int,
    target: Precision,
    anchors: Sequence[Anchor] = (),
    law: PublishedLaw | None = None,
    published: Sequence[PublishedLaw] = (),
    *,
    floor: float = 0.0,
    fixed_energy: bool = False,
) -> AmplitudePlan:
    """Compute D, N and C for ``n_f`` final-state particles at ``target``, from anchors or a published ``law``.

    ``published`` are laws of other processes; those with the same n_f give the other end of a range. ``floor`` is the
    noise of the amplitudes themselves, zero at tree level (amplitudes, eq. 2). Raises PlannerError if neither or both
    of anchors and a law are given, if a law is for another n_f or comes with a floor, for a relative error by a law of
    raw amplitudes, for a target that needs no surrogate or is at or below the floor, and for a negative floor.
    """
    slow = conservative(n_f, fixed_energy=fixed_energy)
    _check(n_f, target, anchors, law, floor)
    if law is not None:
        only_rms(target, "published laws")
    same = tuple(p for p in published if p.n_f == n_f and not p.raw)
    if law is not None:
        found, why = published_needs(law, target.mse, slow)
        D, N, C = of_law(law, found, why)
    else:
        found = _needs(anchors, target.mse, slow, same, floor)
        D, N, C = of_anchors(found, anchors)
    d = phase_space_dimension(n_f, fixed_energy=fixed_energy)
    goal = replace(target, raw=law is not None and law.raw)
    return AmplitudePlan(n_f, d, 4 / d, slow, goal, D, N, C, tuple(found.values()),
                         tuple(_notes(n_f, slow, found, anchors, law, published)), tuple(anchors), law, floor,
                         fixed_energy)  # fmt: skip


def _needs(
    anchors: Sequence[Anchor], mse: float, slow: Exponent, same: Sequence[PublishedLaw], floor: float
) -> dict[Axis, Need]:
    """Return the need of ``mse`` for each axis that has an anchor."""
    needs = {axis: from_anchors(anchors, axis, mse, slow, same, floor) for axis in AXES}
    return {axis: need for axis, need in needs.items() if need is not None}


def _check(n_f: int, target: Precision, anchors: Sequence[Anchor], law: PublishedLaw | None, floor: float) -> None:
    if not anchors and law is None:
        raise PlannerError("The scale of the law is not known: give one anchor, or choose a published law.")
    if anchors and law is not None:
        raise PlannerError("Anchors and a published law each fix the scale: give one of the two.")
    if law is not None and floor:
        raise PlannerError("A published law already has a floor. Leave the floor out, or give an anchor.")
    if law is not None and law.n_f != n_f:
        raise PlannerError(
            f"{law.process} has {law.n_f} final-state particles and the plan is for {n_f}: choose a law of the same "
            "number, or give an anchor."
        )
    if law is not None and law.raw and target.sigma is not None:
        raise PlannerError(
            f"The law of {law.process} describes raw amplitudes, so sigma(log A) does not convert its MSE to a "
            f"relative error. Give a target MSE of the raw amplitude, without sigma."
        )
    check_worth(replace(target, raw=law is not None and law.raw))
    if not floor >= 0:
        raise PlannerError(f"The floor {floor:g} is not an MSE. Give zero or a positive number.")
    if target.mse <= floor:
        raise PlannerError(f"A target MSE of {target.mse:g} is below the floor {floor:g}: ask for a higher one.")


def _notes(
    n_f: int,
    slow: Exponent,
    found: dict[Axis, Need],
    anchors: Sequence[Anchor],
    law: PublishedLaw | None,
    published: Sequence[PublishedLaw],
) -> list[FitWarning]:
    notes = [FitWarning(BOUND_FAILS, f"The conservative exponent is {slow.source}.")] if n_f == 2 else []
    seen = [one.n_f for one in published]
    if seen and not min(seen) <= n_f <= max(seen):
        text = (
            f"The published processes have {min(seen)} to {max(seen)} final-state particles: for {n_f} the exponent "
            f"{slow.value:.3g} is extrapolated, and no published run has checked it."
        )
        notes.append(FitWarning(UNSEEN, text))
    if law is not None and law.raw:
        notes.append(FitWarning(RAW, RAW_TARGETS))
    if law is not None and len(found) > 1:
        text = (
            f"{' and '.join(found)} each come from a separate published law, measured at large values of the other "
            f"axes. The least values of all axes together reach a higher loss."
        )
        notes.append(FitWarning(ONE_BY_ONE, text))
    return [*notes, *unchecked(anchors), *said_of(n_f, found, anchors)]


def unchecked(anchors: Sequence[Anchor]) -> list[FitWarning]:
    """Return a note for each anchor that was not tested to be limited by its axis."""
    text = (
        "It is not tested whether {axis} limits the anchor at {axis} = {x:g}. Double the other axes: its loss must "
        "change by less than 10 %."
    )
    return [FitWarning(UNCHECKED, text.format(axis=a.axis, x=a.x)) for a in anchors if a.doubled is None]


def said_of(n_f: int, found: Mapping[Axis, Need], anchors: Sequence[Anchor]) -> list[FitWarning]:
    """Return the warnings about the ranges: only one end, many decades, or no finite end."""
    notes = []
    for axis, need in found.items():
        if need.fast is None:
            text = (
                f"No optimistic exponent of {axis} is known for {n_f} particles: the conservative one alone is shown."
            )
            notes.append(FitWarning(NO_OTHER, text))
        if not math.isfinite(need.most):
            text = (
                f"By {need.slow.source} no finite {axis} reaches the target: ask for a higher one, or give another "
                "anchor."
            )
            notes.append(FitWarning(UNBOUNDED, text))
        elif need.decades > WIDE:
            how = "a second anchor" if len(along(anchors, axis)) < 2 else "another anchor"
            text = (
                f"The range of {axis} spans {need.decades:.1f} decades: train {how} at {axis} = "
                f"{number(SECOND * need.start[0], need.unit)} {need.unit} and ask again."
            )
            notes.append(FitWarning(WIDE_RANGE, text))
    return notes
