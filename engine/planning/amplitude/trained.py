"""Plans from trained cells (training runs): from a law fitted to the cells, or from cells that reach the target.

No plan exists if the fitted law levels off above the target. The exponent comes from converged cells: doubling the
compute changes their loss by less than 10 %. If the loss rises by 10 % or more, it is undecided whether the cell
converged. Such a cell does not affect the exponent, and is used only to determine where the loss levels off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.laws.catalogue.dimension import phase_space_dimension
from isoplan.engine.planning.amplitude.cell_laws import data_law
from isoplan.engine.planning.amplitude.cells import Point, anchors_of, by_points, mean_loss
from isoplan.engine.planning.amplitude.evidence import LIMITED, ONSET, UNITS, PublishedLaw
from isoplan.engine.planning.amplitude.needs import conservative
from isoplan.engine.planning.amplitude.plan import AXES, AmplitudePlan, Size
from isoplan.engine.planning.amplitude.precision import Precision, asked, check_worth, lower_first, number, percent
from isoplan.engine.planning.amplitude.scaling import plan_fitted
from isoplan.engine.quantities import power10

FALLING, LEVELS_OFF = "still-falling", "levels-off"


def plan_trained(
    n_f: int, target: Precision, found: Sequence[Point], published: Sequence[PublishedLaw] = (), floor: float = 0.0
) -> AmplitudePlan:
    """Plan ``target`` by a law fitted to the trained cells ``found`` of one process.

    A warning lists the cells that are not converged. For a target in a median or 99 % error, the losses of ``found``
    must be the squares of these errors (``by_error``). If cells reach the target, the plan contains their D, N and C.
    If the law levels off above the target, the plan has no D, N and C and states which cells to train.

    Raises PlannerError for a target that a constant prediction reaches, for cells of another ``n_f``, or if D limits no
    cell and no cell reaches the target.
    """
    check_worth(target)
    cell, anchors = found[0].cell, anchors_of(found)
    if cell.n_f != n_f:
        raise PlannerError(
            f"{cell.process} has {cell.n_f} final-state particles and the plan is for {n_f}: choose cells with "
            "this number of particles, or give an anchor."
        )
    left, reached = _left_out(found), reached_by(found, target.mse)
    if not reached and (why := stopped(found, target, floor)):
        return replace(_bare(n_f, target, found, floor, left), stopped=why)
    if not anchors:
        if reached:
            return _by_cells(_bare(n_f, target, found, floor, left), reached)
        raise PlannerError(_nothing(found, target))
    others = published if target.kind == "rms" else ()
    plan = plan_fitted(cell.process, n_f, target, anchors, others, floor=floor, fixed_energy=cell.fixed_energy)
    if reached and (plan.D.most is None or reached[0].cell.D < plan.D.most):
        return _by_cells(_bare(n_f, target, found, floor, left), reached)
    notes = (*plan.warnings, *left, *_levels_off(found, target.mse, floor))
    return replace(plan, process=cell.process, warnings=notes, measured=_measured(found, target))


def reached_by(found: Sequence[Point], mse: float) -> tuple[Point, ...]:
    """Return the points at the smallest D that reaches ``mse``; empty if no D reaches it.

    A D reaches ``mse`` if the mean loss over seeds is at most ``mse`` at this D and at every larger D.
    """
    best: tuple[Point, ...] = ()
    for own in reversed(by_points(found).values()):
        if mean_loss(own) > mse:
            break
        best = own
    return best


def stopped(found: Sequence[Point], target: Precision, floor: float) -> str:
    """Return why no D is stated if the law of the cells levels off above or near the target; otherwise an empty string.

    "Near" means that the 68 % interval of the floor contains the target. Undecided cells are included, because a loss
    that rises with longer training shows that training has a floor.
    """
    law = data_law(tuple(found), undecided=True)
    if law is None:
        return ""
    K, near, far = law.value("K"), *law.interval("K")
    if near <= floor or far <= target.mse:
        return ""
    where, last = by_points(found), max(one.cell.D for one in found)
    up = [number(D, UNITS["D"]) for D, own in where.items() if own[0].state == "rises"]
    lower = f", and cells at D = {', '.join(up)} with a lower learning rate" if up else ""
    place = "above" if K >= target.mse else "near"
    ends = [power10(x, 2) if target.kind == "rms" else percent(math.sqrt(x)) for x in (near, far)]
    return (
        f"The trained cells of {found[0].cell.process} do not determine which D reaches {lower_first(asked(target))}. "
        f"Their law levels off {place} this target, at {lower_first(asked(replace(target, mse=K)))} (68 %: "
        f"{ends[0]} to {ends[1]}). Train cells with twice the N at D = {number(last, UNITS['D'])}{lower}."
    )


def _bare(
    n_f: int, target: Precision, found: Sequence[Point], floor: float, notes: Sequence[FitWarning]
) -> AmplitudePlan:
    """Return a plan without D, N and C for the cells ``found``. The notes of D, N and C state why they are unknown."""
    cell = found[0].cell
    fixed, why = cell.fixed_energy, "not known: the law of the cells levels off above the target or near it"
    d = phase_space_dimension(n_f, fixed_energy=fixed)
    D, N, C = (Size(None, None, UNITS[axis], why) for axis in AXES)
    return AmplitudePlan(n_f, d, 4 / d, conservative(n_f, fixed_energy=fixed), target, D, N, C, (), tuple(notes), (),
                         None, floor, fixed, cell.process, measured=_measured(found, target))  # fmt: skip


def _by_cells(bare: AmplitudePlan, reached: Sequence[Point]) -> AmplitudePlan:
    """Return the plan ``bare`` with the D, N and C of the cells ``reached``; these cells reach the target."""
    cell = reached[0].cell
    cells = "1 cell" if len(reached) == 1 else f"{len(reached)} cells"
    note = f"{cells} of {cell.process}; nothing is extrapolated"
    D, N, C = (Size(x, x, UNITS[axis], note) for axis, x in (("D", cell.D), ("N", cell.N), ("C", cell.C)))
    return replace(bare, D=D, N=N, C=C, reached=True)


def _nothing(found: Sequence[Point], target: Precision) -> str:
    """Return a message for the case that no cell is converged: why there is no answer, and what to do."""
    least = min(mean_loss(own) for own in by_points(found).values())
    best = f"MSE {least:.2g}" if target.kind == "rms" else f"{target.name} {percent(math.sqrt(least))}"
    return (
        f"D limits none of the {len(found)} cells of {found[0].cell.process}. The best cell has {best}. Train cells "
        f"with at least {ONSET['D']:g} points until twice the compute changes this error by less than 10 %."
    )


def _measured(found: Sequence[Point], target: Precision) -> str:
    """Return the errors of the cells at the largest D as text, by kind of error.

    Several kinds are given, because a few points dominate the RMS.
    """
    D, own = list(by_points(found).items())[-1]
    cells = [one.cell for one in own]
    rms = [cell.spread * math.sqrt(cell.loss) for cell in cells] if target.kind == "rms" else []
    kinds = {"RMS": rms, "median": [c.median for c in cells], "99 % of the points below": [c.most for c in cells]}
    said = [
        f"{name} {percent(math.exp(math.fsum(map(math.log, values)) / len(values)))}"
        for name, values in kinds.items()
        if values and all(math.isfinite(x) and x > 0 for x in values)
    ]
    return f"{', '.join(said)} at D = {number(D, UNITS['D'])}" if said else ""


def _left_out(found: Sequence[Point]) -> list[FitWarning]:
    """Return a warning with the number of cells that were not used, and the reasons."""
    states = [one.state for one in found if not one.limited and one.cell.D >= ONSET["D"]]
    if not states:
        return []
    why = {
        "falls": "falls by 10 % or more (train longer)",
        "rises": "rises by 10 % or more, so D does not limit it (train with a lower learning rate)",
        "not doubled": "is not known (train with twice the compute too)",
    }
    counts = {text: states.count(state) for state, text in why.items() if state in states}
    counted = ", ".join(f"the loss of {n} of them {text}" for text, n in counts.items())
    text = f"Cells of {found[0].cell.process} left out: {len(states)}. With twice the compute, {counted}."
    return [FitWarning(FALLING, text)]


def _levels_off(found: Sequence[Point], mse: float, floor: float) -> list[FitWarning]:
    """Fit all cells with a free floor K, and return a warning if this K is large enough to affect the target.

    Doubling the compute shows whether D or training limits a cell, but not whether D or N limits it.
    """
    law = data_law(tuple(found), undecided=True)
    low, high = (0.0, 0.0) if law is None else law.interval("K")
    if law is None or low <= floor + LIMITED * mse:
        return []
    K, near, far = (power10(x, 2) for x in (law.value("K"), low, high))
    text = (
        f"A fit of these cells with a free floor gives K = {K} ({near} to {far}), but the plan uses {floor:.2g}. "
        f"Train a cell with twice the N at the largest D. If its loss is not lower, give K as the floor."
    )
    return [FitWarning(LEVELS_OFF, text)]
