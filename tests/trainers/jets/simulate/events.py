"""Events with particles that a test chooses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from isoplan.trainers.jets.simulate.detector import Noise, Seen
from isoplan.trainers.jets.simulate.generate import Particles


def made(
    pid: ArrayLike,
    pt: ArrayLike,
    eta: ArrayLike,
    phi: ArrayLike,
    charge: ArrayLike = 0,
    born: ArrayLike = 0,
    n: int = 1,
) -> Particles:
    """Return massless particles, with equal numbers of particles in each of ``n`` events.

    The particles start ``born`` mm from the beam, in their direction of flight.
    """
    pids, pts, etas, phis, charges, radii = (
        np.array(x, dtype=float) for x in np.broadcast_arrays(*map(np.atleast_1d, (pid, pt, eta, phi, charge, born)))
    )
    event = np.arange(len(pts)) * n // len(pts)
    px, py, pz = pts * np.cos(phis), pts * np.sin(phis), pts * np.sinh(etas)
    x, y = radii * np.cos(phis), radii * np.sin(phis)
    energy = pts * np.cosh(etas)
    return Particles(n, event, pids.astype(np.int64), charges, px, py, pz, energy, x, y, 0 * x)


def seen(event: ArrayLike, pt: ArrayLike, eta: ArrayLike, phi: ArrayLike, events: int = 1) -> Seen:
    """Return massless reconstructed photons."""
    pts, etas, phis = (np.asarray(x, dtype=float) for x in (pt, eta, phi))
    none, which = 0 * pts, np.asarray(event, np.int64)
    px, py, pz = pts * np.cos(phis), pts * np.sin(phis), pts * np.sinh(etas)
    kind = np.full(len(pts), 2)
    return Seen(events, which, px, py, pz, pts * np.cosh(etas), none, kind, none, none, none, none)


def noise(seed: int = 0) -> Noise:
    """Return the random number generator with the given seed."""
    return Noise.of(np.random.SeedSequence(seed))
