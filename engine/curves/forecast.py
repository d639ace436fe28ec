"""The final loss of a running cell (training run) with its interval, from the curves of finished cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.curves.curve import TrainingCurve
from isoplan.engine.curves.matching import continue_by_matching
from isoplan.engine.curves.power_law import continue_by_power_law

LEVEL = 0.68
"""Level of the interval of the final loss."""
FEWEST = 5
"""Minimum number of finished curves."""
SEEN, POINTS = 0.1, 4
"""Minimum completed fraction of the schedule, and minimum number of points, of a running cell."""
Method = Callable[[Sequence[TrainingCurve], Sequence[TrainingCurve], float], Floats]
"""A function of curves, finished curves and a position. It returns ln(final loss / current loss) of each curve."""
METHODS: Mapping[str, Method] = {
    "matching": continue_by_matching,
    "power law": lambda curves, finished, position: continue_by_power_law(curves, position),
}
"""The methods by name. The first is the method of the page Train."""


@dataclass(frozen=True)
class End:
    """The predicted final loss of a cell, its 68 % interval from ``low`` to ``high``, and the number of curves used."""

    loss: float
    low: float
    high: float
    curves: int


def predict_end(curve: TrainingCurve, finished: Sequence[TrainingCurve], method: str = "matching") -> End | None:
    """Return the final loss of the running cell ``curve``, or None if it cannot be predicted.

    The predicted final loss is the current loss times a ratio that ``method`` gives. To estimate the error, each of the
    ``finished`` curves is predicted from the curves of other groups at the same position. The median of these errors
    corrects the ratio, and their distribution gives the interval (jackknife; Barber et al., Ann. Statist. 49, 486,
    2021). All curves must have the same learning-rate schedule. The result is None if the cell has completed less than
    the fraction ``SEEN`` of its schedule, if its curve has fewer than ``POINTS`` points, or if fewer than ``FEWEST``
    curves are complete.
    """
    complete = [one for one in finished if one.is_complete]
    if len(complete) < FEWEST or len(curve.x) < POINTS or not SEEN <= curve.x[-1] <= 1:
        return None
    position, ratio = float(curve.x[-1]), METHODS[method]
    errors = _errors(complete, position, ratio)
    shift = float(np.median(errors))
    centre = curve.level(position) + float(ratio([curve], complete, position)[0]) + shift
    half = _half_width(np.abs(errors - shift))
    return End(math.exp(centre), math.exp(centre - half), math.exp(centre + half), len(complete))


def _errors(complete: Sequence[TrainingCurve], position: float, ratio: Method) -> Floats:
    """Return ln(final loss / predicted final loss) of each of the ``complete`` curves (n,) at ``position``.

    To predict a curve, all curves of its group are excluded. If it has no group, or if fewer than ``FEWEST`` curves are
    in other groups, only the curve itself is excluded.
    """
    predicted = np.array([one.level(position) for one in complete])
    groups = np.array([one.group for one in complete])
    for group in dict.fromkeys(one.group for one in complete):
        inside = groups == group
        outside = [one for one in complete if one.group != group]
        others = outside if group and len(outside) >= FEWEST else complete
        curves = [one for one in complete if one.group == group]
        predicted[inside] += ratio(curves, others, position)
    return np.log([one.end for one in complete]) - predicted


def _half_width(errors: Floats) -> float:
    """Return the smallest e in ``errors`` (n,) for which a new error is larger than e with probability <= 1 - LEVEL."""
    rank = math.ceil(LEVEL * (len(errors) + 1))
    return float(np.sort(errors)[min(rank, len(errors)) - 1])
