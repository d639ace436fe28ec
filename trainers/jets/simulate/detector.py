"""A fast simplified detector simulation: tracks and calorimeter cells from the particles of an event.

Resolutions, efficiencies and cell sizes are those of the CMS card of Delphes 3 (arXiv:1307.6346), rounded. Particle
flow is in its simplest form. There is no magnetic bending before the calorimeter, no shower across several cells, and
no pile-up. ``docs/jets.md`` explains each number.

- A charged particle leaves a track with the probability ``_efficiency`` if it was produced inside the tracker. The
  momentum of the track is smeared; its direction is exact.
- Photons and electrons deposit their energy in small (electromagnetic) cells, hadrons in large (hadronic) cells. The
  energy of a cell is smeared. Then the energy of the tracks that point to the cell is subtracted. If the remaining
  energy is significant, it becomes a photon or a neutral hadron.
- Impact parameters are those of the helix through the production vertex, smeared by their errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator as Rng
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.trainers.jets.simulate.generate import Particles

FIELD = 3.8
"""Magnetic field in tesla."""
BEND = 2.998e-4 * FIELD
"""Bending constant in GeV/mm: the track of a particle with transverse momentum pT has the radius pT / BEND."""
TRACKER_ETA, TRACKER_RADIUS, TRACKER_LENGTH = 2.5, 1290.0, 3000.0
"""Maximum absolute pseudorapidity of tracks, and the radius and the length of the tracker in mm."""
BORN_RADIUS = 250.0
"""Maximum distance in mm between the beam and the production point of a particle with a track.

A particle that is produced farther out causes too few hits in the tracker.
"""
SOFTEST_TRACK = 1.0
"""Minimum pT of tracks in GeV."""
PION = 0.13957
MASSES = {11: 0.000511, 13: 0.10566}

CHARGED, NEUTRAL, PHOTON, ELECTRON, MUON = range(5)
"""Kinds of reconstructed particles, in the order of the flags of JetClass."""


@dataclass(frozen=True)
class Calorimeter:
    """Calorimeter cells and their energy resolution.

    A cell has the width ``size`` in pseudorapidity and in azimuth, and twice this width at absolute pseudorapidities
    above ``wide``. The standard error sigma of an energy E in GeV is given by sigma^2 = (constant E)^2 + stochastic^2 E
    + noise^2. The energy that remains after the subtraction of tracks counts if it is above ``least`` GeV and above
    ``significance`` sigma.
    """

    size: float
    wide: float
    constant: float
    stochastic: float
    noise: float
    least: float
    significance: float

    def sigma(self, energy: Floats) -> Floats:
        """Return the standard error sigma of the ``energy`` of a cell, both in GeV."""
        return np.sqrt((self.constant * energy) ** 2 + self.stochastic**2 * energy + self.noise**2)


# Cells have about the width of showers, so two photons in one cell are not separated.
ELECTROMAGNETIC = Calorimeter(np.pi / 90, 9.0, 0.008, 0.11, 0.4, 1.0, 2.0)
HADRONIC = Calorimeter(np.pi / 36, 1.65, 0.05, 1.0, 0.5, 1.0, 1.0)


@dataclass(frozen=True)
class Noise:
    """Random generators, one per effect, so that results do not depend on how events are divided into batches."""

    track: Rng
    momentum: Rng
    d0: Rng
    dz: Rng
    photons: Rng
    photon_places: Rng
    hadrons: Rng
    hadron_places: Rng

    @classmethod
    def of(cls, seed: SeedSequence) -> Noise:
        """Return the generators that derive from one seed."""
        return cls(*(default_rng(child) for child in seed.spawn(8)))


@dataclass(frozen=True)
class Seen:
    """Reconstructed particles of ``events`` events, one row per particle, sorted by event.

    Momenta and energies are in GeV. Impact parameters and their errors are in mm; they are 0 for particles without a
    track. ``kind`` is one of the constants ``CHARGED`` to ``MUON``.
    """

    events: int
    event: Ints
    px: Floats
    py: Floats
    pz: Floats
    energy: Floats
    charge: Floats
    kind: Ints
    d0: Floats
    d0err: Floats
    dz: Floats
    dzerr: Floats


def detect(made: Particles, noise: Noise) -> Seen:
    """Return the reconstructed particles of the generated particles ``made``."""
    charge = made.charge
    pt, kind = np.hypot(made.px, made.py), _kinds(made.pid, charge)
    eta, phi = np.arcsinh(made.pz / pt), np.arctan2(made.py, made.px)
    born = np.hypot(made.x, made.y)
    seen = noise.track.random(len(pt)) < _efficiency(pt, np.abs(eta), kind)
    tracked = seen & (born < BORN_RADIUS) & (np.abs(made.z) < TRACKER_LENGTH / 2)
    measured = pt * np.exp(_spread(pt, np.abs(eta), kind) * noise.momentum.standard_normal(len(pt)))
    tracked &= measured > SOFTEST_TRACK
    momentum = measured * np.cosh(eta)
    reaches = (charge == 0) | (pt > BEND * TRACKER_RADIUS / 2)
    small = (kind == PHOTON) | (kind == ELECTRON)
    rows = [_tracks(made, pt, eta, phi, charge, kind, measured, tracked, noise)]
    for cells, mine, rngs, left in (
        (ELECTROMAGNETIC, small, (noise.photons, noise.photon_places), PHOTON),
        (HADRONIC, ~small & (kind != MUON), (noise.hadrons, noise.hadron_places), NEUTRAL),
    ):
        at = mine & reaches
        taken = np.where(tracked, momentum, 0.0)[at]
        rows.append(_cells(cells, made.event[at], eta[at], phi[at], made.e[at], taken, rngs, left))
    event, values, kinds = (np.concatenate([row[i] for row in rows], axis=-1) for i in range(3))
    order = np.argsort(event, kind="stable")
    px, py, pz, energy, sign, d0, d0err, dz, dzerr = values[:, order]
    return Seen(made.events, event[order], px, py, pz, energy, sign, kinds[order], d0, d0err, dz, dzerr)


Rows = tuple[Ints, Floats, Ints]
"""Reconstructed particles as a tuple: event of each row, values (9, rows), kind of each row.

The values are px, py, pz, energy, charge, d0, error of d0, dz and error of dz.
"""


def _kinds(pid: Ints, charge: Floats) -> Ints:
    size = np.abs(pid)
    kind = np.where(charge != 0, CHARGED, NEUTRAL)
    for number, name in ((22, PHOTON), (11, ELECTRON), (13, MUON)):
        kind[size == number] = name
    return kind


def _efficiency(pt: Floats, eta: Floats, kind: Ints) -> Floats:
    """Return the probability that the tracker detects a particle. It is 0 for neutral particles."""
    soft, central = pt < 1.0, eta < 1.5
    hadron = np.where(central, np.where(soft, 0.70, 0.95), np.where(soft, 0.60, 0.85))
    electron = np.where(central, np.where(soft, 0.73, 0.95), np.where(soft, 0.50, 0.85))
    muon = np.where(central, np.where(soft, 0.75, 0.99), np.where(soft, 0.70, 0.98))
    found = np.select([kind == CHARGED, kind == ELECTRON, kind == MUON], [hadron, electron, muon], 0.0)
    return np.where((eta < TRACKER_ETA) & (pt > 0.1), found, 0.0)


def _spread(pt: Floats, eta: Floats, kind: Ints) -> Floats:
    """Return the relative standard error of pT from multiple scattering and a curvature term proportional to pT."""
    region = np.digitize(eta, (0.5, 1.5))
    flat = np.array([0.010, 0.015, 0.025])[region]
    rising = np.array([1.5e-4, 2.5e-4, 5.5e-4])[region]
    return np.hypot(np.where(kind == ELECTRON, 2.0, 1.0) * flat, rising * pt)


def _tracks(
    made: Particles,
    pt: Floats,
    eta: Floats,
    phi: Floats,
    charge: Floats,
    kind: Ints,
    measured: Floats,
    tracked: NDArray[np.bool_],
    noise: Noise,
) -> Rows:
    mass = np.select([kind == ELECTRON, kind == MUON], [MASSES[11], MASSES[13]], PION)
    energy = np.hypot(measured * np.cosh(eta), mass)
    px, py, pz = measured * np.cos(phi), measured * np.sin(phi), measured * np.sinh(eta)
    d0err, dzerr = errors(measured, eta)
    d0, dz = impact(made.x, made.y, made.z, pt, eta, phi, charge)
    d0 = d0 + d0err * noise.d0.standard_normal(len(pt))
    dz = dz + dzerr * noise.dz.standard_normal(len(pt))
    values = np.stack([px, py, pz, energy, charge, d0, d0err, dz, dzerr])
    return made.event[tracked], values[:, tracked], kind[tracked]


def errors(pt: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return the standard errors of the impact parameters d0 and dz in mm.

    Each error combines the resolution of the hits with multiple scattering, which decreases with pT.
    """
    long = np.cosh(eta)
    return np.hypot(0.012, 0.075 * np.sqrt(long) / pt), np.hypot(0.025, 0.090 * long**1.5 / pt)


def impact(
    x: Floats, y: Floats, z: Floats, pt: Floats, eta: Floats, phi: Floats, charge: Floats
) -> tuple[Floats, Floats]:
    """Return the transverse and longitudinal impact parameter in mm of helices through the points (x, y, z).

    The impact parameters are distances from the collision at the origin. The sign is that of (x p_y - y p_x) at the
    point of closest approach in the transverse plane, as in Delphes. If ``charge`` is 0, the particle moves on a
    straight line.
    """
    along, across = x * np.cos(phi) + y * np.sin(phi), x * np.sin(phi) - y * np.cos(phi)
    with np.errstate(divide="ignore"):
        curvature = BEND * charge / pt
    # d0 = |c| - |R| for the centre c and the signed radius R of the circle, written without a difference of large
    # numbers.
    away = curvature * (x**2 + y**2) + 2 * across
    d0 = away / (1 + np.sqrt(np.maximum(1 + curvature * away, 0.0)))
    turn = np.arctan2(curvature * along, 1 + curvature * across)
    path = np.where(np.abs(turn) > 1e-9, turn / np.where(curvature == 0, 1.0, curvature), along)
    return d0, z - path * np.sinh(eta)


def _cells(
    cells: Calorimeter,
    event: Ints,
    eta: Floats,
    phi: Floats,
    energy: Floats,
    taken: Floats,
    rngs: tuple[Rng, Rng],
    left: int,
) -> Rows:
    """Return the remaining energy of each cell after the subtraction of tracks, as particles of the kind ``left``.

    Each particle deposits its ``energy`` in the cell at its ``eta`` and ``phi``. ``taken`` is the energy of its track,
    or 0 without a track.
    """
    key = _cell(cells, event, eta, phi)
    unique, number = np.unique(key, return_inverse=True)
    total, tracks = (np.bincount(number, of, len(unique)).astype(float) for of in (energy, taken))
    sigma = cells.sigma(total)
    rest = total + sigma * rngs[0].standard_normal(len(unique)) - tracks
    # Use a random position in the cell. Positions at the centres of cells would form an artificial grid.
    event, at_eta, at_phi = _place(cells, unique, rngs[1].random((len(unique), 2)))
    kept = rest > np.maximum(cells.least, cells.significance * sigma)
    event, at_eta, at_phi, rest = event[kept], at_eta[kept], at_phi[kept], rest[kept]
    pt = rest / np.cosh(at_eta)
    values = np.zeros((9, len(rest)))
    values[:4] = pt * np.cos(at_phi), pt * np.sin(at_phi), pt * np.sinh(at_eta), rest
    return event, values, np.full(len(rest), left)


ROWS = 1024
"""Upper limit of the number of cells of a calorimeter along pseudorapidity and along azimuth."""


def _cell(cells: Calorimeter, event: Ints, eta: Floats, phi: Floats) -> Ints:
    """Return a number that is unique for the event and the cell, and increases with the event."""
    wide = np.abs(eta) >= cells.wide
    size = np.where(wide, 2 * cells.size, cells.size)
    along = np.floor(eta / size).astype(np.int64) + ROWS // 2
    around = np.floor((phi + np.pi) / size).astype(np.int64) % np.rint(2 * np.pi / size).astype(np.int64)
    return ((event * 2 + wide) * ROWS + along) * ROWS + around


def _place(cells: Calorimeter, number: Ints, share: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the event, the pseudorapidity and the azimuth for a ``number`` from ``_cell``.

    ``share`` (rows, 2) is the position in the cell along both directions, as a fraction of its width.
    """
    rest, around = np.divmod(number, ROWS)
    rest, along = np.divmod(rest, ROWS)
    event, wide = np.divmod(rest, 2)
    size = np.where(wide == 1, 2 * cells.size, cells.size)
    return event, (along - ROWS // 2 + share[:, 0]) * size, (around + share[:, 1]) * size - np.pi
