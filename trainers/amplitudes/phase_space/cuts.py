"""Which events count: gluons that are hard and apart. Massive particles need no cuts: they have no poles."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.processes import Process
from isoplan.trainers.amplitudes.processes.model import INCOMING

PT = 20.0
"""GeV: the least transverse momentum of a gluon."""
DELTA_R = 0.4
"""The least distance of two gluons, (Delta y^2 + Delta phi^2)^(1/2)."""


def least_energy(process: Process) -> float:
    """sqrt(s) in GeV below which no event passes: all gluons at the least pT, nothing else moves.

    One gluon alone needs a little more, for its recoil.
    """
    return sum(process.masses) + PT * len(process.gluons)


def passes(process: Process, outgoing: Floats) -> NDArray[np.bool_]:
    """Whether events pass the cuts; ``outgoing`` (points, particles, 4) in GeV, without the incoming particles.

    Both cuts are the same in every frame along the beams, so that the boost of the partons does not matter.
    """
    gluons = outgoing[:, [leg - INCOMING for leg in process.gluons]]
    pt = np.hypot(gluons[..., 1], gluons[..., 2])
    y = np.arcsinh(gluons[..., 3] / pt)
    phi = np.arctan2(gluons[..., 2], gluons[..., 1])
    good = pt.min(axis=1, initial=np.inf) > PT
    for i, j in combinations(range(gluons.shape[1]), 2):
        turn = np.abs(phi[:, i] - phi[:, j])
        good &= np.hypot(y[:, i] - y[:, j], np.minimum(turn, 2 * np.pi - turn)) > DELTA_R
    return good
