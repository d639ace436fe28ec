"""Searches for the best model within limits: their ranges, their precision, and the cost of a model.

Golden sections need a function that falls and then rises, so impossible points count as increasingly bad, from ``FAR``
on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule
from isoplan.engine.laws.numeric import least
from isoplan.engine.planning.scenario.prices import Rates

WIDTH = 40.0
"""Half-width in ln N of the search for the best N around sqrt(C)."""
SECTIONS = 58
"""Number of golden sections, which reduce a bracket of 80 to below 1e-10."""
NEAR = 1e-7
"""Distance in ln N from an end of the search below which a point counts as at the end."""
ROUNDING = 1e-9
"""Relative difference from a limit on C or D that counts as rounding."""
FAR = 1e250
"""Value of an impossible point, so that a search leaves it."""


def money(N: Floats, D: Floats, C: Floats, U: Floats | float, rates: Rates) -> Floats:
    """Return the total cost of N parameters on D samples; D beyond the ``U`` unique samples is simulated only once."""
    return rates.flop * C + rates.sample * np.minimum(D, U) + rates.parameter * N + rates.fixed


def spending(rule: ComputeRule, C: Floats, N: Floats) -> Floats:
    """Return the D that spends C: 0 if N alone costs more, ``MOST_SAMPLES`` if no D costs as much."""
    D = rule.samples(C, N)
    too_large = rule.flops_anywhere(N, np.full(np.shape(N), FEWEST_SAMPLES)) > C
    return np.where(np.isnan(D), np.where(too_large, 0.0, MOST_SAMPLES), D)


def allowed(
    x: Floats, low: Floats, high: Floats, most: Floats, price: Callable[[Floats], Floats]
) -> tuple[Floats, Bools]:
    """Return ``x``, or the nearest affordable place if its price exceeds ``most``, and whether there is one."""
    dear = price(x) > most
    if not dear.any():
        return x, ~dear
    paid = least(price, low, high, SECTIONS)
    possible = price(paid) <= most
    beyond = x
    for _ in range(SECTIONS):
        middle = (paid + beyond) / 2
        cheap = price(middle) <= most
        paid, beyond = np.where(cheap, middle, paid), np.where(cheap, beyond, middle)
    return np.where(dear, paid, x), ~dear | possible
