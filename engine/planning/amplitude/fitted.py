"""The law of anchors or trained cells in place of the bound: several of one process say its exponent themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.errors import PlannerError
from engine.fitting.result import FitWarning, Interval
from engine.planning.amplitude.anchors import LOSS_ERROR, ONSET, UNITS, Anchor, along
from engine.planning.amplitude.answer import AmplitudePlan, plan_amplitude, said_of, unchecked
from engine.planning.amplitude.cells import Point, anchors_of
from engine.planning.amplitude.exponents import Exponent
from engine.planning.amplitude.needs import POINTS, Need
from engine.planning.amplitude.published import PublishedLaw
from engine.planning.amplitude.sizes import of_anchors
from engine.planning.amplitude.target import Precision
from engine.planning.amplitude.text import number
from engine.quantities import count
from engine.schema import Floats

SCATTER, FALLING = "scatter", "still-falling"


@dataclass(frozen=True)
class Line:
    """ln(loss - floor) = ``height`` - ``alpha`` (ln D - ``middle``): a straight line through n anchors.

    ``error`` is the relative error of one loss, ``lever`` the sum of (ln D - middle)^2.
    """

    n: int
    middle: float
    height: float
    alpha: float
    error: float
    lever: float

    @property
    def alpha_error(self) -> float:
        """The standard error of the exponent."""
        return self.error / math.sqrt(self.lever)

    def ends(self, D: Floats) -> tuple[Floats, Floats]:
        """The 68 % band of loss - floor at ``D`` (k,): its upper and lower end, each (k,)."""
        off = np.log(D) - self.middle
        middle, half = self.height - self.alpha * off, self.error * np.sqrt(1 / self.n + off**2 / self.lever)
        return np.exp(middle + half), np.exp(middle - half)

    def solve(self, excess: float) -> Interval:
        """Where the lower and the upper end of the band reach ``excess`` (Fieller); inf where the upper never does."""
        gap, square = self.height - math.log(excess), self.error**2
        a, b, c = self.alpha**2 - square / self.lever, self.alpha * gap, gap**2 - square / self.n
        if a <= 0:
            return math.exp(self.middle), math.inf
        root = math.sqrt(max(b * b - a * c, 0.0))
        with np.errstate(over="ignore"):
            low, high = (float(np.exp(self.middle + (b + sign * root) / a)) for sign in (-1, 1))
        return low, high


def fit_line(anchors: Sequence[Anchor], floor: float = 0.0) -> Line:
    """The line through data anchors by least squares of logs, K held at ``floor``.

    Losses are known to 10 % (amplitudes, App. C), or as well as they scatter around the line, whichever is worse.
    Raises PlannerError for fewer than two places, and where the loss does not fall.
    """
    own = along(anchors, "D")
    if any(a.loss <= floor for a in own):
        raise PlannerError(f"A loss of the law is at or below the floor {floor:g}: give a lower floor.")
    x, y = np.log([a.x for a in own]), np.log([a.loss - floor for a in own])
    if len(np.unique(x)) < 2:
        raise PlannerError("A law needs runs at two values of D or more that D limits: train one at another D.")
    lever = float(np.sum((x - x.mean()) ** 2))
    alpha = -float((x - x.mean()) @ y) / lever
    if alpha <= 0:
        raise PlannerError("The loss does not fall with D, so that D does not limit it: give runs that D limits.")
    left = y - y.mean() + alpha * (x - x.mean())
    scatter = math.sqrt(float(left @ left) / (len(own) - 2)) if len(own) > 2 else 0.0
    return Line(len(own), float(x.mean()), float(y.mean()), alpha, max(LOSS_ERROR, scatter), lever)


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
    asked for, from the cheapest of them alone. Anchors of N and C, and all that lie at one D, are planned from as
    ``plan_amplitude`` does. Raises PlannerError as that does, and where the loss does not fall with D.
    """
    data = along(anchors, "D")
    if len({a.x for a in data}) < 2:
        return plan_amplitude(n_f, target, anchors, None, published, floor=floor, fixed_energy=fixed_energy)
    others = [a for a in anchors if a.axis != "D"]
    first = plan_amplitude(n_f, target, [data[0], *others], None, published, floor=floor, fixed_energy=fixed_energy)
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
    left = sum(not one.limited and one.cell.D >= ONSET["D"] for one in found)
    if not left:
        return plan
    text = (
        f"{left} of the cells of {cell.process} are left out: twice the compute lowered their loss by more than 10 %, "
        "or nobody tried."
    )
    return replace(plan, warnings=(*plan.warnings, FitWarning(FALLING, text)))


def _need(line: Line, process: str, last: float, mse: float, floor: float) -> Need:
    """The range of D for ``mse``; ``last`` is the largest D that was trained."""
    least, most = line.solve(mse - floor)
    law = f"{line.n} cells of {process}" if process else f"{line.n} anchors"
    said = f"of the law of {law} ({line.alpha:.3g} ± {line.alpha_error:.2g})"
    slow = Exponent(line.alpha - line.alpha_error, f"the lower 68 % end {said}")
    fast = Exponent(line.alpha + line.alpha_error, f"the upper 68 % end {said}")
    if most <= last:
        start = most, mse
    else:
        start = last, floor + math.exp(line.height - line.alpha * (math.log(last) - line.middle))
    x = np.geomspace(start[0], max(most, 10 * start[0]), POINTS) if math.isfinite(most) else np.empty(0)
    upper, lower = line.ends(x)
    return Need("D", most, least, slow, fast, start, floor, x, floor + upper, floor + lower, law)


def _change(first: AmplitudePlan, need: Need, line: Line) -> str:
    """What the law changed, in a sentence."""
    old, new, unit = first.needs[0].most, need.most, UNITS["D"]
    by = "the bound 4/d" if first.n_f > 2 else "the exponent for two particles"
    said = (
        f"From the cheapest anchor alone, at D = {number(first.anchors[0].x, unit)}, {by} = {first.exponent.value:.3g} "
        f"asked for at most {_number(old)} {unit}; the law of {need.law}, with the exponent "
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
