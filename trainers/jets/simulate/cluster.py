"""Reconstruction of jets with FastJet: anti-kt, soft drop, N-subjettiness, and jets that contain a whole decay."""

from __future__ import annotations

from dataclasses import dataclass

import awkward as ak
import fastjet
import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.trainers.jets.simulate.detector import Seen
from isoplan.trainers.jets.simulate.generate import Partons
from isoplan.trainers.jets.simulate.processes import ETA, PT, RADIUS

fastjet._swig.ClusterSequence.set_fastjet_banner_stream(None)  # the banner would go to standard output
ANTI_KT = fastjet.JetDefinition(fastjet.antikt_algorithm, RADIUS)
# Recluster all particles of a jet: the radius is larger than any distance between them.
CAMBRIDGE = fastjet.JetDefinition(fastjet.cambridge_algorithm, 100.0)
Z_CUT, BETA = 0.1, 0.0
AXES = (1, 2, 3, 4)


@dataclass(frozen=True)
class Jets:
    """Jets in the window of transverse momentum and pseudorapidity, by event.

    ``rows`` (jets * var) are the indices of their particles in ``Seen``. Momenta are in GeV.
    """

    event: Ints
    px: Floats
    py: Floats
    pz: Floats
    energy: Floats
    rows: ak.Array

    @property
    def pt(self) -> Floats:
        """The transverse momentum in GeV."""
        return np.hypot(self.px, self.py)

    @property
    def eta(self) -> Floats:
        """The pseudorapidity of the axis."""
        return np.arcsinh(self.pz / self.pt)

    @property
    def phi(self) -> Floats:
        """The azimuth of the axis, from -pi to pi."""
        return np.arctan2(self.py, self.px)

    def __getitem__(self, kept: NDArray[np.bool_]) -> Jets:
        """Return the jets that are ``kept``."""
        px, py, pz, energy = (column[kept] for column in (self.px, self.py, self.pz, self.energy))
        return Jets(self.event[kept], px, py, pz, energy, self.rows[kept])


def find_jets(seen: Seen) -> Jets:
    """Return the anti-kt jets within the window."""
    counts = np.bincount(seen.event, minlength=seen.events)
    full = np.flatnonzero(counts)  # FastJet gives no result for an event without particles
    starts = (np.cumsum(counts) - counts)[full]
    found = fastjet.ClusterSequence(ak.unflatten(_momenta(seen), counts[full]), ANTI_KT)
    jets, rows = found.inclusive_jets(min_pt=PT[0]), found.constituent_index(min_pt=PT[0])
    many = ak.to_numpy(ak.num(jets))
    event = np.repeat(np.arange(len(full)), many)
    flat = ak.flatten(jets)
    px, py, pz, energy = (ak.to_numpy(flat[name]) for name in ("px", "py", "pz", "E"))
    every = Jets(full[event], px, py, pz, energy, ak.flatten(rows) + starts[event])
    return every[(every.pt < PT[1]) & (np.abs(every.eta) < ETA)]


def substructure(seen: Seen, jets: Jets) -> tuple[Floats, Floats]:
    """Return the soft-drop mass in GeV (z_cut 0.1, beta 0) and the N-subjettiness (jets, 4).

    N-subjettiness uses beta 1 and one-pass kt axes.
    """
    if len(jets.event) == 0:
        return np.zeros(0), np.zeros((0, len(AXES)))
    particles = ak.unflatten(_momenta(seen)[ak.to_numpy(ak.flatten(jets.rows))], ak.num(jets.rows))
    found = fastjet.ClusterSequence(particles, CAMBRIDGE)
    groomed = found.exclusive_jets_softdrop_grooming(njets=1, beta=BETA, symmetry_cut=Z_CUT, R0=RADIUS)
    tau = found.njettiness(njets=list(AXES), R0=RADIUS)
    return ak.to_numpy(groomed.msoftdrop).astype(float), ak.to_numpy(tau).astype(float)


def _momenta(seen: Seen) -> ak.Array:
    return ak.zip({"px": seen.px, "py": seen.py, "pz": seen.pz, "E": seen.energy}, with_name="Momentum4D")


def turn(phi: Floats) -> Floats:
    """Return angles between -pi and pi."""
    return (phi + np.pi) % (2 * np.pi) - np.pi


def match(jets: Jets, partons: Partons, visible: int) -> Ints:
    """Return for each jet the decay whose ``visible`` products all lie within 0.8 of its axis, or -1.

    Decays with another number of visible products match no jet. Of two decays in one jet the first counts.
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
