"""The law of anchors or trained cells in place of the bound: several of one process say its exponent themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.errors import PlannerError
from engine.fitting.result import FitWarning
from engine.planning.amplitude.anchors import LIMITED, LOSS_ERROR, ONSET, UNITS, Anchor, along
from engine.planning.amplitude.answer import AmplitudePlan, plan_amplitude, said_of, unchecked
from engine.planning.amplitude.cell_law import data_law
from engine.planning.amplitude.cells import Point, anchors_of
from engine.planning.amplitude.exponents import Exponent
from engine.planning.amplitude.line import Line, fit_line
from engine.planning.amplitude.needs import POINTS, Need
from engine.planning.amplitude.published import PublishedLaw
from engine.planning.amplitude.sizes import of_anchors
from engine.planning.amplitude.target import Precision
from engine.planning.amplitude.text import number
from engine.quantities import count, power10

SCATTER, FALLING, LEVELS_OFF = "scatter", "still-falling", "levels-off"


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
    """D, N and C for ``target`` by the law of the data ``anchors``; the range of D is its 68 % interval.

    They are cells of ``process``, or runs without a name where it is empty. ``change`` of the plan says what the bound
    asked for, from the cheapest place alone. Anchors of N and C, and all that lie at one D, are planned from as
    ``plan_amplitude`` does. Raises PlannerError as that does, and where the loss does not fall with D.
    """
    data = along(anchors, "D")
    if len({a.x for a in data}) < 2:
        return plan_amplitude(n_f, target, anchors, None, published, floor=floor, fixed_energy=fixed_energy)
    others = [a for a in anchors if a.axis != "D"]
    cheapest = [a for a in data if a.x == data[0].x]
    first = plan_amplitude(n_f, target, [*cheapest, *others], None, published, floor=floor, fixed_energy=fixed_energy)
    line = fit_line(data, floor)
    need = _need(line, process, data[-1].x, target.mse, floor)
    found = {one.axis: one for one in first.needs} | {"D": need}
    D, N, C = of_anchors(found, (*data, *others))
    notes = [*unchecked((*data, *others)), *_scatter(line), *said_of(n_f, found, (*data, *others))]
    return replace(first, exponent=need.slow, D=D, N=N, C=C, needs=tuple(found.values()), warnings=tuple(notes),
                   anchors=(*data, *others), change=_change(first, need, line), process=process)  # fmt: skip


def plan_trained(
    n_f: int, target: Precision, found: Sequence[Point], published: Sequence[PublishedLaw] = (), floor: float = 0.0
) -> AmplitudePlan:
    """The plan by the law of the points ``found`` of one process; those that D does not limit are left out, aloud.

    Raises PlannerError where n_f is another, and where D limits none of the points.
    """
    cell, anchors = found[0].cell, anchors_of(found)
    if cell.n_f != n_f:
        raise PlannerError(
            f"{cell.process} has {cell.n_f} final-state particles and the plan is for {n_f}: choose cells of the same "
            "number, or give an anchor."
        )
    if not anchors:
        raise PlannerError(
            f"D limits none of the {len(found)} cells of {cell.process}: train some with at least {ONSET['D']:g} "
            "points until twice the compute lowers their loss by less than 10 %."
        )
    plan = plan_fitted(cell.process, n_f, target, anchors, published, floor=floor, fixed_energy=cell.fixed_energy)
    return replace(plan, warnings=(*plan.warnings, *_left_out(found), *_levels_off(found, target.mse, floor)))


def _left_out(found: Sequence[Point]) -> list[FitWarning]:
    """How many cells were not used."""
    left = sum(not one.limited and one.cell.D >= ONSET["D"] for one in found)
    if not left:
        return []
    text = (
        f"{left} of the cells of {found[0].cell.process} are left out: twice the compute lowered their loss by more "
        "than 10 %, or nobody tried."
    )
    return [FitWarning(FALLING, text)]


def _levels_off(found: Sequence[Point], mse: float, floor: float) -> list[FitWarning]:
    """That the law of all cells, its K free, levels off where the target feels it.

    Twice the compute tells whether D or the training limits a cell, not whether D or N does.
    """
    law = data_law(tuple(found))
    low, high = (0.0, 0.0) if law is None else law.interval("K")
    if law is None or low <= floor + LIMITED * mse:
        return []
    K, near, far = (power10(x, 2) for x in (law.value("K"), low, high))
    text = (
        f"With a floor of its own the law of these cells levels off at K = {K} ({near} to {far}), and the plan takes "
        f"{floor:.2g}: train one with twice the N at the largest D, and where its loss is no lower give K as the floor."
    )
    return [FitWarning(LEVELS_OFF, text)]


def _need(line: Line, process: str, last: float, mse: float, floor: float) -> Need:
    """The range of D for ``mse``; ``last`` is the largest D that was trained."""
    least, most = line.solve(mse - floor)
    law = f"{line.n} cells of {process}" if process else f"{line.n} anchors"
    said = f"of the law of {law} ({line.alpha:.3g} ± {line.alpha_error:.2g})"
    slow = Exponent(line.alpha - line.alpha_error, f"the lower 68 % end {said}")
    fast = Exponent(line.alpha + line.alpha_error, f"the upper 68 % end {said}")
    start = (most, mse) if most <= last else (last, floor + line.at(last))
    x = np.geomspace(start[0], max(most, 10 * start[0]), POINTS) if math.isfinite(most) else np.empty(0)
    upper, lower = line.ends(x)
    return Need("D", most, least, slow, fast, start, floor, x, floor + upper, floor + lower, law)


def _change(first: AmplitudePlan, need: Need, line: Line) -> str:
    """What the law changed, in a sentence."""
    old, new, unit = first.needs[0].most, need.most, UNITS["D"]
    by = "the bound 4/d" if first.n_f > 2 else "the exponent for two particles"
    cheapest = "anchors" if sum(anchor.axis == "D" for anchor in first.anchors) > 1 else "anchor"
    said = (
        f"From the cheapest {cheapest} alone, at D = {number(first.anchors[0].x, unit)}, {by} = "
        f"{first.exponent.value:.3g} asked for at most {_number(old)} {unit}; the law of {need.law}, with the exponent "
        f"{line.alpha:.3g} ± {line.alpha_error:.2g}, asks for at most {_number(new)}"
    )
    if not (math.isfinite(old) and math.isfinite(new)) or math.isclose(old, new, rel_tol=0.05):
        return f"{said}."
    return f"{said}, {count(max(old / new, new / old))} times {'fewer' if new < old else 'more'}."


def _number(x: float) -> str:
    return number(x, UNITS["D"]) if math.isfinite(x) else "any number of"


def _scatter(line: Line) -> list[FitWarning]:
    if line.error <= LOSS_ERROR:
        return []
    text = (
        f"The losses scatter by {100 * line.error:.0f} % around the law, more than the {100 * LOSS_ERROR:.0f} % to "
        "which they are taken to be known: the range is as wide as the scatter makes it."
    )
    return [FitWarning(SCATTER, text)]
