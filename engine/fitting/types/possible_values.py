"""Range of values that a fitted number can have.

The range follows from the name of the column, its direction (smaller or larger is better), and its values in the runs.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from isoplan.engine.fitting.types.parameters import ANYTHING, Interval, parameter
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.warnings import FitWarning

SAMPLES = ("tokens", "jets", "events", "points", "samples")
"""Units of samples that are recognised in the name of the column of D."""
POSITIVE: Interval = (0.0, float("inf"))
FROM_ONE: Interval = (1.0, float("inf"))
SIGNED = frozenset({"log", "ln", "log10", "logit", "delta", "diff", "change", "z", "score", "reward", "likelihood"})
"""Words in the name of a column that mean that values may be negative, even if the values of all runs are positive."""
SHARES = frozenset(
    {"acc", "accuracy", "auc", "auroc", "coverage", "efficiency", "f1", "hit", "hitrate", "hr"}
    | {"map", "mrr", "ndcg", "precision", "recall", "share"}
)
"""Words in the name of a column that mean that values are fractions: 0 to 1, or 0 to 100 in percent."""


def possible(fit: Fit) -> Interval:
    """Return the smallest and the largest possible value of the fitted quantity ``y``; infinite if unknown.

    If smaller values are better and all runs are positive, ``y`` is never negative; examples are a cross-entropy and a
    squared error. A perplexity is at least 1. If larger values are better, a fraction such as a recall is 0 to 1 (or 0
    to 100 in percent), and a rejection is at least 1. All other quantities are unbounded.
    """
    seen, words = fit.data.ranges.get(fit.spec.y), set(re.split(r"[^a-z0-9]+|(?<=[a-z])(?=\d)", fit.spec.y.lower()))
    if words & SIGNED or (seen is not None and seen[0] < 0):
        return ANYTHING
    if not fit.larger_is_better:
        floor = 1.0 if words & {"perplexity", "ppl"} and (seen is None or seen[0] >= 1) else 0.0
        return (floor, float("inf")) if seen is None or seen[0] > 0 else ANYTHING
    if words & SHARES and seen is not None and seen[1] <= 100:
        return (0.0, 1.0 if seen[1] <= 1 else 100.0)
    return FROM_ONE if words & {"r", "rejection"} and seen is not None and seen[0] >= 1 else ANYTHING


def least_of(fit: Fit, unit: str) -> Interval:
    """Return the possible range of a number in ``unit``.

    A number of parameters, samples or sequences is at least one; a number in another unit is unbounded. A run
    below one parameter or sample shows that the table has another unit, such as millions. The range then contains all
    positive numbers.
    """
    axis = {"parameters": "N", "sequences": ""}.get(unit, "D" if unit in SAMPLES else None)
    if axis is None:
        return ANYTHING
    seen = fit.data.ranges.get(axis)
    return FROM_ONE if seen is None or seen[0] >= 1 else POSITIVE


def sample_unit(fit: Fit) -> str:
    """Return the unit of the samples, such as "jets", from the name of the column of D; "samples" if unknown."""
    column = fit.data.roles.get("D", "").lower()
    return next((word for word in SAMPLES if word[:-1] in column), "samples")


def levelled(fit: Fit) -> Fit:
    """Return the fit of a metric map with the interval of its level (parameter C) clipped to the possible range.

    The range is that of the metric. For example, a rejection is at least 1. If the best-fit level is not a possible
    value, the interval is not changed and a warning is added to the fit.
    """
    name = fit.law.level
    if not name or name in fit.spec.fixed:
        return fit
    within, level = possible(fit), float(fit.values[name])
    if not within[0] <= level <= within[1]:
        return replace(fit, warnings=(*fit.warnings, _beyond(fit, name, level, within)))
    made = parameter(name, level, fit.draws[name], fit.resampling.interval, within)
    return replace(fit, parameters=tuple(made if p.name == name else p for p in fit.parameters))


def _beyond(fit: Fit, name: str, level: float, within: Interval) -> FitWarning:
    """Return the warning that the best-fit ``level`` is outside ``within``, the possible values of the metric."""
    end = within[0] if level < within[0] else within[1]
    ends = f"{within[0]:g} to {within[1]:g}" if math.isfinite(within[1]) else f"at least {within[0]:g}"
    return FitWarning(
        "level",
        f"The level {name} = {level:.3g} of the map is not a possible value of {fit.spec.y} ({ends}): the runs do not "
        f"determine it. Use the map only within the range of the runs, or fix {name}, for example at {end:g}.",
    )
