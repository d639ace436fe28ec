"""Amplitudes of longitudinal W and Z at high energy and fixed angles.

The amplitudes are bounded. If any vertex is removed, they increase with the energy E. Amplitudes of 2 -> 2 are
dimensionless and can approach a constant. Amplitudes of 2 -> 3 decrease as 1 / E (J. M. Cornwall, D. N. Levin, G.
Tiktopoulos, Phys. Rev. D 10 (1974) 1145).
"""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from isoplan.trainers.amplitudes.processes import PROCESSES, Process
from isoplan.trainers.amplitudes.processes.evaluate import CHIRALITIES, amplitudes, waves
from tests.trainers.amplitudes.kinematics import beams

LOW, HIGH = 2000.0, 10000.0
POINTS = 5
# A case is a process and the legs of the vertex that is removed from it. Vertices that occur in all diagrams of W Z are
# not listed, because the amplitude is 0 without such a vertex.
CASES: list[tuple[str, tuple[str, ...]]] = [
    ("WZ", legs) for legs in (("u~", "Z", "u"), ("d~", "Z", "d"), ("W+", "W-", "Z"))
]
CASES += [("WWZ", vertex.legs) for vertex in PROCESSES["WWZ"].vertices]


def longitudinal(process: Process, energy: float, unlike: tuple[str, ...] = ()) -> Floats:
    """Return an array (chiralities, points): |M| E^(n - 2) for n outgoing longitudinal bosons of total ``energy`` E.

    The directions are equal for all energies. Vertices with the legs ``unlike`` are removed.
    """
    rng = np.random.default_rng(11)
    angles = rambo(np.full(POINTS, 1.0), (0.0,) * len(process.outgoing), rng)
    p = scaled(angles, energy, process.masses[2:])
    momenta = np.concatenate([np.broadcast_to(beams(energy), (POINTS, 2, 4)), p], axis=1)
    used = process.without(*(vertex for vertex in process.vertices if vertex.legs == unlike))
    found = []
    for chirality in CHIRALITIES:
        amplitude = amplitudes(used, momenta, waves(used, momenta, chirality))
        if amplitude is not None:
            helicities = (0, 0, 0, *(1,) * len(process.outgoing))
            found.append(np.abs(amplitude[helicities]) * energy ** (len(process.outgoing) - 2))
    return np.array(found)


def scaled(massless: Floats, energy: float, masses: tuple[float, ...]) -> Floats:
    """Return massive momenta of total ``energy`` with the directions of ``massless`` (points, n, 4).

    All three-momenta are multiplied by one factor. The energies of the massless momenta sum to 1.
    """
    low, high = np.zeros(len(massless)), np.full(len(massless), energy)
    for _ in range(100):
        xi = (low + high) / 2
        e = np.sqrt((xi[:, None] * massless[..., 0]) ** 2 + np.square(masses))
        above = e.sum(axis=1) > energy
        low, high = np.where(above, low, xi), np.where(above, xi, high)
    return np.concatenate([e[..., None], xi[:, None, None] * massless[..., 1:]], axis=-1)


@pytest.mark.parametrize("name", ["WZ", "WWZ"])
def test_longitudinal_bosons_stay_bounded(name: str) -> None:
    low, high = (longitudinal(PROCESSES[name], energy) for energy in (LOW, HIGH))
    assert low.shape == ((1 if name == "WZ" else 2), POINTS)
    assert np.all(high < 1.3 * low.max())


@pytest.mark.parametrize(("name", "legs"), CASES)
def test_without_any_one_vertex_they_grow(name: str, legs: tuple[str, ...]) -> None:
    low, high = (longitudinal(PROCESSES[name], energy, legs).max(axis=0) for energy in (LOW, HIGH))
    # |M| E^(n - 2) increases as E without a vertex of the Higgs boson, and as E^2 or E^3 without one of the other
    # vertices.
    power = np.log(high / low) / np.log(HIGH / LOW)
    assert np.all(power > (0.9 if "H" in legs else 1.9))
    assert np.all(high > 10 * longitudinal(PROCESSES[name], HIGH).max(axis=0))
