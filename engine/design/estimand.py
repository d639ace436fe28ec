"""A quantity that the next cells must narrow, such as the loss at a budget or the compute for a target loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.intervals import Resampling
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.law import Values

LEVEL = 0.68
"""Level of the intervals that the advice narrows."""
SAME = 1e-9
"""Standard deviation of the logarithms of a quantity below which its resamples count as equal."""
USABLE = 0.5
"""Minimum fraction of the resamples in which a quantity is a positive finite number."""


@dataclass(frozen=True, eq=False)
class Estimand:
    """A positive quantity that a law determines.

    ``value`` computes it from parameter values of shape s, as an array of shape s. ``at`` is the place of the quantity
    in the space of the runs, such as N* and D* of a budget, by axis; it is empty if the quantity has no place.
    ``weight`` is the importance of the quantity if several quantities are narrowed.
    """

    name: str
    unit: str
    value: Callable[[Values], Floats]
    at: Mapping[str, float] = field(default_factory=dict)
    weight: float = 1.0

    def logs(self, values: Values) -> Floats:
        """Return the natural logarithm of the quantity: NaN where it is not positive, infinite where it is infinite."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.value(values), float)
            return np.where(found > 0, np.log(found), np.nan)


def check_fit(fit: Fit) -> None:
    """Raise PlannerError if ``fit`` has no resamples or does not keep its runs."""
    if not len(fit.resamples) or fit.runs is None:
        raise PlannerError(
            "The law has no resamples, or the fit does not keep its runs, so it is unknown how much a cell would "
            "narrow an answer. Fit a law to at most 10,000 runs, with resamples."
        )


def check_estimand(fit: Fit, estimand: Estimand) -> None:
    """Raise PlannerError if ``fit`` cannot answer ``estimand``, or if no cell can narrow it.

    The fit cannot answer it if the best fit or too many resamples give no positive finite number.
    """
    logs = estimand.logs(fit.draws)
    known = np.isfinite(logs)
    if not np.isfinite(estimand.logs(fit.values)) or np.mean(known) < USABLE:
        raise refuse_estimand(estimand, float(np.mean(known)))
    if np.std(logs[known]) < SAME:
        raise PlannerError(
            f"{estimand.name}: all resamples give the same value, so cells cannot narrow it. Narrow another quantity."
        )


def refuse_estimand(estimand: Estimand, usable: float) -> PlannerError:
    """Return the error for an ``estimand`` that is a positive number in the fraction ``usable`` of the resamples."""
    return PlannerError(
        f"{estimand.name}: this fit gives a positive number in only {usable:.0%} of its resamples. Ask for a quantity "
        "nearer to the runs, or add runs first."
    )


def half_width(how: Resampling, best: float, draws: Floats) -> float:
    """Return half the width of the 68 % interval of a logarithm.

    ``best`` is the value of the logarithm by the best fit, and ``draws`` (r,) are its values by the resamples.

    The result is infinite if an end of the interval is infinite or if there is no interval.
    """
    ends = how.interval(best, draws, LEVEL)
    return (ends[1] - ends[0]) / 2 if ends is not None and math.isfinite(ends[1] - ends[0]) else math.inf


def present_widths(fit: Fit, estimands: Sequence[Estimand]) -> tuple[float, ...]:
    """Return half the width of the present 68 % interval of each of ``estimands``, in logarithms.

    Raises PlannerError if the fit cannot answer one of them.
    """
    for one in estimands:
        check_estimand(fit, one)
    return tuple(half_width(fit.resampling, float(one.logs(fit.values)), one.logs(fit.draws)) for one in estimands)
