"""Wave functions of external particles: Dirac spinors of definite helicity and polarisation vectors.

Spinors: Peskin and Schroeder, eqs. 3.50 and 3.62, in the basis of helicities; polarisation vectors: transverse ones
(-+ e1 - i e2) / sqrt 2 with e1 in the plane of p and the z axis, and (|p|, E p/|p|) / M.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.processes.algebra import Array, Current, Slots, light_cone
from isoplan.trainers.amplitudes.processes.model import Field

Chirality = Literal["left", "right"]
"""Of the massless quark line of a process: it does not change along the line."""


def wave(field: Field, momentum: Floats, incoming: bool, chirality: Chirality) -> Current:
    """The wave function (components, helicities, points) of a leg.

    ``field`` is the leg as it goes into the diagram (an outgoing t is ``t~``), ``momentum`` (points, 4) is the physical
    one in GeV. Massive particles have their helicities -1/2, 1/2 or -1, 0, 1; massless vectors -1, 1; a massless quark
    only the one helicity of ``chirality``; scalars one.
    """
    if field.spin == "scalar":
        return np.ones((1, len(momentum)), np.complex128)
    if field.spin == "vector":
        polarisations = _polarisations(momentum, field.mass)
        return light_cone(polarisations if incoming else polarisations.conj())
    column = _column(momentum, field.mass, incoming == (field.spin == "fermion"), chirality)
    if field.spin == "fermion":
        return column
    left, right = column
    return None if right is None else right.conj(), None if left is None else left.conj()


def _directions(p: Floats) -> tuple[Floats, Floats, Floats, Array]:
    """|p|, cos and sin of half the polar angle, and e^{i phi}; along the z axis phi is 0."""
    x, y, z = p[:, 1], p[:, 2], p[:, 3]
    across = np.hypot(x, y)
    size = np.hypot(across, z)
    # The larger of cos and sin comes without a cancellation, the smaller one from it.
    safe = np.where(size > 0, size, 1.0)
    large = np.sqrt(0.5 + np.abs(z) / (2 * safe))
    small = across / (2 * safe * large)
    cosine, sine = np.where(z >= 0, large, small), np.where(z >= 0, small, large)
    phase = np.where(across > 0, (x + 1j * y) / np.where(across > 0, across, 1.0), 1.0)
    return size, cosine, sine, phase


def _column(p: Floats, mass: float, particle: bool, chirality: Chirality) -> Slots:
    """u(p) of a particle, v(p) of an antiparticle."""
    size, cosine, sine, phase = _directions(p)
    up = np.stack([cosine + 0j, phase * sine])
    down = np.stack([-phase.conj() * sine, cosine + 0j])
    big = np.sqrt(p[:, 0] + size)
    if not mass:
        return ((big * down)[:, None], None) if chirality == "left" else (None, (big * up)[:, None])
    low = mass / big
    if particle:
        return np.stack([big * down, low * up], axis=1), np.stack([low * down, big * up], axis=1)
    return np.stack([low * up, big * down], axis=1), np.stack([-big * up, -low * down], axis=1)


def _polarisations(p: Floats, mass: float) -> Array:
    """(helicities, points, 4)."""
    size, cosine, sine, phase = _directions(p)
    cos, sin, zero = cosine**2 - sine**2, 2 * sine * cosine, np.zeros(len(p))
    one = np.stack([zero, cos * phase.real, cos * phase.imag, -sin], axis=-1)
    two = np.stack([zero, -phase.imag, phase.real, zero], axis=-1)
    minus, plus = (one - 1j * two) / np.sqrt(2), (-one - 1j * two) / np.sqrt(2)
    if not mass:
        return np.stack([minus, plus])
    along = np.stack([size, p[:, 0] * sin * phase.real, p[:, 0] * sin * phase.imag, p[:, 0] * cos], axis=-1) / mass
    return np.stack([minus, along + 0j, plus])
