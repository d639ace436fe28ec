"""Which jets hold a whole decay."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.trainers.jets.simulate.cluster import Jets
from isoplan.trainers.jets.simulate.generate import Partons
from isoplan.trainers.jets.simulate.processes import RADIUS


def turn(phi: Floats) -> Floats:
    """Angles between -pi and pi."""
    return (phi + np.pi) % (2 * np.pi) - np.pi


def match(jets: Jets, partons: Partons, visible: int) -> Ints:
    """For each jet the number of the decay all of whose ``visible`` products lie within 0.8 of its axis; -1: none does.

    Decays with another number of visible products match nothing. Of two decays in one jet the first counts.
    """
    of = np.searchsorted(partons.event, jets.event, "left"), np.searchsorted(partons.event, jets.event, "right")
    many = of[1] - of[0]
    jet = np.repeat(np.arange(len(many)), many)
    parton = np.arange(len(jet)) - np.repeat(np.cumsum(many) - many, many) + np.repeat(of[0], many)
    eta, phi = jets.eta[jet] - partons.eta[parton], turn(jets.phi[jet] - partons.phi[parton])
    inside = np.hypot(eta, phi) < RADIUS
    decays = len(partons.parents["pid"])
    pair, number = np.unique(jet * decays + partons.parent[parton], return_inverse=True)
    held, all_of = np.bincount(number, inside, len(pair)), np.bincount(partons.parent, minlength=decays)
    whole = pair[(held == visible) & (all_of[pair % decays] == visible)] if decays else pair
    found = np.full(len(many), -1)
    found[whole[::-1] // max(decays, 1)] = whole[::-1] % max(decays, 1)
    return found
