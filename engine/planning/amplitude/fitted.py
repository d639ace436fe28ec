"""Fitted law of anchors in place of the bound: several anchors of one process determine its exponent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.amplitude.anchors import LOSS_ERROR, UNITS, Anchor, along
from isoplan.engine.planning.amplitude.answer import said_of, scaled, unchecked
from isoplan.engine.planning.amplitude.line import Line, fit_line
from isoplan.engine.planning.amplitude.needs import POINTS, Exponent, Need
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Precision, number, only_rms
from isoplan.engine.planning.amplitude.published import PublishedLaw
from isoplan.engine.planning.amplitude.sizes import of_anchors
from isoplan.engine.planning.amplitude.support import supported
from isoplan.engine.planning.plan.support import ANSWERED
from isoplan.engine.quantities import count

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
    """Compute D, N and C for ``target`` by the law of the data ``anchors``; the range of D is its 68 % interval.

    The anchors are cells of ``process``, or unnamed runs if it is empty. ``change`` of the plan compares the result
    with that of the bound from the cheapest place alone. Anchors of N and C, and data anchors that all have the same D,
    are used as in ``plan_amplitude``. Raises PlannerError as ``plan_amplitude`` does, and if the loss does not fall
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
    """Return the range of D for ``mse`` by the ``line`` through ``data``.

    Beyond the largest D the conservative end is at least the D by the ``bound`` from the anchors there, because the
    exponent may decrease beyond the anchors. Both ends are at least the smallest D, because no anchor tests the line
    below it. If the anchors at the smallest D reach the target, this D is the upper end and the lower end is None.
    """
    first, last = data[0].x, data[-1].x
    at_first, at_last = (_mean([a.loss for a in data if a.x == x], floor) for x in (first, last))
    reached = floor + at_first <= mse
    least, most = (first, first) if reached else (max(x, first) for x in line.solve(mse - floor))
    law = f"{line.n} cells of {process}" if process else f"{line.n} anchors"
    said = f"of the law of {law} ({line.alpha:.3g} ± {line.alpha_error:.2g})"
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
    """Return the geometric mean of ``losses`` minus ``floor``."""
    return math.exp(np.mean([math.log(loss - floor) for loss in losses]))


def _change(first: AmplitudePlan, need: Need, line: Line) -> str:
    """Return a sentence on what the law changed."""
    old, new, unit = first.needs[0].most, need.most, UNITS["D"]
    by = "the bound 4/d" if first.n_f > 2 else "the exponent for two particles"
    cheapest = "anchors" if sum(anchor.axis == "D" for anchor in first.anchors) > 1 else "anchor"
    far = first.needs[0].beyond > ANSWERED
    asked = "asked for points too far beyond" if far else f"asked for at most {_number(old)} {unit}"
    and_bound = f", continued with {need.slow.source}" if need.slow.value == first.exponent.value else ""
    said = (
        f"From the cheapest {cheapest} alone, at D = {number(first.anchors[0].x, unit)}, {by} = "
        f"{first.exponent.value:.3g} {asked}; the law of {need.law}, with the exponent "
        f"{line.alpha:.3g} ± {line.alpha_error:.2g}{and_bound}, asks for at most {_number(new)}"
    )
    if far:
        return f"{said} {unit}."
    if not (math.isfinite(old) and math.isfinite(new)) or math.isclose(old, new, rel_tol=0.05):
        return f"{said}."
    return f"{said}, {count(max(old / new, new / old))} times {'fewer' if new < old else 'more'}."


def _number(x: float) -> str:
    return number(x, UNITS["D"]) if math.isfinite(x) else "any number of"


def _scatter(line: Line) -> list[FitWarning]:
    if line.error <= LOSS_ERROR:
        return []
    text = (
        f"The losses scatter by {100 * line.error:.0f} % around the law, more than the assumed error of "
        f"{100 * LOSS_ERROR:.0f} %. The range includes this scatter."
    )
    return [FitWarning(SCATTER, text)]
