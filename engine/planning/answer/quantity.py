"""A number of an answer, with its intervals and its distance from the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isoplan.engine.arrays import Floats, Ints, finite
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.intervals import FEWEST, Resampling, cut
from isoplan.engine.fitting.types.possible_values import least_of
from isoplan.engine.fitting.types.result import Fit, Interval

BAND_DRAWS = 400
"""Maximum number of resamples for the bands of figures. It is small because a slider must respond at once. Plans use
all resamples.
"""
STATED = 3.0
"""A number is shown only up to this distance from the runs, in decades (factors of ten)."""
UNPUBLISHED = "no interval: correlations unpublished"
NOT_ALWAYS_REACHED = "no interval: not every resample reaches the target"
FEW_RESAMPLES = f"no interval: the fit has fewer than {FEWEST} resamples"
NOT_RESAMPLED = "no interval: the fit was made without resampling"

IMPOSSIBLE = "not possible"
"""Beginning of the note of a number for which the law gives an impossible value."""
WITHHELD = "not stated: too far beyond the runs"
"""Note that replaces a number too far beyond the runs."""

INTERVALS = ("ci68", "ci95")
OUT_OF_REACH = (math.inf, math.inf)
"""Interval of a cost if almost no resample reaches the target: even its lower end is infinite."""


@dataclass(frozen=True)
class Quantity:
    """A number of an answer in ``unit``, with its 68 % and 95 % intervals.

    ``value`` is None if the answer gives no number. For example, the best fit does not reach the target, the law does
    not determine the quantity, or the runs do not support the answer. An interval is None if it is unknown. An infinite
    end means that the interval is unbounded on this side. The interval (inf, inf) means that almost no resample reaches
    the target.

    ``beyond`` is the distance of the number from the range of the runs, in decades. It is 0 inside this range, or if
    the range is unknown. ``note`` states why the value or the interval is missing. For a number that the question
    gives, the note is "given".
    """

    value: float | None
    ci68: Interval | None = None
    ci95: Interval | None = None
    unit: str = ""
    beyond: float = 0.0
    note: str = ""


def kept(r: int, most: int) -> Ints:
    """Return the indices of at most ``most`` of ``r`` resamples. The indices are evenly spaced."""
    return np.arange(r) if r <= most else np.linspace(0, r - 1, most).round().astype(np.int64)


def thin(fit: Fit, most: int = BAND_DRAWS) -> Fit:
    """Return the fit with at most ``most`` of its resamples, evenly spaced."""
    r, how = len(fit.resamples), fit.resampling
    if r <= most:
        return fit
    left = kept(r, most)
    how = replace(how, floorless=int(np.sum(left >= r - how.floorless)))
    return replace(fit, resamples=fit.resamples[left], resampling=how)


def beyond(value: float | None, span: Interval | None) -> float:
    """Return the distance in decades between ``value`` and the range ``span`` = (low, high).

    The distance is 0 if ``value`` is inside the range, or if ``value`` or ``span`` is unknown.
    """
    if value is None or span is None or not (0 < value < math.inf and 0 < span[0] <= span[1] < math.inf):
        return 0.0
    at, low, high = (math.log10(x) for x in (value, *span))
    return max(0.0, at - high, low - at)


def measure(
    fit: Fit, value: float, draws: Floats, unit: str, span: Interval | None = None, within: Interval | None = None
) -> Quantity:
    """Return a number with intervals from its best-fit ``value`` and its ``draws`` (r,), one per resample of ``fit``.

    An infinite draw is a resample that cannot reach the target. An end of an interval is infinite if its percentile
    falls on an infinite draw. NaN draws are skipped: the number does not exist for these resamples.

    ``within`` is the range of possible values, by default at least one parameter or one sample. Intervals are cut to
    this range. A value outside this range becomes None, and the note states why.

    ``span`` is the range of the runs. An end of an interval that lies more than ``STATED`` decades outside ``span``
    becomes infinite. This rule does not apply if ``value`` is not finite.
    """
    within = within or least_of(fit, unit)
    if math.isfinite(value) and not within[0] <= value <= within[1]:
        return Quantity(None, unit=unit, note=_impossible(value, within))
    known: float | None = finite(value)
    ci68, ci95 = (cut(_ends(value, draws, level, fit.resampling), within) for level in (0.68, 0.95))
    note = "" if ci68 else no_interval(fit)
    stated = [known] if known is not None else [x for ends in (ci68, ci95) for x in ends or ()]
    far = max((beyond(x, span) for x in stated), default=0.0)
    if known is not None:
        ci68, ci95 = (_opened(ends, span) for ends in (ci68, ci95))
    return Quantity(known, ci68, ci95, unit, far, note)


def given(fit: Fit, value: float, unit: str, span: Interval | None = None) -> Quantity:
    """Return a number that the question gives. Both ends of its intervals equal ``value``: it has no uncertainty."""
    ends = (value, value) if len(fit.resamples) else None
    return Quantity(value, ends, ends, unit, beyond(value, span), "given")


def unsaid(fit: Fit, unit: str, what: str) -> Quantity:
    """Return a number without a value, with a note that the law does not determine ``what``."""
    return Quantity(None, unit=unit, note=f"the law on {fit.law.axis} does not determine {what}")


def withheld(q: Quantity) -> Quantity:
    """Return ``q`` without value and intervals, because the runs do not support the answer."""
    return replace(q, value=None, ci68=None, ci95=None, note=WITHHELD)


def no_interval(fit: Fit) -> str:
    """Return the reason why the numbers of ``fit`` have no interval."""
    if len(fit.resamples):
        few = len(fit.resamples) < FEWEST
        return FEW_RESAMPLES if few else "no interval: too few resamples give this number"
    return UNPUBLISHED if fit.objective is None else NOT_RESAMPLED


def reach(span: Interval | None) -> Interval:
    """Return the smallest and the largest number that runs of the range ``span`` support.

    The result is (0, inf) if ``span`` is unknown.
    """
    if span is None or not 0 < span[0] <= span[1] < math.inf:
        return (0.0, math.inf)
    return (span[0] / 10**STATED, span[1] * 10**STATED)


def _opened(ends: Interval | None, span: Interval | None) -> Interval | None:
    """Return the interval ``ends``; an end that lies too far outside the runs' range ``span`` becomes infinite."""
    if ends is None:
        return None
    if ends == OUT_OF_REACH:  # the interval must contain the value, which is finite
        return (-math.inf, math.inf)
    (low, high), (least, most) = ends, reach(span)
    return (-math.inf if 0 < low < least else low, math.inf if high > most else high)


def _impossible(value: float, within: Interval) -> str:
    end = (
        f"the smallest possible value is {within[0]:g}"
        if value < within[0]
        else f"the largest possible value is {within[1]:g}"
    )
    return f"{IMPOSSIBLE}: the law gives {value:.3g}, {end}"


def _ends(value: float, draws: Floats, level: float, how: Resampling) -> Interval | None:
    # The bias correction needs the rank of the best fit among the resamples. An infinite best fit has no useful rank,
    # so plain percentiles are used.
    how = replace(how, method="percentile") if math.isinf(value) else how
    ends = how.interval(value, draws, level)
    if ends is None:
        return None
    draws = draws[~np.isnan(draws)]
    reach = float(np.mean(np.isfinite(draws)))
    low, high = (1 - level) / 2, (1 + level) / 2
    return (ends[0] if low <= reach else math.inf, ends[1] if high <= reach else math.inf)


def to_json(q: Quantity) -> dict[str, Any]:
    """Return a number as a JSON object. A missing value, a missing interval and an infinite end are null.

    An interval [null, null] is either out of reach (inf, inf) or unbounded (-inf, inf). By default, ``from_json`` reads
    such an interval as out of reach if ``value`` is null, and as unbounded otherwise. If this is wrong for an interval,
    the object has the key ``unreachable``, which lists the names of all intervals that are out of reach.
    """
    ends = {name: getattr(q, name) for name in INTERVALS}
    endless = [name for name, ci in ends.items() if ci is not None and math.isinf(ci[0]) and math.isinf(ci[1])]
    out = [name for name in endless if ends[name] == OUT_OF_REACH]
    raw: dict[str, Any] = {
        "value": q.value,
        **{name: finite(ci) for name, ci in ends.items()},
        "beyond": q.beyond,
        "unit": q.unit,
        "note": q.note,
    }
    return raw if out == (endless if q.value is None else []) else raw | {"unreachable": out}


def from_json(raw: Mapping[str, Any]) -> Quantity:
    """Read a number from a JSON object. Raises PlannerError if the object is not a number."""
    try:
        value = None if raw["value"] is None else float(raw["value"])
        out = raw.get("unreachable", INTERVALS if value is None else ())
        ends = [OUT_OF_REACH if raw[key] == [None, None] and key in out else _unbounded(raw[key]) for key in INTERVALS]
        return Quantity(value, ends[0], ends[1], str(raw["unit"]), float(raw["beyond"]), str(raw["note"]))
    except (KeyError, TypeError, ValueError) as error:
        raise PlannerError(f"This is not a plan that Isoplan wrote: a quantity is not readable ({error}).") from error


def _unbounded(raw: list[float | None] | None) -> Interval | None:
    if raw is None:
        return None
    low, high = raw
    return (-math.inf if low is None else float(low), math.inf if high is None else float(high))
