"""How many numbers an event of a data set takes: whether sqrt(s) varies decides between two counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trainers.amplitudes.processes.model import INCOMING

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


def degrees_of_freedom(momenta: NDArray[np.float64]) -> int:
    """The dimension of phase space modulo boosts and the azimuth: 3 n_f - 4 with sqrt(s) varying, one less without.

    Of 3 n_f momenta's components four are conservation's, one the azimuth; sqrt(s) adds one. Bahl et al., "Scaling laws
    for amplitude surrogates", Sec. 2. ``momenta`` as in ``fixed_energy``.
    """
    outgoing = momenta.shape[1] - INCOMING
    return 3 * outgoing - 4 - fixed_energy(momenta)
