"""Intervals of the parameters of a fit and of numbers derived from them, and the confidence curve of a floor.

The bias-corrected percentile interval shifts the percentiles by the distance of the best fit from the median of its
resamples (Efron 1981, "Nonparametric standard errors and confidence intervals", sec. 4). It is invariant under monotone
transforms, so an interval of log C gives the interval of C.

Methods to draw the resamples of a fit:

- ``bc``: each refit draws runs with replacement. Percentiles are bias-corrected and expanded for the n - p degrees of
  freedom by sqrt(n / (n - p)) and by Student's t over the normal quantile (Hesterberg 2015, Am. Stat. 69, 371, sec. 5).
  It assumes nothing about the noise, but needs many runs: a draw from few runs repeats some and omits others.
- ``percentile``: the same draws with plain percentiles; often too wide.
- ``residual``: each refit keeps the runs and draws their noise from the residuals, with Student's correction for the
  fitted parameters. Intervals are wider than equal scatter requires, because few runs cannot show that their scatter
  is unequal. Percentiles are corrected for bias only if there are many runs, because few runs do not show the bias.
- ``profile``: parameters are drawn from the likelihood around the best fit, so that the percentiles of an exponent are
  its profile likelihood (F-test) interval. It needs no refits.

``auto`` uses ``residual`` below ``FEW`` runs per free parameter and ``bc`` from there on. With that many runs ``bc``
covers without an assumption about the noise, and rather too much than too little. Law isoflop always uses ``residual``,
around its curves (``curve_noise``). docs/coverage.md gives the coverage of each method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from scipy.special import ndtr, ndtri, stdtrit

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.spec import IntervalName
from isoplan.engine.fitting.types.text import Interval
from isoplan.engine.laws import Law
from isoplan.engine.laws.law import Values

Percentiles = Literal["bc", "percentile"]
Method = Literal["bc", "percentile", "residual", "profile"]

FEWEST = 20
"""Smallest number of resamples that gives an interval."""
FEW = 4
"""Runs per free parameter below which runs are not resampled."""


def interval(central: float, draws: ArrayLike, level: float, method: Percentiles = "bc") -> Interval | None:
    """Return the interval of one number from its best fit and its resamples ``draws`` (r,), at ``level`` in (0, 1).

    An infinite end means unbounded on that side. NaN draws (resamples for which the number does not exist) are left
    out. None if ``central`` is NaN or fewer than 20 draws are numbers.
    """
    low, high = band(np.asarray([central], float), np.asarray(draws, float).reshape(-1, 1), level, method)
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


def band(
    central: ArrayLike, draws: ArrayLike, level: float, method: Percentiles = "bc", expand: float = 1.0
) -> tuple[Floats, Floats]:
    """Return lower and upper ends for many numbers at once: ``central`` (s), ``draws`` (r, s) -> two arrays (s).

    Same rules as ``interval``; both ends are NaN if there is no interval. ``expand`` widens the percentiles by
    multiplying their normal scores.
    """
    centre = np.asarray(central, float)
    ordered = np.sort(np.asarray(draws, float), axis=0)  # NaN is sorted last
    count = np.sum(~np.isnan(ordered), axis=0)
    tail = float(ndtr(expand * ndtri((1 - level) / 2)))
    low_share, high_share = np.full(centre.shape, tail), np.full(centre.shape, 1 - tail)
    if method == "bc":
        shift = 2 * _bias(centre, ordered, count)
        low_share, high_share = ndtr(shift + ndtri(tail)), ndtr(shift + ndtri(1 - tail))
    none = (count < FEWEST) | np.isnan(centre)
    low, high = (np.where(none, np.nan, _quantile(ordered, count, share)) for share in (low_share, high_share))
    return low, high


def _bias(centre: Floats, ordered: Floats, count: NDArray[np.int_]) -> Floats:
    """Return z0, the normal score of the fraction of draws below the best fit; a tie counts half."""
    below = np.sum(ordered < centre, axis=0) + 0.5 * np.sum(ordered == centre, axis=0)
    total = np.maximum(count, 1)
    return ndtri(np.clip(below / total, 0.5 / total, 1 - 0.5 / total))


def _quantile(ordered: Floats, count: NDArray[np.int_], share: Floats) -> Floats:
    """Return the quantile ``share`` (s) of the first ``count`` (s) sorted draws, by linear interpolation.

    Draw i is the quantile i / (count + 1), the probability that one more draw lies below it. Infinite draws are
    allowed.
    """
    if ordered.shape[0] == 0:
        return np.full(share.shape, np.nan)
    at = np.clip(share * (count + 1) - 1, 0, np.maximum(count - 1, 0))
    left = np.floor(at).astype(np.int64)
    right = np.minimum(left + 1, np.maximum(count - 1, 0))
    a = np.take_along_axis(ordered, left[None], axis=0)[0]
    b = np.take_along_axis(ordered, right[None], axis=0)[0]
    part = at - left
    with np.errstate(invalid="ignore"):
        between = np.where(np.isneginf(a), a, a + part * (b - a))
    return np.where((a == b) | (part == 0), a, between)


def cut(ends: Interval | None, within: tuple[float, float]) -> Interval | None:
    """Clip an interval to ``within``; an infinite upper end stays infinite."""
    if ends is None or ends[0] == math.inf:
        return ends
    low, high = (min(max(end, within[0]), within[1]) for end in ends)
    return (low, math.inf if ends[1] == math.inf else high)


def choose(asked: IntervalName, runs: int, parameters: int) -> Method:
    """Return the method for ``asked``, given the numbers of independent ``runs`` and free ``parameters``."""
    if asked != "auto":
        return asked
    return "residual" if runs < FEW * parameters else "bc"


def pairs_only(asked: IntervalName, who: str) -> Method:
    """Return the method for ``asked`` if ``who`` can only draw runs. Raises PlannerError for a method that draws
    noise.
    """
    if asked in ("residual", "profile"):
        raise PlannerError(f"{who} has no interval {asked}: choose bc or percentile.")
    return "percentile" if asked == "percentile" else "bc"


@dataclass(frozen=True)
class Resampling:
    """Method of the resamples, with the numbers of independent ``runs`` and free ``parameters``.

    The last ``floorless`` resamples are of the law without its floor.

    If the runs do not resolve the floor, half the resamples have no floor. An interval then extends from the lower end
    of either half to the upper end of either; percentiles of the mixture would leave out half of each.
    """

    method: Method = "bc"
    floorless: Annotated[int, Field(ge=0)] = 0
    runs: Annotated[int, Field(ge=0)] = 0
    parameters: Annotated[int, Field(ge=0)] = 0

    def band(self, central: ArrayLike, draws: ArrayLike, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper ends (s) each, for ``central`` (s) and ``draws`` (r, s), r the resamples of the fit.

        An interval contains its own estimate: a bias beyond one standard error would move the percentiles past it.
        """
        low, high = self._percentiles(central, draws, level)
        centre = np.where(np.isfinite(central), central, np.nan)
        return np.where(centre < low, centre, low), np.where(centre > high, centre, high)

    def _percentiles(self, central: ArrayLike, draws: ArrayLike, level: float) -> tuple[Floats, Floats]:
        at = np.asarray(draws, float)
        if not self.floorless:
            if self.method == "bc":
                return band(central, at, level, "bc", self._expand(level))
            many = self.method == "residual" and self.runs >= FEW * self.parameters
            return band(central, at, level, "bc" if many else "percentile")
        cut = len(at) - self.floorless
        one, other = (band(central, part, level, "percentile") for part in (at[:cut], at[cut:]))
        return np.fmin(one[0], other[0]), np.fmax(one[1], other[1])

    def _expand(self, level: float) -> float:
        """Return the factor by which intervals of resampled runs are wider than their percentiles; 1 if n is
        unknown.
        """
        freedom = self.runs - self.parameters
        if freedom <= 0:
            return 1.0
        upper = (1 + level) / 2
        return float(np.sqrt(self.runs / freedom) * stdtrit(freedom, upper) / ndtri(upper))

    def interval(self, central: float, draws: ArrayLike, level: float) -> Interval | None:
        """Return the interval of one number with ``draws`` (r,); None if there is none."""
        low, high = self.band(np.asarray([central], float), np.asarray(draws, float).reshape(-1, 1), level)
        return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))

    def limit(self, central: float, draws: ArrayLike, level: float) -> Interval | None:
        """Return the one-sided interval of an unresolved floor from ``draws`` (r,): no lower end, an upper limit."""
        above = np.asarray(draws, float)[: len(np.atleast_1d(draws)) - self.floorless]
        return (-math.inf, max(float(np.quantile(above, level)), central)) if len(above) >= FEWEST else None


EXCLUDED = 0.025
"""Largest confidence in a floor of zero for which the floor is resolved: its 95 % interval excludes zero."""
OUTSIDE = 0.16
"""Confidence in each tail of a 68 % interval."""
LARGEST = 8.0
"""Largest absolute normal score: beyond it a probability is 0 or 1 in floating point."""
SURE = 0.95
"""Confidence from which a statement about the floor is made without a probability."""
POINTS = Field(min_length=2, max_length=2_000)
"""Number of points of a confidence curve."""


@dataclass(frozen=True)
class FloorConfidence:
    """Confidence that the floor ``name`` lies below a value, as normal scores.

    ``score`` (k,) increases with the floors ``at`` (k,), which start at zero, the smallest possible floor of a loss. A
    score is the standard normal quantile of the confidence.
    """

    name: str
    at: Annotated[tuple[float, ...], POINTS]
    score: Annotated[tuple[float, ...], POINTS]

    def below(self, floor: ArrayLike) -> Floats:
        """Return the confidence, 0 to 1, that the floor is below each of ``floor`` (any shape); 0 for negative
        values.
        """
        x = np.asarray(floor, float)
        found = ndtr(np.interp(x, self.at, self.score))
        return np.where(x < self.at[0], 0.0, np.where(np.isnan(x), np.nan, found))

    def upper(self, level: float) -> float:
        """Return the value below which the floor lies with confidence ``level``; infinite if the runs give no limit."""
        wanted = float(ndtri(level))
        if wanted > self.score[-1]:
            return math.inf
        return float(np.interp(wanted, self.score, self.at))

    def agrees(self, floor: float) -> bool:
        """Whether ``floor``, from another objective, lies within the 68 % interval of the curve."""
        return bool(OUTSIDE <= self.below(floor) <= 1 - OUTSIDE)

    @property
    def resolved(self) -> bool:
        """Whether the runs exclude a floor of zero and limit the floor from above."""
        return bool(ndtr(self.score[0]) <= EXCLUDED and math.isfinite(self.upper(1 - EXCLUDED)))


def floor_interval(
    how: Resampling, confidence: FloorConfidence | None, value: float, draws: Floats, level: float
) -> Interval | None:
    """Return the one-sided interval at ``level`` of an unresolved floor: its upper limit, at least its ``value``.

    The lower end is minus infinity, that is, not determined. Fits without a confidence curve use the ``draws`` (r,).
    """
    if confidence is None:
        return how.limit(value, draws, level)
    return -math.inf, max(confidence.upper(level), value)


def leading_axis(law: Law, values: Values, most: Mapping[str, float]) -> str:
    """Return the axis of the largest term at the end of the runs, ``most`` of each axis.

    Larger runs along this axis decrease the loss most.
    """
    found = ((t.axis, t.value(values, np.asarray(most[t.axis]))) for t in law.terms if t.axis and t.axis in most)
    parts = {axis: float(part) for axis, part in found}
    return max(parts, key=lambda axis: parts[axis])
