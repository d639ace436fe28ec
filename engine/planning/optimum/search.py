"""Searches for the best model within limits: where they look, how far, and what a model costs.

Golden sections need something that falls and then rises, so what is not possible counts as ever worse, from ``FAR`` on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import FEWEST_SAMPLES, MOST_SAMPLES, ComputeRule
from isoplan.engine.laws.numeric import least
from isoplan.engine.planning.scenario.prices import Rates

WIDTH = 40.0
"""How far in ln N on either side of sqrt(C) the best N is looked for."""
SECTIONS = 58
"""Golden sections: a bracket of 80 shrinks below 1e-10."""
NEAR = 1e-7
"""Distance in ln N from an end of the search that counts as being there."""
ROUNDING = 1e-9
"""Relative difference from a limit on C or D that is rounding."""
FAR = 1e250
"""What a point without any samples counts as, so that a search leaves it."""


def money(N: Floats, D: Floats, C: Floats, U: Floats | float, rates: Rates) -> Floats:
    """What N parameters on D samples cost in all; D beyond the ``U`` unique samples are repeated and simulated once."""
    return rates.flop * C + rates.sample * np.minimum(D, U) + rates.parameter * N + rates.fixed


def spending(rule: ComputeRule, C: Floats, N: Floats) -> Floats:
    """D that spends C: no sample where N alone costs more, endless where no D costs as much."""
    D = rule.samples(C, N)
    too_large = rule.flops_anywhere(N, np.full(np.shape(N), FEWEST_SAMPLES)) > C
    return np.where(np.isnan(D), np.where(too_large, 0.0, MOST_SAMPLES), D)


def allowed(
    x: Floats, low: Floats, high: Floats, most: Floats, price: Callable[[Floats], Floats]
) -> tuple[Floats, Bools]:
    """``x``, or where it is dearer than ``most`` the place nearest to it that is not, and where there is one."""
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
