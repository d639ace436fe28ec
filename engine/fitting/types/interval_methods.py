"""How the resamples of a fit were drawn, and how intervals are read from them.

- ``bc``: each refit draws runs with replacement; bias-corrected percentiles, expanded for the n - p degrees of freedom
  by sqrt(n / (n - p)) and Student's t over the normal quantile (Hesterberg 2015, Am. Stat. 69, 371, sec. 5). Asks
  nothing of the noise, but needs many runs: a draw of few repeats some and lacks others.
- ``percentile``: the same draws, plain percentiles; often too wide.
- ``residual``: each refit keeps the runs and draws their noise from the residuals, with Student's correction for the
  parameters that were fitted, and wider than equal scatter asks for: few runs cannot show that theirs is unequal.
  Percentiles are corrected for bias where runs are many; few do not show the bias.
- ``profile``: parameters drawn from the likelihood around the best fit, so that the percentiles of an exponent are its
  profile likelihood (F-test) interval. Needs no refits.

``auto`` takes ``residual`` below ``FEW`` runs a free parameter and ``bc`` above: from there on ``bc`` covers without an
assumption on the noise, and rather too much than too little. Law isoflop always takes ``residual``, around its curves
(``curve_noise``). docs/coverage.md shows what each covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.intervals import FEWEST, band
from isoplan.engine.fitting.types.spec import IntervalName

Method = Literal["bc", "percentile", "residual", "profile"]

FEW = 4
"""Runs a free parameter below which runs are too few to be resampled."""


def choose(asked: IntervalName, runs: int, parameters: int) -> Method:
    """What ``asked`` means for so many independent ``runs`` and free ``parameters``."""
    if asked != "auto":
        return asked
    return "residual" if runs < FEW * parameters else "bc"


def pairs_only(asked: IntervalName, who: str) -> Method:
    """What ``asked`` means where ``who`` can only draw runs; raises PlannerError for a method of noise."""
    if asked in ("residual", "profile"):
        raise PlannerError(f"{who} has no interval {asked}: choose bc or percentile.")
    return "percentile" if asked == "percentile" else "bc"


@dataclass(frozen=True)
class Resampling:
    """``method`` drew the resamples of so many independent ``runs``, for so many free ``parameters``.

    The last ``floorless`` of them are of the law without its floor.

    Where the runs do not settle whether the loss has a floor, half the resamples have none, and an interval runs from
    the lower end of either half to the upper end of either: percentiles of a mixture would leave out half of each.
    """

    method: Method = "bc"
    floorless: int = 0
    runs: int = 0
    parameters: int = 0

    def band(self, central: ArrayLike, draws: ArrayLike, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends for ``central`` (s) and ``draws`` (r, s), r the resamples of the fit: two arrays (s).

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
        """How many times wider than their percentiles resampled runs make an interval; 1 where n is not known."""
        freedom = self.runs - self.parameters
        if freedom <= 0:
            return 1.0
        upper = (1 + level) / 2
        return float(np.sqrt(self.runs / freedom) * stdtrit(freedom, upper) / ndtri(upper))

    def interval(self, central: float, draws: ArrayLike, level: float) -> tuple[float, float] | None:
        """The same for one number with ``draws`` (r,); None where there is no interval."""
        low, high = self.band(np.asarray([central], float), np.asarray(draws, float).reshape(-1, 1), level)
        return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))

    def limit(self, central: float, draws: ArrayLike, level: float) -> tuple[float, float] | None:
        """The one-sided interval of a floor that is not resolved, from ``draws`` (r,): no lower end, an upper limit."""
        above = np.asarray(draws, float)[: len(np.atleast_1d(draws)) - self.floorless]
        return (-math.inf, max(float(np.quantile(above, level)), central)) if len(above) >= FEWEST else None
