"""Range of values that a fitted number can take, derived from its column name, whether smaller is better, and its
runs.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from isoplan.engine.fitting.types.parameters import ANYTHING, Interval, parameter
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.warnings import FitWarning

SAMPLES = ("tokens", "jets", "events", "points", "samples")
"""Names of the unit of samples."""
POSITIVE: Interval = (0.0, float("inf"))
FROM_ONE: Interval = (1.0, float("inf"))
SIGNED = frozenset({"log", "ln", "log10", "logit", "delta", "diff", "change", "z", "score", "reward", "likelihood"})
"""Words in the name of a number that may be negative even if all its runs are positive."""
SHARES = frozenset(
    {"acc", "accuracy", "auc", "auroc", "coverage", "efficiency", "f1", "hit", "hitrate", "hr"}
    | {"map", "mrr", "ndcg", "precision", "recall", "share"}
)
"""Words in the name of a fraction: 0 to 1, or 0 to 100 if the runs are in percent."""


def possible(fit: Fit) -> Interval:
    """Return the smallest and the largest possible value of ``y`` of ``fit``; infinite if unknown.

    A loss or an error (smaller is better) whose runs are all positive is never negative, such as a cross-entropy or a
    squared error. A fraction is at most 1. All other numbers are unbounded.
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
    """Return the range of a number in ``unit``: at least one parameter, sample or sequence, else unbounded.

    If runs have less than one parameter or sample, they count in another unit; then the range is above zero.
    """
    axis = {"parameters": "N", "sequences": ""}.get(unit, "D" if unit in SAMPLES else None)
    if axis is None:
        return ANYTHING
    seen = fit.data.ranges.get(axis)
    return FROM_ONE if seen is None or seen[0] >= 1 else POSITIVE


def sample_unit(fit: Fit) -> str:
    """Return the name of the samples, from the column of D: jets, tokens, events; else samples."""
    column = fit.data.roles.get("D", "").lower()
    return next((word for word in SAMPLES if word[:-1] in column), "samples")


def levelled(fit: Fit) -> Fit:
    """Limit the interval of the level of a metric map to the possible values of its metric.

    A rejection, for example, is at least 1. If the best fit lies outside, the interval is kept and the fit gets a
    warning.
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
    """Return the warning that the level of the best fit is outside ``within``, the possible values of the metric."""
    end = within[0] if level < within[0] else within[1]
    ends = f"{within[0]:g} to {within[1]:g}" if math.isfinite(within[1]) else f"at least {within[0]:g}"
    return FitWarning(
        "level",
        f"The level {name} = {level:.3g} of the map is no value of {fit.spec.y} ({ends}): the runs do not determine "
        f"it. Use the map within the range of the runs only, or fix {name}, for example at {end:g}.",
    )
