"""Flat phase space of any number of particles: the algorithm RAMBO.

R. Kleiss, W. J. Stirling, S. D. Ellis, Comput. Phys. Commun. 40 (1986) 359. Equation numbers refer to this paper.
"""

from __future__ import annotations

from math import pi

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

STEPS = 60
"""Maximum number of Newton steps to compute the factor by which ``_massive`` multiplies the momenta.

Newton's method converges quadratically in general, but only linearly if the energy is close to the sum of the masses.
"""


def rambo(energy: Floats, masses: tuple[float, ...], rng: np.random.Generator) -> Floats:
    """Draw momenta (points, n, 4) of n particles in their rest frame, as (E, px, py, pz) in GeV.

    ``energy`` (points,) is the total energy and ``masses`` (n,) are the masses, in GeV. The function does not compute
    the phase-space weights of RAMBO. Raises PlannerError if an energy is not above the sum of the masses, or if there
    are fewer than two particles.
    """
    energy = np.asarray(energy, np.float64)
    m = np.array(masses)
    if len(m) < 2:
        raise PlannerError(f"Phase space needs at least two particles, not {len(m)}: give more masses.")
    if not np.all(energy > m.sum()):
        row = int(np.argmin(energy > m.sum()))
        raise PlannerError(
            f"The energy of row {row}, {energy[row]:g} GeV, is not above the sum of the masses, {m.sum():g} "
            f"GeV: raise the energy."
        )
    p = _massless(energy, len(m), rng)
    return _massive(p, energy, m) if m.any() else p


def _massless(energy: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return isotropic massless momenta (points, n, 4) in their rest frame, scaled to ``energy`` (RAMBO, eqs. 2-7)."""
    u = 1 - rng.random((4, len(energy), n))
    cos, phi, q0 = 2 * u[0] - 1, 2 * pi * u[1], -np.log(u[2] * u[3])
    sin = np.sqrt(np.maximum(0, 1 - cos**2))
    q = np.stack([sin * np.cos(phi), sin * np.sin(phi), cos], axis=-1) * q0[..., None]
    total, space = q0.sum(axis=1), q.sum(axis=1)
    mass = np.sqrt(total**2 - (space**2).sum(axis=1))
    b, x, gamma = -space / mass[:, None], energy / mass, total / mass
    along = np.einsum("pni,pi->pn", q, b)
    e = x[:, None] * (gamma[:, None] * q0 + along)
    p = x[:, None, None] * (q + b[:, None] * (q0 + along / (1 + gamma[:, None]))[..., None])
    return np.concatenate([e[..., None], p], axis=-1)


def _massive(p: Floats, energy: Floats, m: Floats) -> Floats:
    """Return massive momenta (points, n, 4) with the total ``energy`` (RAMBO, eq. 4.2).

    The massless three-momenta of ``p`` are multiplied by a factor xi, and the energies follow from the masses ``m``
    (n,). xi is the factor for which the energies sum to ``energy``.
    """
    size = p[..., 0]
    xi = np.sqrt(1 - (m.sum() / energy) ** 2)
    for _ in range(STEPS):
        e = np.sqrt((xi[:, None] * size) ** 2 + m**2)
        step = (e.sum(axis=1) - energy) / (xi[:, None] * size**2 / e).sum(axis=1)
        xi = xi - step
        if np.all(np.abs(step) <= 1e-15 * xi):
            break
    e = np.sqrt((xi[:, None] * size) ** 2 + m**2)
    return np.concatenate([e[..., None], xi[:, None, None] * p[..., 1:]], axis=-1)
