"""Resources that an amplitude surrogate needs for a given precision. They are estimated before any large training.

The exponents of D, N and C are known before training, because they follow from the dimension of the phase space
(amplitudes, Secs. 2 and 5). The scale is fixed by one cheap run that is limited by one axis. This run is called the
anchor.

If D limits all anchors, D is computed with the exponent. N is the N of the anchor, because more than 1e4 parameters do
not lower the loss (Sec. 5). C is the cost of one point multiplied by D and by the epochs of the anchor (eq. 7, per
epoch). C and N have their own laws if an anchor is limited by C or N, or if published laws of the same process and
network exist.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.laws.catalogue.dimension import phase_space_dimension
from isoplan.engine.planning.amplitude.evidence import (
    LOSS_ERROR,
    UNITS,
    Anchor,
    Axis,
    Line,
    PublishedLaw,
    along,
    fit_line,
)
from isoplan.engine.planning.amplitude.needs import POINTS, Exponent, Need, conservative, from_anchors
from isoplan.engine.planning.amplitude.plan import (
    AXES,
    SECOND,
    AmplitudePlan,
    of_anchors,
    of_law,
    published_needs,
    supported,
)
from isoplan.engine.planning.amplitude.precision import Precision, check_worth, number, only_rms
from isoplan.engine.planning.plan.support import ANSWERED
from isoplan.engine.quantities import count

WIDE = 2.0
"""Width of a range in decades above which a warning asks for another anchor."""
RAW_TARGETS = (
    "The networks of this law were trained on raw amplitudes, not on standardised logs (amplitudes, Tables 2 to 4). "
    "Therefore the MSE of the law is not a relative error and cannot be compared with the MSE of other processes."
)
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
    """Return the plan that ``scaled`` computes.

    A plan that lies more than three decades beyond the runs has no answer.
    """
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
    """Compute the D, N and C that reach ``target`` for ``n_f`` final-state particles.

    They are computed from anchors or from a published ``law``. ``published`` are laws of all processes; those with the
    same n_f give the optimistic end of a range. ``floor`` is the noise of the amplitudes themselves, which is zero at
    tree level (amplitudes, eq. 2).

    Raises PlannerError in these cases: both or neither of ``anchors`` and ``law`` are given; ``law`` is for another n_f
    or is given together with a floor; the target is a relative error but ``law`` describes raw amplitudes; the target
    needs no surrogate or is at or below the floor; the floor is negative.
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
    """Return the range that the target ``mse`` needs, for each axis that limits an anchor."""
    needs = {axis: from_anchors(anchors, axis, mse, slow, same, floor) for axis in AXES}
    return {axis: need for axis, need in needs.items() if need is not None}


def _check(n_f: int, target: Precision, anchors: Sequence[Anchor], law: PublishedLaw | None, floor: float) -> None:
    if not anchors and law is None:
        raise PlannerError("The scale of the law is not known: give one anchor, or choose a published law.")
    if anchors and law is not None:
        raise PlannerError("Anchors and a published law each fix the scale: give one of the two.")
    if law is not None and floor:
        raise PlannerError(
            "A published law already has a floor. Leave the floor out, or give an anchor instead of the published law."
        )
    if law is not None and law.n_f != n_f:
        raise PlannerError(
            f"{law.process} has {law.n_f} final-state particles and the plan is for {n_f}: choose a law for "
            "this number of particles, or give an anchor."
        )
    if law is not None and law.raw and target.sigma is not None:
        raise PlannerError(
            f"The law of {law.process} describes raw amplitudes, so sigma(log A) cannot convert its MSE to a "
            f"relative error. Give a target MSE of the raw amplitude, without sigma."
        )
    check_worth(replace(target, raw=law is not None and law.raw))
    if not floor >= 0:
        raise PlannerError(f"The floor {floor:g} is not an MSE. Give zero or a positive number.")
    if target.mse <= floor:
        raise PlannerError(f"A target MSE of {target.mse:g} is below the floor {floor:g}: ask for a higher target.")


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
            f"{slow.value:.3g} is extrapolated and is not tested by any published run."
        )
        notes.append(FitWarning(UNSEEN, text))
    if law is not None and law.raw:
        notes.append(FitWarning(RAW, RAW_TARGETS))
    if law is not None and len(found) > 1:
        text = (
            f"{' and '.join(found)} are each computed from a separate published law, which was measured at large "
            f"values of the other axes. If all axes have the computed values at once, the loss is higher than the "
            f"target."
        )
        notes.append(FitWarning(ONE_BY_ONE, text))
    return [*notes, *unchecked(anchors), *said_of(n_f, found, anchors)]


def unchecked(anchors: Sequence[Anchor]) -> list[FitWarning]:
    """Return a note for each anchor for which it was not tested whether its axis limits the loss."""
    text = (
        "It is not tested whether {axis} limits the loss of the anchor at {axis} = {x:g}. To test it, double the other "
        "axes: if {axis} limits the loss, the loss changes by less than 10 %."
    )
    return [FitWarning(UNCHECKED, text.format(axis=a.axis, x=a.x)) for a in anchors if a.doubled is None]


def said_of(n_f: int, found: Mapping[Axis, Need], anchors: Sequence[Anchor]) -> list[FitWarning]:
    """Return warnings about ranges with only one known end, with a width of many decades, or without a finite end."""
    notes = []
    for axis, need in found.items():
        if need.fast is None:
            text = f"No optimistic exponent of {axis} is known for {n_f} particles: only the conservative end is shown."
            notes.append(FitWarning(NO_OTHER, text))
        if not math.isfinite(need.most):
            text = (
                f"With an exponent of {need.slow.value:.3g}, no finite {axis} reaches the target: ask for a higher "
                "target MSE, or give another anchor."
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


SCATTER = "scatter"


def plan_fitted(
    process: str,
    n_f: int,
    target: Precision,
    anchors: Sequence[Anchor],
    published: Sequence[PublishedLaw] = (),
    *,
    floor: float = 0.0,
    fixed_energy: bool = False,
) -> AmplitudePlan:
    """Compute D, N and C for ``target`` from a law fitted to the D-limited ``anchors``.

    The range of D is the 68 % interval of this law. The anchors are cells (training runs) of ``process``; an empty
    ``process`` means runs without a name. ``change`` compares the plan with another plan, which uses only the
    anchors at the smallest D and the conservative exponent.

    Anchors limited by N or C are used as in ``plan_amplitude``. All anchors are used in this way if the D-limited
    anchors have only one value of D. Raises PlannerError like ``plan_amplitude``, and if the loss does not decrease
    with D.
    """
    data = along(anchors, "D")
    if anchors and not process:
        only_rms(target, "runs that you type")
    if len({a.x for a in data}) < 2:
        plan = scaled(n_f, target, anchors, None, published, floor=floor, fixed_energy=fixed_energy)
        return supported(replace(plan, process=process))
    others = [a for a in anchors if a.axis != "D"]
    cheapest = [a for a in data if a.x == data[0].x]
    first = scaled(n_f, target, [*cheapest, *others], None, published, floor=floor, fixed_energy=fixed_energy)
    line = fit_line(data, floor)
    need = _need(line, process, data, target.mse, floor, first.exponent)
    found = {one.axis: one for one in first.needs} | {"D": need}
    D, N, C = of_anchors(found, (*data, *others))
    notes = [*unchecked((*data, *others)), *_scatter(line), *said_of(n_f, found, (*data, *others))]
    plan = replace(first, exponent=need.slow, D=D, N=N, C=C, needs=tuple(found.values()), warnings=tuple(notes),
                   anchors=(*data, *others), change=_change(first, need, line), process=process)  # fmt: skip
    return supported(plan)


def _need(line: Line, process: str, data: Sequence[Anchor], mse: float, floor: float, bound: Exponent) -> Need:
    """Return the range of D that the target ``mse`` needs, from the ``line`` through the anchors ``data``.

    Beyond the largest D of the anchors, the exponent may be smaller than the fitted exponent. There the conservative
    end is at least the D that follows from the exponent ``bound`` and the anchors at the largest D. Both ends are at
    least the smallest D of the anchors, because no anchor tests the line below this D. If the anchors at the
    smallest D reach the target, the upper end is this D and the lower end is None.
    """
    first, last = data[0].x, data[-1].x
    at_first, at_last = (_mean([a.loss for a in data if a.x == x], floor) for x in (first, last))
    reached = floor + at_first <= mse
    least, most = (first, first) if reached else (max(x, first) for x in line.solve(mse - floor))
    law = f"{line.n} cells of {process}" if process else f"{line.n} anchors"
    said = f"of the exponent fitted to {law} ({line.alpha:.3g} ± {line.alpha_error:.2g})"
    slow = Exponent(line.alpha - line.alpha_error, f"the lower 68 % end {said}")
    fast = Exponent(line.alpha + line.alpha_error, f"the upper 68 % end {said}")
    least_most = last * (at_last / (mse - floor)) ** (1 / bound.value)
    if last < most < least_most:
        most = least_most
        slow = Exponent(bound.value, f"{bound.source}, from the largest D = {number(last, UNITS['D'])}")
    start = (most, floor + at_first if reached else mse) if most <= last else (last, floor + line.at(last))
    x = np.geomspace(start[0], max(most, 10 * start[0]), POINTS) if math.isfinite(most) else np.empty(0)
    upper, lower = line.ends(x)
    if slow.value == bound.value:
        upper = np.maximum(upper, at_last * (last / x) ** bound.value)
    return Need("D", most, None if reached else least, slow, fast, start, floor, x, floor + upper, floor + lower, law,
                reached)  # fmt: skip


def _mean(losses: Sequence[float], floor: float) -> float:
    """Return the geometric mean of (loss - floor) over ``losses``."""
    return math.exp(np.mean([math.log(loss - floor) for loss in losses]))


def _change(first: AmplitudePlan, need: Need, line: Line) -> str:
    """Return a sentence that compares two values of D for the target.

    The first value follows from the anchors of smallest D alone, the second from the law through all anchors.
    """
    old, new, unit = first.needs[0].most, need.most, UNITS["D"]
    by = "the bound 4/d" if first.n_f > 2 else "the exponent for two particles"
    cheapest = "anchors" if sum(anchor.axis == "D" for anchor in first.anchors) > 1 else "anchor"
    far = first.needs[0].beyond > ANSWERED
    asked = "gives a D too far beyond the runs" if far else f"gives at most {_number(old)} {unit}"
    and_bound = f", continued with {need.slow.source}" if need.slow.value == first.exponent.value else ""
    said = (
        f"Extrapolation from the {cheapest} at D = {number(first.anchors[0].x, unit)} alone, with {by} = "
        f"{first.exponent.value:.3g}, {asked}. The law fitted to {need.law}, with the exponent "
        f"{line.alpha:.3g} ± {line.alpha_error:.2g}{and_bound}, gives at most {_number(new)}"
    )
    if far:
        return f"{said} {unit}."
    if not (math.isfinite(old) and math.isfinite(new)) or math.isclose(old, new, rel_tol=0.05):
        return f"{said}."
    return f"{said}, {count(max(old / new, new / old))} times {'fewer' if new < old else 'more'}."


def _number(x: float) -> str:
    return number(x, UNITS["D"]) if math.isfinite(x) else "infinitely many"


def _scatter(line: Line) -> list[FitWarning]:
    if line.error <= LOSS_ERROR:
        return []
    text = (
        f"The losses scatter by {100 * line.error:.0f} % around the law, more than the assumed error of "
        f"{100 * LOSS_ERROR:.0f} %. The range includes this scatter."
    )
    return [FitWarning(SCATTER, text)]
