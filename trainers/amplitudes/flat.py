"""Events that are flat in phase space above cuts, at one sqrt(s) or at one of many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trainers.amplitudes.events import Events
from trainers.amplitudes.phase_space.rambo import rambo
from trainers.amplitudes.processes import find_process, squared_amplitude

Real = NDArray[np.float64]
SAMPLER = "flat1"
"""Raised where the same seed gives other events."""
LEAST_PT, LEAST_S = 30.0, 0.01
"""GeV of each gluon across the beam, and of each pair of gluons p_i . p_j / s: neither soft nor collinear."""
LOWEST, HIGHEST = 1.2, 2000.0
"""sqrt(s), where it varies, between so many times the threshold (300 GeV at least) and so many GeV, even in the log."""


def make_events(process: str, n: int, seed: Sequence[int], sqrt_s: float = 0.0) -> Events:
    """``n`` events of a built-in process at ``sqrt_s`` GeV, or where that is 0 with sqrt(s) varying; by ``seed``."""
    found, rng = find_process(process), np.random.default_rng(seed)
    kept: list[Real] = []
    while (there := sum(map(len, kept))) < n:
        count = 2 * (n - there) + 100
        low = max(LOWEST * sum(found.masses), 300.0)
        energy = np.full(count, sqrt_s) if sqrt_s else low * (HIGHEST / low) ** rng.random(count)
        outgoing, _ = rambo(energy, found.masses[2:], rng)
        half = energy[:, None, None] / 2
        beams = half * np.array([[1.0, 0, 0, 1.0], [1.0, 0, 0, -1.0]])
        momenta = np.concatenate([beams, outgoing], axis=1)
        kept.append(momenta[_inside(momenta, found.gluons)])
    momenta = np.concatenate(kept)[:n]
    return Events(momenta, squared_amplitude(found, momenta), np.ones(n), process)


def _inside(momenta: Real, gluons: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which events have all their gluons away from the beam and from one another."""
    g = momenta[:, list(gluons)]
    far = (np.hypot(g[..., 1], g[..., 2]) > LEAST_PT).all(axis=1)
    s = (2 * momenta[:, 0, 0]) ** 2
    for i in range(len(gluons)):
        for j in range(i):
            products = g[:, i, 0] * g[:, j, 0] - (g[:, i, 1:] * g[:, j, 1:]).sum(axis=1)
            far &= products > LEAST_S * s
    return np.asarray(far)
