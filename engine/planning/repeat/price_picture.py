"""Figure of the regimes: the cost of each against the price of a sample, their crossing, and the user's point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.intervals import Resampling
from isoplan.engine.planning.repeat.costs import SampleCosts

POINTS = 61
DECADES = 2.5
"""Range of prices in decades on either side of the user's price and of the break-even price."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Money against the price of a sample.

    ``price`` (k,) covers the user's own price and the break-even price. ``one_pass`` and ``repeat`` (k,) are the totals
    by the best fit, ``*_band`` (2, k) their 68 % interval, NaN without resamples. ``point`` is the user's price and the
    cost of both regimes there; ``break_even`` is NaN if the lines do not cross.
    """

    price: Floats
    one_pass: Floats
    repeat: Floats
    one_pass_band: Floats
    repeat_band: Floats
    point: tuple[float, float, float]
    break_even: float


def draw(costs: SampleCosts, best: Mapping[str, Floats], draws: Mapping[str, Floats], how: Resampling) -> Picture:
    """Compute the figure from solved numbers: ``best`` of shape (), ``draws`` (r,), by name (D, U, one_train, ...)."""
    crossing = float(best["break_even"])
    crosses = np.isfinite(crossing) and crossing > 0
    ends = [costs.sample, *([crossing] if crosses else [])]
    price = np.geomspace(min(ends) / 10**DECADES, max(ends) * 10**DECADES, POINTS)
    lines = [_line(costs, best, draws, price, how, *names) for names in (("D", "one_train"), ("U", "rep_train"))]
    (one, one_band), (rep, rep_band) = lines
    at = (costs.sample, float(best["one_total"]), float(best["rep_total"]))
    return Picture(price, one, rep, one_band, rep_band, at, crossing if crosses else float("nan"))


def _line(
    costs: SampleCosts,
    best: Mapping[str, Floats],
    draws: Mapping[str, Floats],
    price: Floats,
    how: Resampling,
    samples: str,
    training: str,
) -> tuple[Floats, Floats]:
    """Return the total of one regime (k,) and its 68 % band (2, k)."""
    central = price * costs.to_simulate(best[samples]) + best[training]
    each = price * costs.to_simulate(draws[samples])[:, None] + draws[training][:, None]
    return central, np.stack(how.band(central, each, 0.68))
