"""Location of a fitted optimum relative to the range of the sweep, with the fraction of resamples at each location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from isoplan.engine.arrays import Floats

Place = Literal["inside", "outside left", "outside right", "not located"]
PLACES: tuple[Place, ...] = ("inside", "outside left", "outside right", "not located")
SAID: dict[Place, str] = {
    "inside": "inside",
    "outside left": "left of",
    "outside right": "right of",
    "not located": "not located by",
}
FLAT = "flat"
"""Code of the warning that the runs do not differ from a constant by more than their scatter."""
EDGE = "edge"
"""Code of the warning that the loss still decreases at one end of the sweep."""
MONOTONE = 0.9
"""A loss is monotone only if its absolute rank correlation with the axis is at least this number."""
LEVEL = 0.05
"""Largest p-value of an F test at which the runs count as different from a constant."""
SURE = 0.9
"""The location is "inside" only if at least this fraction of resamples have their optimum inside the sweep."""


@dataclass(frozen=True)
class OptimumLocation:
    """Location of an optimum relative to a sweep from ``low`` to ``high``.

    ``place`` is the location. ``shares`` are the fractions of the resamples at each location, in the order of PLACES.
    If there are no resamples, ``shares`` is empty, and the best fit alone determines ``place``. ``flat`` is True if the
    runs differ from a constant by no more than their scatter. The optimum then counts as not located, independently of
    the resamples. ``edge`` is True if the runs improve up to an end of the sweep. An optimum inside the sweep then
    follows only from the form of the law, so it also counts as not located.
    """

    place: Place
    low: float
    high: float
    shares: tuple[float, ...]
    flat: bool = False
    edge: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON. ``shares`` is a dict by location; it is empty if there are no resamples."""
        named = dict(zip(PLACES, self.shares, strict=False))
        doubts = {"flat": self.flat, "edge": self.edge}
        return {"place": self.place, "low": self.low, "high": self.high, "shares": named, **doubts}

    @property
    def short(self) -> str:
        """The location as a short text, such as ``inside the sweep`` or ``left of the sweep``."""
        return f"{SAID[self.place]} the sweep"

    @property
    def text(self) -> str:
        """The location as text: ``inside the sweep from 0.005 to 0.5 (resamples: 97 % inside, 3 % outside right)``."""
        votes = [f"{_percent(share)} {name}" for name, share in zip(PLACES, self.shares, strict=False) if share > 0]
        why = "the runs do not differ from a constant by more than their scatter; " if self.flat else ""
        why += "the runs improve up to one end of the sweep; " if self.edge and self.place == "not located" else ""
        how = f"resamples: {', '.join(votes)}" if votes else "according to the best fit, without resamples"
        return f"{self.short} from {self.low:.4g} to {self.high:.4g} ({why}{how})"


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.005 else f"{100 * share:.0f} %"


def locate_optimum(
    best: float, draws: ArrayLike, low: float, high: float, *, flat: bool = False, edge: bool = False
) -> OptimumLocation:
    """Return the location of an optimum with best fit ``best`` and resamples ``draws`` (r,); NaN means no optimum.

    The optimum is inside the sweep if at least 90 % of the resamples are inside, and outside on one side if at least
    half of the resamples are on that side.
    """
    at = np.atleast_1d(np.asarray(draws, float)) if np.size(draws) else np.array([best])
    inside = (at >= low * (1 - 1e-9)) & (at <= high * (1 + 1e-9))
    left, right = ~inside & (at < low), ~inside & (at > high)
    shares = tuple(float(np.mean(x)) for x in (inside, left, right, np.isnan(at)))
    place: Place = "not located"
    if not flat:
        sure = (SURE, 0.5, 0.5)
        place = next((p for p, s, least in zip(PLACES, shares, sure, strict=False) if s >= least), place)
    if edge and place == "inside":
        place = "not located"
    return OptimumLocation(place, low, high, shares if np.size(draws) else (), flat, edge)


def monotone_edge(x: Floats, y: Floats) -> float | None:
    """Return the end of the sweep ``x`` (n,) towards which the losses ``y`` (n,) decrease; None if not monotone.

    The losses are averaged at each distinct x. They are monotone under three conditions: there are at least four
    distinct x, the lowest mean is at an end of the sweep, and the absolute rank correlation of the means with x is at
    least 0.9. This threshold is below 1, because noise in one mean should not count as a change of direction.
    """
    levels, of = np.unique(x, return_inverse=True)
    mean = np.bincount(of, y) / np.bincount(of)
    if len(levels) < 4 or int(np.argmin(mean)) not in (0, len(levels) - 1):
        return None
    return float(levels[np.argmin(mean)]) if abs(rank_correlation(levels, mean)) >= MONOTONE else None


def differs(y: Floats, residual: Floats, weight: Floats, parameters: int) -> float:
    """Return the p-value of an F test of a curve with ``parameters`` free parameters against a constant.

    ``y`` (n,) are the values of the runs, ``residual`` (n,) their residuals from the curve on the same scale, and
    ``weight`` (n,) their weights. With a p-value near one, the runs are consistent with a constant plus scatter.
    """
    left = float(weight @ residual**2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    more, free = parameters - 1, len(y) - parameters
    if left <= 0 or more <= 0 or free <= 0:
        return 0.0 if total > left else 1.0
    return float(fdtrc(more, free, max(total - left, 0.0) / more / (left / free)))


def rank_correlation(x: Floats, y: Floats) -> float:
    """Return Spearman's rank correlation of ``x`` (n,) and ``y`` (n,); zero if one of them is constant.

    Equal values receive different ranks, in their order. ``scipy.stats.spearmanr``, which averages their ranks, is ten
    times slower, and its import takes 0.5 s.
    """
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    a, b = (np.argsort(np.argsort(v)) for v in (x, y))
    return float(np.corrcoef(a, b)[0, 1])
