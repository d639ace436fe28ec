"""Cuts on gluons, tested with momenta that are constructed for the tests."""

from __future__ import annotations

import numpy as np

from isoplan.trainers.amplitudes.phase_space.mapping import passes
from isoplan.trainers.amplitudes.processes import PROCESSES


def gluon(pt: float, y: float, phi: float) -> list[float]:
    return [pt * np.cosh(y), pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(y)]


def test_gluons_are_hard_and_apart() -> None:
    z = [100.0, 0.0, 0.0, 0.0]
    pairs = [
        ((21, 0, 0), (30, 0, 0.41), True),
        ((19, 0, 0), (30, 0, 2), False),
        ((30, 1, 0), (19.9, 0, 2), False),
        ((30, 1, 0), (40, 1.39, 0), False),
        ((30, 1, 0), (40, 1.41, 0), True),
        ((30, 1, 3.1), (40, 1, -3.1), False),  # The pair lies on two sides of phi = pi.
        ((30, -8, 0), (40, 8, 0), True),
    ]
    events = np.array([[z, gluon(*a), gluon(*b)] for a, b, _ in pairs])
    assert passes(PROCESSES["Zgg"], events).tolist() == [good for *_, good in pairs]


def test_massive_particles_need_none() -> None:
    events = np.array([[gluon(1.0, 0, 0)] * 3])
    assert passes(PROCESSES["ttH"], events).all()
