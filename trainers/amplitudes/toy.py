"""Events with a made-up amplitude, at once: to try things out, and to measure how fast a machine trains."""

from __future__ import annotations

import numpy as np

from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.phase_space.rambo import rambo
from isoplan.trainers.amplitudes.processes.catalogue import find_process

LOWEST, HIGHEST = 1.5, 2000.0
"""sqrt(s), where it varies, from so many times the masses (300 GeV at least) to so many GeV, even in the logarithm."""


def toy(process: str, n: int, seed: int, sqrt_s: float = 0.0) -> Events:
    """``n`` events, flat in the phase space of a built-in process, whose amplitude is s / ((p1 . p3) (p2 . p3)).

    ``sqrt_s`` in GeV, 0 where it varies. The weights, which flat phase space has, are left out.
    """
    rng, masses = np.random.default_rng(seed), find_process(process).masses
    low = max(LOWEST * sum(masses), 300.0)
    energy = np.full(n, sqrt_s) if sqrt_s else low * (HIGHEST / low) ** rng.random(n)
    outgoing, _ = rambo(energy, masses[2:], rng)
    beams = energy[:, None, None] / 2 * np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, -1.0]])
    first = outgoing[:, 0]
    products = (energy[:, None] / 2) ** 2 * (first[:, :1] - first[:, 3:]) * (first[:, :1] + first[:, 3:])
    return Events(np.concatenate([beams, outgoing], axis=1), energy**2 / products[:, 0], np.ones(n), process)
