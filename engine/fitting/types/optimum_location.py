"""Location of an optimum relative to the sweep from which it was read, with the share of resamples for each place."""

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
"""Code of the warning that a curve does not differ from a constant."""
EDGE = "edge"
"""Code of the warning that the loss still decreases at an end of the sweep."""
MONOTONE = 0.9
"""Smallest absolute rank correlation with the axis for which runs count as monotone."""
LEVEL = 0.05
"""Probability below which noise alone does not explain differences of the runs."""
SURE = 0.9
"""Fraction of resamples inside the sweep from which an optimum counts as inside."""


@dataclass(frozen=True)
class OptimumLocation:
    """``place`` of an optimum relative to the sweep [low, high]; ``shares`` of the resamples in the order of PLACES.

    Without resamples the best fit alone decides and ``shares`` is empty. ``flat``: the runs differ from a constant by
    no more than their scatter, so no optimum is located, independently of the resamples. ``edge``: the runs improve up
    to an end of the sweep, so an optimum inside it follows from the law and not from the runs.
    """

    place: Place
    low: float
    high: float
    shares: tuple[float, ...]
    flat: bool = False
    edge: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the location for JSON; ``shares`` is empty without resamples."""
        named = dict(zip(PLACES, self.shares, strict=False))
        doubts = {"flat": self.flat, "edge": self.edge}
        return {"place": self.place, "low": self.low, "high": self.high, "shares": named, **doubts}

    @property
    def short(self) -> str:
        """Short text, such as ``inside the sweep`` or ``left of the sweep``."""
        return f"{SAID[self.place]} the sweep"

    @property
    def text(self) -> str:
        """Text such as ``inside the sweep from 0.005 to 0.5 (resamples: 97 % inside, 3 % outside right)``."""
        votes = [f"{_percent(share)} {name}" for name, share in zip(PLACES, self.shares, strict=False) if share > 0]
        why = "the runs do not differ from a constant by more than their scatter; " if self.flat else ""
        why += "the runs get better all the way to an end; " if self.edge and self.place == "not located" else ""
        how = f"resamples: {', '.join(votes)}" if votes else "by the best fit alone"
        return f"{self.short} from {self.low:.4g} to {self.high:.4g} ({why}{how})"


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.005 else f"{100 * share:.0f} %"


def locate_optimum(
    best: float, draws: ArrayLike, low: float, high: float, *, flat: bool = False, edge: bool = False
) -> OptimumLocation:
    """Return the location of an optimum at ``best`` with resamples ``draws`` (r,), NaN without an optimum.

    It is inside if at least 90 % of the resamples are, and outside on the side that has more than half of them.
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
    """Return the end of the sweep ``x`` (n,) toward which the losses ``y`` (n,) decrease; None if they turn.

    The means at the different x are used, at least four. The best mean must be at an end, and the absolute rank
    correlation of the means with x at least 0.9, so that noise in one of them does not count as a turn.
    """
    levels, of = np.unique(x, return_inverse=True)
    mean = np.bincount(of, y) / np.bincount(of)
    if len(levels) < 4 or int(np.argmin(mean)) not in (0, len(levels) - 1):
        return None
    return float(levels[np.argmin(mean)]) if abs(rank_correlation(levels, mean)) >= MONOTONE else None


def differs(y: Floats, residual: Floats, weight: Floats, parameters: int) -> float:
    """Return the probability that a curve with ``parameters`` free parameters fits constant runs as well: an F test.

    ``y`` (n,) is on the scale of the residuals (n,). Near one, the runs are consistent with a constant plus scatter.
    """
    left = float(weight @ residual**2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    more, free = parameters - 1, len(y) - parameters
    if left <= 0 or more <= 0 or free <= 0:
        return 0.0 if total > left else 1.0
    return float(fdtrc(more, free, max(total - left, 0.0) / more / (left / free)))


def rank_correlation(x: Floats, y: Floats) -> float:
    """Return Spearman's correlation of ``x`` (n,) and ``y`` (n,), without ties; zero if one of them is constant.

    scipy's spearmanr gives the same result, with a p-value and ties, in ten times the time and after 0.5 s of imports.
    """
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    a, b = (np.argsort(np.argsort(v)) for v in (x, y))
    return float(np.corrcoef(a, b)[0, 1])
