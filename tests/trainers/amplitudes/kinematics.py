"""Events for tests: events that are uniform in phase space, and boosts of events."""

from __future__ import annotations

from math import factorial, pi

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from isoplan.trainers.amplitudes.phase_space.mapping import COLLIDER, Mapping, least_energy, luminosity, passes
from isoplan.trainers.amplitudes.phase_space.sampler import PICOBARN, Points, with_beams
from isoplan.trainers.amplitudes.processes import Process, squared_amplitude
from isoplan.trainers.amplitudes.processes.fields import INCOMING


def events(process: Process, count: int, energy: float, seed: int = 1) -> Floats:
    """Return events (count, particles, 4) in the centre-of-mass frame. The incoming particles are along the z axis."""
    outgoing = rambo(np.full(count, energy), process.masses[2:], np.random.default_rng(seed))
    return np.concatenate([np.broadcast_to(beams(energy), (count, 2, 4)), outgoing], axis=1)


def beams(energy: float) -> Floats:
    half = energy / 2
    return np.array([[half, 0, 0, half], [half, 0, 0, -half]])


def apart(process: Process, count: int, energy: float, seed: int = 1, cut: float = 0.02) -> Floats:
    """Return events in which every pair of massless particles has an invariant larger than ``cut * s``."""
    momenta = events(process, 40 * count, energy, seed)
    light = [i for i, mass in enumerate(process.masses) if not mass]
    pairs = [np.abs(product(momenta[:, i], momenta[:, j])) for i in light for j in light if i < j]
    good = np.min(pairs, axis=0) > cut * energy**2 / 2
    assert good.sum() >= count
    return momenta[good][:count]


def product(a: Floats, b: Floats) -> Floats:
    return a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(axis=-1)


def square(p: Floats) -> Floats:
    return product(p, p)


def boost_matrix(velocity: Floats) -> Floats:
    """Return the boost from the rest frame of a particle to a frame in which the particle has ``velocity`` (3,)."""
    speed2 = velocity @ velocity
    gamma = 1 / np.sqrt(1 - speed2)
    out = np.eye(4)
    out[0, 0], out[0, 1:], out[1:, 0] = gamma, gamma * velocity, gamma * velocity
    if speed2 > 0:
        out[1:, 1:] += (gamma - 1) * np.outer(velocity, velocity) / speed2
    return out


def to_frame(momenta: Floats, whole: Floats) -> Floats:
    """Boost ``momenta`` (..., 4) from the rest frame of a system of particles.

    In the new frame, the system has the momentum ``whole`` (4,).
    """
    return momenta @ boost_matrix(whole[1:] / whole[0]).T


def flat_points(mapping: Mapping, count: int, rng: np.random.Generator) -> Points:
    """Draw ``count`` points uniformly in phase space, for the process and energy of ``mapping``.

    If s varies, ln s is uniformly distributed.
    """
    process = mapping.process
    energy, weight = _energies(mapping, rng.random(count))
    outgoing, volume = weighted(energy, process.masses[INCOMING:], rng)
    rows = np.flatnonzero(passes(process, outgoing))
    momenta = with_beams(mapping.sqrt_s, outgoing[rows])
    amplitude = squared_amplitude(process, momenta)
    cross = PICOBARN / (2 * energy**2 * process.identical) * weight * volume
    return Points(momenta, amplitude, cross[rows] * amplitude, count)


def _energies(mapping: Mapping, u: Floats) -> tuple[Floats, Floats]:
    """Return sqrt(s) in GeV and the weight ``dL/dtau * dtau`` of each point, for random numbers ``u`` (points,).

    At fixed sqrt(s), the weight is 1.
    """
    if mapping.sqrt_s is not None:
        return np.full(len(u), mapping.sqrt_s), np.ones(len(u))
    least = (least_energy(mapping.process) / COLLIDER) ** 2
    tau = least ** (1 - u * (1 - 1e-9))
    return COLLIDER * np.sqrt(tau), -np.log(least) * tau * luminosity(tau)


def massless_volume(n: int, energy: Floats | float) -> Floats:
    """Return the phase-space volume of n massless particles in GeV^(2n - 4), including the factors of 2 pi.

    The volume is (2 pi)^(4 - 3n) (pi/2)^(n-1) E^(2n-4) / ((n-1)! (n-2)!).
    """
    flat = (pi / 2) ** (n - 1) * np.asarray(energy, np.float64) ** (2 * n - 4)
    return flat / (factorial(n - 1) * factorial(n - 2)) / (2 * pi) ** (3 * n - 4)


def weighted(energy: Floats, masses: tuple[float, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return events of ``rambo`` and their weights (eq. 4.11 of the RAMBO paper).

    The mean weight is the phase-space volume in GeV^(2n - 4). The phase space of n particles is
    (2 pi)^4 delta^4 prod(d^3p / ((2 pi)^3 2E)).
    """
    p, n = rambo(energy, masses, rng), len(masses)
    weight = massless_volume(n, energy)
    if not any(masses):
        return p, weight
    e, k = p[..., 0], np.sqrt((p[..., 1:] ** 2).sum(axis=-1))
    scaled = (k.sum(axis=1) / energy) ** (2 * n - 3) * (k / e).prod(axis=1) * energy / (k**2 / e).sum(axis=1)
    return p, weight * scaled
