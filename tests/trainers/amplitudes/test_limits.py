"""Soft and collinear gluons: the squared amplitude approaches a product.

One factor is the squared amplitude without the gluon. The other factor is universal.
"""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.phase_space.flat import rambo
from isoplan.trainers.amplitudes.processes import PROCESSES, Process, squared_amplitude
from isoplan.trainers.amplitudes.processes.fields import COLOURS, G_STRONG
from tests.trainers.amplitudes.kinematics import beams, product, square, to_frame

C_A = COLOURS
C_F = (COLOURS**2 - 1) / (2 * COLOURS)
ENERGY = 800.0


def recoiling(process: Process, whole: Floats, seed: int) -> Floats:
    """Return outgoing particles (particles, 4) of a random event with the total momentum ``whole`` (4,)."""
    p = rambo(np.array([np.sqrt(square(whole))]), process.masses[2:], np.random.default_rng(seed))
    return to_frame(p[0], whole)


def one(process: Process, *momenta: Floats) -> float:
    return float(squared_amplitude(process, np.concatenate([np.atleast_2d(p) for p in momenta])[None])[0])


def direction(cosine: float, phi: float) -> Floats:
    sine = np.sqrt(1 - cosine**2)
    return np.array([1.0, sine * np.cos(phi), sine * np.sin(phi), cosine])


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("hard", "soft"), [("Zg", "Zgg"), ("WZ", "WZg"), ("WZg", "WZgg")])
def test_soft_gluons(hard: str, soft: str, seed: int) -> None:
    """The universal factor of a soft gluon k is - g^2 sum_ij T_i.T_j p_i.p_j / (p_i.k p_j.k).

    With a hard gluon, T_q.T_qbar = C_A / 2 - C_F and T_q.T_g = - C_A / 2. Without a hard gluon, T_q.T_qbar = - C_F.
    Source: A. Bassetto, M. Ciafaloni, G. Marchesini, Phys. Rept. 100, 201.
    """
    incoming, off = beams(ENERGY), list[float]()
    for softness in (1e-3, 1e-5):
        k = softness * ENERGY * direction(0.3, 1.0)
        without = recoiling(PROCESSES[hard], incoming.sum(axis=0), seed)
        beside = recoiling(PROCESSES[hard], incoming.sum(axis=0) - k, seed)

        def antenna(a: Floats, b: Floats, k: Floats = k) -> float:
            return float(product(a, b) / (product(a, k) * product(b, k)))

        q, qbar = incoming
        if "g" in hard:
            g = without[-1]
            factor = C_A * (antenna(q, g) + antenna(qbar, g)) - (C_A - 2 * C_F) * antenna(q, qbar)
        else:
            factor = 2 * C_F * antenna(q, qbar)
        expected = G_STRONG**2 * factor * one(PROCESSES[hard], incoming, without)
        off.append(abs(one(PROCESSES[soft], incoming, beside, k) / expected - 1))
    assert off[0] < 0.05
    assert off[1] < max(0.02 * off[0], 1e-5)


@pytest.mark.parametrize("z", [0.2, 0.7])
def test_two_collinear_gluons(z: float) -> None:
    """The squared amplitude is a universal factor times the squared amplitude with a single gluon for the pair.

    The universal factor is 2 g^2 / s_12 P_gg(z) (G. Altarelli, G. Parisi, Nucl. Phys. B 126 (1977) 298). The single
    gluon has the total momentum of the pair. The formula holds for the average over the azimuth phi. Four angles give
    the exact average, because the dependence is cos(2 phi).
    """
    incoming, whole = beams(ENERGY), beams(ENERGY).sum(axis=0)
    splitting = 2 * C_A * (z / (1 - z) + (1 - z) / z + z * (1 - z))
    z_mass, off = PROCESSES["Zg"].masses[2], list[float]()
    at_rest = rambo(np.array([ENERGY]), (z_mass, 0.0), np.random.default_rng(5))
    along = at_rest[0, 1, 1:] / at_rest[0, 1, 0]
    side = np.cross(along, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    for mass in (1.0, 0.1):
        energy = (ENERGY**2 + mass**2 - z_mass**2) / (2 * ENERGY)
        pair = np.array([energy, *(np.sqrt(energy**2 - mass**2) * along)])
        sine, found = np.sqrt(1 - (2 * z - 1) ** 2), []
        for phi in np.arange(4) * np.pi / 2 + 0.4:
            across = np.cos(phi) * side + np.sin(phi) * np.cross(along, side)
            first = mass / 2 * np.array([1.0, *((2 * z - 1) * along + sine * across)])
            second = mass * np.array([1.0, 0, 0, 0]) - first
            found.append(one(PROCESSES["Zgg"], incoming, whole - pair, to_frame(np.stack([first, second]), pair)))
        expected = 2 * G_STRONG**2 / mass**2 * splitting * one(PROCESSES["Zg"], incoming, at_rest[0])
        off.append(abs(float(np.mean(found)) / expected - 1))
    assert off[0] < 1e-2
    assert off[1] < 1e-3


@pytest.mark.parametrize("x", [0.4, 0.8])
@pytest.mark.parametrize(("without", "name"), [("Zg", "Zgg"), ("WZ", "WZg")])
def test_a_gluon_collinear_with_the_quark(without: str, name: str, x: float) -> None:
    """The squared amplitude is a universal factor times the squared amplitude of a quark with momentum x p.

    The universal factor is g^2 / (x p.k) P_qq(x) (S. Catani, M. H. Seymour, Nucl. Phys. B 485 (1997) 291, eq. 4.23).
    The gluon has the momentum k.
    """
    incoming, off = beams(ENERGY), list[float]()
    splitting = C_F * (1 + x**2) / (1 - x)
    reduced = incoming * np.array([[x], [1.0]])
    expected = one(PROCESSES[without], reduced, recoiling(PROCESSES[without], reduced.sum(axis=0), 7))
    for angle in (1e-2, 1e-3):
        k = (1 - x) * ENERGY / 2 * np.array([1.0, np.sin(angle), 0, np.cos(angle)])
        beside = recoiling(PROCESSES[without], incoming.sum(axis=0) - k, 7)
        factor = G_STRONG**2 * splitting / (x * float(product(incoming[0], k)))
        off.append(abs(one(PROCESSES[name], incoming, beside, k) / (factor * expected) - 1))
    assert off[0] < 0.1
    assert off[1] < max(0.2 * off[0], 1e-4)
