"""How many numbers an event of a data set takes: whether sqrt(s) varies decides between two counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SPREAD = 1e-5
"""Of p1.p2: what rounding to seven digits leaves of one that is constant."""


def fixed_energy(momenta: NDArray[np.float64]) -> bool:
    """Whether all events have one sqrt(s): p1.p2 of the incoming particles is constant.

    ``momenta`` (n, particles, 4) in GeV as (E, px, py, pz), the two incoming particles first; a single event counts as
    fixed.
    """
    one, two = momenta[:, 0], momenta[:, 1]
    products = one[:, 0] * two[:, 0] - (one[:, 1:] * two[:, 1:]).sum(axis=1)
    return bool(np.ptp(products) <= SPREAD * np.abs(products).max())
