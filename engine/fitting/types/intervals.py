"""Intervals of fitted parameters and of numbers computed from them, and the confidence curve of a floor.

The bias-corrected percentile interval shifts the percentiles, to correct for the distance of the best fit from the
median of its resamples (Efron 1981, "Nonparametric standard errors and confidence intervals", sec. 4). These intervals
do not depend on the scale: the interval of log C, converted to C, is the interval of C.

Methods to draw the resamples of a fit with n runs and p free parameters:

- ``bc``: each refit draws runs with replacement. Percentiles are corrected for bias. They are also widened for the n -
  p degrees of freedom: by sqrt(n / (n - p)), and by the ratio of Student's t quantile to the normal quantile
  (Hesterberg 2015, Am. Stat. 69, 371, sec. 5). The method assumes nothing about the noise. It needs many runs, because
  a draw from few runs repeats some runs and omits others.
- ``percentile``: the same draws with plain percentiles. These intervals are often too wide.
- ``residual``: each refit uses all runs and draws their noise from the residuals. The residuals are scaled up
  (Student's correction), because a fit makes residuals smaller than the noise. If all runs scatter equally, the
  intervals are wider than necessary, because a few runs cannot show equal scatter. Percentiles are corrected for bias
  only if there are many runs, because few runs do not show the bias.
- ``profile``: parameters are drawn from the likelihood around the best fit. The percentiles of an exponent are then its
  profile likelihood (F-test) interval. The method needs no refits.

``auto`` uses ``residual`` if there are fewer than ``FEW`` runs per free parameter, and ``bc`` otherwise. With at least
``FEW`` runs per parameter, the coverage of ``bc`` is at or above its nominal value for every tested distribution of the
noise. The law isoflop always uses ``residual``, with the residuals around its curves (``curve_noise``).
docs/coverage.md shows the coverage of each method.
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
"""Smallest number of resamples from which an interval is computed."""
FEW = 4
"""Minimum number of runs per free parameter for ``auto`` to use ``bc``. With fewer runs, it uses ``residual``."""


def interval(central: float, draws: ArrayLike, level: float, method: Percentiles = "bc") -> Interval | None:
    """Return the interval at ``level`` (0 to 1) of a number with best fit ``central`` and resamples ``draws`` (r,).

    An infinite end means that the number is not bounded on that side. A draw is NaN if the number does not exist for
    that resample; such draws are omitted. The result is None if ``central`` is NaN or if fewer than 20 draws remain.
    """
    low, high = band(np.asarray([central], float), np.asarray(draws, float).reshape(-1, 1), level, method)
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


def band(
    central: ArrayLike, draws: ArrayLike, level: float, method: Percentiles = "bc", expand: float = 1.0
) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends (s) of the intervals of many numbers.

    ``central`` (s) are the best fits and ``draws`` (r, s) the resamples. The function ``interval`` describes the rules;
    both ends are NaN if there is no interval. ``expand`` multiplies the normal scores of the percentiles. A value above
    1 therefore widens the intervals.
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
    """Return the normal score of the fraction of draws below ``centre``. A draw equal to ``centre`` counts as half."""
    below = np.sum(ordered < centre, axis=0) + 0.5 * np.sum(ordered == centre, axis=0)
    total = np.maximum(count, 1)
    return ndtri(np.clip(below / total, 0.5 / total, 1 - 0.5 / total))


def _quantile(ordered: Floats, count: NDArray[np.int_], share: Floats) -> Floats:
    """Return the quantile ``share`` (s) of the first ``count`` (s) sorted draws, by linear interpolation.

    The i-th smallest draw is the quantile i / (count + 1). This is the probability that a further draw is below it.
    Draws may be infinite.
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
    """Return the interval ``ends`` clipped to the range ``within``. An infinite upper end stays infinite."""
    if ends is None or ends[0] == math.inf:
        return ends
    low, high = (min(max(end, within[0]), within[1]) for end in ends)
    return (low, math.inf if ends[1] == math.inf else high)


def choose(asked: IntervalName, runs: int, parameters: int) -> Method:
    """Return the method of resampling: ``asked`` itself or, if ``asked`` is "auto", the default method.

    The default depends on the number of independent runs (``runs``) and the number of free parameters (``parameters``).
    """
    if asked != "auto":
        return asked
    return "residual" if runs < FEW * parameters else "bc"


def pairs_only(asked: IntervalName, who: str) -> Method:
    """Return the method of resampling for an estimator that can only resample runs; ``asked`` is the requested method.

    Raises PlannerError, which names the estimator ``who``, for a method that draws noise.
    """
    if asked in ("residual", "profile"):
        raise PlannerError(f"{who} has no interval {asked}: choose bc or percentile.")
    return "percentile" if asked == "percentile" else "bc"


@dataclass(frozen=True)
class Resampling:
    """Method of the resamples, with the numbers of independent ``runs`` and of free ``parameters``.

    The last ``floorless`` resamples are fits of the law without its floor. If the runs do not resolve the floor, half
    of all resamples are such fits. One interval is then computed for the fits with the floor, and another for the fits
    without the floor. The result extends from the smaller lower end to the larger upper end of these two intervals.
    """

    method: Method = "bc"
    floorless: Annotated[int, Field(ge=0)] = 0
    runs: Annotated[int, Field(ge=0)] = 0
    parameters: Annotated[int, Field(ge=0)] = 0

    def band(self, central: ArrayLike, draws: ArrayLike, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper ends (s) of the intervals of numbers with best fits ``central`` and ``draws`` (r, s).

        If an interval does not contain its best fit, the interval is extended to the best fit. This happens if a bias
        above one standard error shifts both percentiles to the same side of the best fit.
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
        """Return the factor by which ``bc`` widens percentiles (see the module docstring); 1 if ``runs`` is unknown."""
        freedom = self.runs - self.parameters
        if freedom <= 0:
            return 1.0
        upper = (1 + level) / 2
        return float(np.sqrt(self.runs / freedom) * stdtrit(freedom, upper) / ndtri(upper))

    def interval(self, central: float, draws: ArrayLike, level: float) -> Interval | None:
        """Return the interval of one number from its best fit and its ``draws`` (r,); None if there is no interval."""
        low, high = self.band(np.asarray([central], float), np.asarray(draws, float).reshape(-1, 1), level)
        return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))

    def limit(self, central: float, draws: ArrayLike, level: float) -> Interval | None:
        """Return the interval of an unresolved floor from its ``draws`` (r,): from minus infinity to an upper limit."""
        above = np.asarray(draws, float)[: len(np.atleast_1d(draws)) - self.floorless]
        return (-math.inf, max(float(np.quantile(above, level)), central)) if len(above) >= FEWEST else None


EXCLUDED = 0.025
"""A floor is resolved if the confidence in a floor of zero is at most this number. The 95 % interval of the floor then
excludes zero.
"""
OUTSIDE = 0.16
"""Probability outside a 68 % interval on each of its two sides."""
LARGEST = 8.0
"""Largest absolute normal score that is stored. A larger score means a probability of 0 or 1 in floating point."""
SURE = 0.95
"""Confidence above which a statement about the floor is shown without its probability."""
POINTS = Field(min_length=2, max_length=2_000)
"""Allowed number of points of a confidence curve."""


@dataclass(frozen=True)
class FloorConfidence:
    """Confidence curve of the parameter ``name``, the floor of a law.

    ``at`` (k,) are increasing values of the floor; the first is zero, which is the smallest possible floor of a loss.
    ``score`` (k,) are the standard normal quantiles of the confidence that the floor is below these values.
    """

    name: str
    at: Annotated[tuple[float, ...], POINTS]
    score: Annotated[tuple[float, ...], POINTS]

    def below(self, floor: ArrayLike) -> Floats:
        """Return the confidence (0 to 1) that the floor is below each value of ``floor``; 0 for negative values."""
        x = np.asarray(floor, float)
        found = ndtr(np.interp(x, self.at, self.score))
        return np.where(x < self.at[0], 0.0, np.where(np.isnan(x), np.nan, found))

    def upper(self, level: float) -> float:
        """Return the upper limit of the floor with confidence ``level``; infinite if the runs give no limit."""
        wanted = float(ndtri(level))
        if wanted > self.score[-1]:
            return math.inf
        return float(np.interp(wanted, self.score, self.at))

    def agrees(self, floor: float) -> bool:
        """Return whether ``floor``, fitted with another objective, is within the 68 % interval of this curve."""
        return bool(OUTSIDE <= self.below(floor) <= 1 - OUTSIDE)

    @property
    def resolved(self) -> bool:
        """Whether the 95 % interval of the floor has a finite upper end and excludes zero."""
        return bool(ndtr(self.score[0]) <= EXCLUDED and math.isfinite(self.upper(1 - EXCLUDED)))


def floor_interval(
    how: Resampling, confidence: FloorConfidence | None, value: float, draws: Floats, level: float
) -> Interval | None:
    """Return the one-sided interval at ``level`` of an unresolved floor. It contains the best fit ``value``.

    The lower end is minus infinity, because the runs do not determine a lower limit. The upper end is computed from the
    confidence curve, or from the ``draws`` (r,) if the fit has no curve.
    """
    if confidence is None:
        return how.limit(value, draws, level)
    return -math.inf, max(confidence.upper(level), value)


def leading_axis(law: Law, values: Values, most: Mapping[str, float]) -> str:
    """Return the axis whose term in the law is the largest for the largest runs.

    ``most`` contains the largest value of the runs on each axis. Larger runs along the returned axis decrease the loss
    most.
    """
    found = ((t.axis, t.value(values, np.asarray(most[t.axis]))) for t in law.terms if t.axis and t.axis in most)
    parts = {axis: float(part) for axis, part in found}
    return max(parts, key=lambda axis: parts[axis])
