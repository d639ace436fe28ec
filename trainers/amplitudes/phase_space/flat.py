"""The same points from flat phase space: slow, and independent of the mapping and its grid, so that it checks them."""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.phase_space.cuts import least_energy, passes
from isoplan.trainers.amplitudes.phase_space.luminosity import COLLIDER, luminosity
from isoplan.trainers.amplitudes.phase_space.mapping import Mapping
from isoplan.trainers.amplitudes.phase_space.rambo import rambo
from isoplan.trainers.amplitudes.phase_space.sampler import PICOBARN, Points, with_beams
from isoplan.trainers.amplitudes.processes import squared_amplitude
from isoplan.trainers.amplitudes.processes.model import INCOMING


def flat_points(mapping: Mapping, count: int, rng: np.random.Generator) -> Points:
    """``count`` tries on flat phase space for process and energy of ``mapping``; ln s is flat where s varies."""
    process = mapping.process
    energy, weight = _energies(mapping, rng.random(count))
    outgoing, volume = rambo(energy, process.masses[INCOMING:], rng)
    rows = np.flatnonzero(passes(process, outgoing))
    momenta = with_beams(mapping.sqrt_s, outgoing[rows])
    amplitude = squared_amplitude(process, momenta)
    cross = PICOBARN / (2 * energy**2 * process.identical) * weight * volume
    return Points(momenta, amplitude, cross[rows] * amplitude, count)


def _energies(mapping: Mapping, u: Floats) -> tuple[Floats, Floats]:
    """sqrt(s) in GeV and dtau dL/dtau of each."""
    if mapping.sqrt_s is not None:
        return np.full(len(u), mapping.sqrt_s), np.ones(len(u))
    least = (least_energy(mapping.process) / COLLIDER) ** 2
    tau = least ** (1 - u * (1 - 1e-9))
    return COLLIDER * np.sqrt(tau), -np.log(least) * tau * luminosity(tau)
