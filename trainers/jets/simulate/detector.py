"""A fast stand-in for a detector: what tracks and calorimeter cells would say of an event's particles.

Resolutions, efficiencies and cells are those of the CMS card of Delphes 3 (arXiv:1307.6346) in round numbers; particle
flow is its simplest form. No magnetic bending on the way to the calorimeter, no showers that spread over cells, no
pile-up. What each number does stands in ``docs/jets.md``.

- A charged particle leaves a track with the probability ``_efficiency``, if it was produced inside the tracker; its
  momentum is smeared, its direction is not.
- Energy falls into cells: that of photons and electrons into small ones (electromagnetic), of all hadrons into large
  ones (hadronic). A cell's energy is smeared, the energy of the tracks that point to it is subtracted, and what is left
  becomes a photon or a neutral hadron where it is significant.
- Impact parameters are those of the helix through the place of production, smeared by their errors.
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
"""Tesla."""
BEND = 2.998e-4 * FIELD
"""GeV/mm: a particle of pT has a radius of pT / BEND."""
TRACKER_ETA, TRACKER_RADIUS, TRACKER_LENGTH = 2.5, 1290.0, 3000.0
"""Where tracks are seen, and the tracker's size in mm."""
BORN_RADIUS = 250.0
"""mm from the beam beyond which a particle that is produced leaves too few hits for a track."""
SOFTEST_TRACK = 1.0
"""GeV of pT below which tracks are not used."""
PION = 0.13957
MASSES = {11: 0.000511, 13: 0.10566}

CHARGED, NEUTRAL, PHOTON, ELECTRON, MUON = range(5)
"""Kinds of reconstructed particles, in the order of JetClass's flags."""


@dataclass(frozen=True)
class Calorimeter:
    """Cells of ``size`` in pseudorapidity and azimuth (twice that beyond ``wide``), and their energy resolution.

    sigma^2 = (constant E)^2 + stochastic^2 E + noise^2, GeV. What is left of a cell counts from ``least`` GeV and
    ``significance`` sigma on.
    """

    size: float
    wide: float
    constant: float
    stochastic: float
    noise: float
    least: float
    significance: float

    def sigma(self, energy: Floats) -> Floats:
        """The error of a cell's ``energy``, GeV."""
        return np.sqrt((self.constant * energy) ** 2 + self.stochastic**2 * energy + self.noise**2)


# Cells are as large as showers are wide: two photons in one of them cannot be told apart.
ELECTROMAGNETIC = Calorimeter(np.pi / 90, 9.0, 0.008, 0.11, 0.4, 1.0, 2.0)
HADRONIC = Calorimeter(np.pi / 36, 1.65, 0.05, 1.0, 0.5, 1.0, 1.0)


@dataclass(frozen=True)
class Noise:
    """One source of random numbers for each effect: results do not depend on how events are cut into batches."""

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
        """The sources that belong to a seed."""
        return cls(*(default_rng(child) for child in seed.spawn(8)))


@dataclass(frozen=True)
class Seen:
    """Reconstructed particles of ``events`` events, one row each, by event.

    Momenta in GeV; impact parameters and their errors in mm, zero without a track; ``kind`` as the constants above.
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
    """What the detector makes of these particles."""
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
"""Events; (9, rows) of px, py, pz, energy, charge, d0, its error, dz, its error; kinds."""


def _kinds(pid: Ints, charge: Floats) -> Ints:
    size = np.abs(pid)
    kind = np.where(charge != 0, CHARGED, NEUTRAL)
    for number, name in ((22, PHOTON), (11, ELECTRON), (13, MUON)):
        kind[size == number] = name
    return kind


def _efficiency(pt: Floats, eta: Floats, kind: Ints) -> Floats:
    """The probability of a track; zero for what is neutral."""
    soft, central = pt < 1.0, eta < 1.5
    hadron = np.where(central, np.where(soft, 0.70, 0.95), np.where(soft, 0.60, 0.85))
    electron = np.where(central, np.where(soft, 0.73, 0.95), np.where(soft, 0.50, 0.85))
    muon = np.where(central, np.where(soft, 0.75, 0.99), np.where(soft, 0.70, 0.98))
    found = np.select([kind == CHARGED, kind == ELECTRON, kind == MUON], [hadron, electron, muon], 0.0)
    return np.where((eta < TRACKER_ETA) & (pt > 0.1), found, 0.0)


def _spread(pt: Floats, eta: Floats, kind: Ints) -> Floats:
    """Relative error of pT: multiple scattering and, growing with pT, the curvature."""
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
    """Errors of the two impact parameters in mm: that of the hits, and scattering that falls with momentum."""
    long = np.cosh(eta)
    return np.hypot(0.012, 0.075 * np.sqrt(long) / pt), np.hypot(0.025, 0.090 * long**1.5 / pt)


def impact(
    x: Floats, y: Floats, z: Floats, pt: Floats, eta: Floats, phi: Floats, charge: Floats
) -> tuple[Floats, Floats]:
    """Transverse and longitudinal impact parameter in mm of helices through (x, y, z), to the collision at the origin.

    The sign is that of (x p_y - y p_x) at the closest approach in the transverse plane, as in Delphes. ``charge`` zero
    gives straight lines.
    """
    along, across = x * np.cos(phi) + y * np.sin(phi), x * np.sin(phi) - y * np.cos(phi)
    with np.errstate(divide="ignore"):
        curvature = BEND * charge / pt
    # For centre c and signed radius R, |c| - |R| written without a difference of large numbers.
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
    """What is left of the cells that ``energy`` falls into, without what tracks have ``taken``."""
    key = _cell(cells, event, eta, phi)
    unique, number = np.unique(key, return_inverse=True)
    total, tracks = (np.bincount(number, of, len(unique)).astype(float) for of in (energy, taken))
    sigma = cells.sigma(total)
    rest = total + sigma * rngs[0].standard_normal(len(unique)) - tracks
    # Somewhere in the cell: where exactly is not known, and all centres of cells would be a grid that no detector has.
    event, at_eta, at_phi = _place(cells, unique, rngs[1].random((len(unique), 2)))
    kept = rest > np.maximum(cells.least, cells.significance * sigma)
    event, at_eta, at_phi, rest = event[kept], at_eta[kept], at_phi[kept], rest[kept]
    pt = rest / np.cosh(at_eta)
    values = np.zeros((9, len(rest)))
    values[:4] = pt * np.cos(at_phi), pt * np.sin(at_phi), pt * np.sinh(at_eta), rest
    return event, values, np.full(len(rest), left)


ROWS = 1024
"""More rows of cells than any calorimeter here has, in either direction."""


def _cell(cells: Calorimeter, event: Ints, eta: Floats, phi: Floats) -> Ints:
    """One number for event and cell, ordered by event."""
    wide = np.abs(eta) >= cells.wide
    size = np.where(wide, 2 * cells.size, cells.size)
    along = np.floor(eta / size).astype(np.int64) + ROWS // 2
    around = np.floor((phi + np.pi) / size).astype(np.int64) % np.rint(2 * np.pi / size).astype(np.int64)
    return ((event * 2 + wide) * ROWS + along) * ROWS + around


def _place(cells: Calorimeter, number: Ints, share: Floats) -> tuple[Ints, Floats, Floats]:
    """Event, pseudorapidity and azimuth of a number of ``_cell``, at that ``share`` (rows, 2) of the cell."""
    rest, around = np.divmod(number, ROWS)
    rest, along = np.divmod(rest, ROWS)
    event, wide = np.divmod(rest, 2)
    size = np.where(wide == 1, 2 * cells.size, cells.size)
    return event, (along - ROWS // 2 + share[:, 0]) * size, (around + share[:, 1]) * size - np.pi
