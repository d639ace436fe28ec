"""RAMBO: flat phase space of any number of particles with its exact weight.

R. Kleiss, W. J. Stirling, S. D. Ellis, Comput. Phys. Commun. 40 (1986) 359. Equation numbers refer to this paper.
"""

from __future__ import annotations

from math import factorial, pi

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError

STEPS = 60
"""Maximum number of Newton steps for the scale of massive momenta; quadratic convergence (linear near threshold)."""


def massless_volume(n: int, energy: Floats | float) -> Floats:
    """Return the phase-space volume of n massless particles in GeV^(2n - 4), with the factors of 2 pi of (1).

    (2 pi)^(4 - 3n) (pi/2)^(n-1) E^(2n-4) / ((n-1)! (n-2)!).
    """
    flat = (pi / 2) ** (n - 1) * np.asarray(energy, np.float64) ** (2 * n - 4)
    return flat / (factorial(n - 1) * factorial(n - 2)) / (2 * pi) ** (3 * n - 4)


def rambo(energy: Floats, masses: tuple[float, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw momenta of n particles in their rest frame, with weights whose mean is the phase-space volume.

    ``energy`` (points,) and ``masses`` (n,) in GeV; returns (points, n, 4) as (E, px, py, pz) and (points,) in GeV^(2n
    - 4). Phase space is prod d^3p / ((2 pi)^3 2E) (2 pi)^4 delta^4. Raises PlannerError if an energy is not above the
    sum of the masses, or if there are fewer than two particles.
    """
    energy = np.asarray(energy, np.float64)
    m = np.array(masses)
    if len(m) < 2:
        raise PlannerError(f"Phase space has two particles at least, not {len(m)}: name more masses.")
    if not np.all(energy > m.sum()):
        row = int(np.argmin(energy > m.sum()))
        raise PlannerError(
            f"The energy of row {row}, {energy[row]:g} GeV, is not above the masses' {m.sum():g} GeV: raise it."
        )
    p = _massless(energy, len(m), rng)
    weight = massless_volume(len(m), energy)
    return (p, weight) if not m.any() else _massive(p, energy, m, weight)


def _massless(energy: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Draw isotropic massless momenta, boosted and scaled into their rest frame at ``energy`` (eqs. 2-7)."""
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


def _massive(p: Floats, energy: Floats, m: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Scale momenta by xi so that the energies with masses add up (4.2), and return the weight (4.11)."""
    size = p[..., 0]
    xi = np.sqrt(1 - (m.sum() / energy) ** 2)
    for _ in range(STEPS):
        e = np.sqrt((xi[:, None] * size) ** 2 + m**2)
        step = (e.sum(axis=1) - energy) / (xi[:, None] * size**2 / e).sum(axis=1)
        xi = xi - step
        if np.all(np.abs(step) <= 1e-15 * xi):
            break
    e = np.sqrt((xi[:, None] * size) ** 2 + m**2)
    k = xi[:, None] * size
    n = len(m)
    scaled = (k.sum(axis=1) / energy) ** (2 * n - 3) * (k / e).prod(axis=1) * energy / (k**2 / e).sum(axis=1)
    return np.concatenate([e[..., None], xi[:, None, None] * p[..., 1:]], axis=-1), weight * scaled
