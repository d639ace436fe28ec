"""Lorentz algebra of vertices and propagators on arrays: light-cone vectors and two-component spinors.

Every array has the shape (components, one axis per leg for its helicities, points), so currents of different legs
multiply by broadcasting. Vectors have the four components (V0 + V3, V0 - V3, V1 + i V2, V1 - i V2). In this basis
V-slash is the matrix of the four components, and the vector current of two spinors is the outer product of the spinors.

A Dirac spinor is in the chiral basis (Peskin and Schroeder, eq. 3.25). It is stored as a left part and a right part.
Each part has two components, or is None if it vanishes. A massless line of one chirality thus needs half the
operations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.complex128]
Slots = tuple[Array | None, Array | None]
"""Two-component parts (left, right) of a Dirac spinor; None means zero.

In a row spinor, "left" is the part that multiplies the left part of a column spinor, and "right" is the part that
multiplies the right part of a column spinor.
"""
Current = Array | Slots


def light_cone(momenta: NDArray[np.float64] | Array) -> Array:
    """Return the light-cone components (4, ...) of momenta (..., 4) that are given as (E, px, py, pz)."""
    e, x, y, z = np.moveaxis(momenta, -1, 0)
    return np.stack([e + z, e - z, x + 1j * y, x - 1j * y]).astype(np.complex128)


def dot(a: Array, b: Array) -> Array:
    """Return the product a . b of two light-cone vectors in the metric (+, -, -, -), without the component axis."""
    out: Array = a[0] * b[1]
    out += a[1] * b[0]
    out -= a[2] * b[3]
    out -= a[3] * b[2]
    out *= 0.5
    return out


def _two(a: Array, b: Array, c: Array, d: Array, x: Array) -> Array:
    """Return the matrix ((a, b), (c, d)) times the two components of ``x``."""
    out = np.empty((2, *np.broadcast_shapes(a.shape, x.shape[1:])), np.complex128)
    np.multiply(a, x[0], out=out[0])
    np.multiply(c, x[0], out=out[1])
    out[0] += b * x[1]
    out[1] += d * x[1]
    return out


def slash_column(v: Array, psi: Slots) -> Slots:
    """Return V-slash times a column spinor: (sigma.V psi_R, sigmabar.V psi_L)."""
    left, right = psi
    return (
        None if right is None else _two(v[1], -v[3], -v[2], v[0], right),
        None if left is None else _two(v[0], v[3], v[2], v[1], left),
    )


def slash_row(bar: Slots, v: Array) -> Slots:
    """Return a row spinor (a, b) times V-slash: (b sigmabar.V, a sigma.V)."""
    a, b = bar
    return (
        None if b is None else _two(v[0], v[2], v[3], v[1], b),
        None if a is None else _two(v[1], -v[2], -v[3], v[0], a),
    )


def scale(psi: Slots, left: complex, right: complex) -> Slots:
    """Multiply the parts of a spinor by ``left`` and ``right``. If a factor is zero, the part becomes None."""
    a, b = psi
    return None if a is None or left == 0 else a * left, None if b is None or right == 0 else b * right


def total(x: Array | None, y: Array | None) -> Array | None:
    """Return x + y, where None means zero."""
    if x is None or y is None:
        return y if x is None else x
    return np.add(x, y)


def vector_bilinear(bar: Slots, psi: Slots, left: float, right: float) -> Array | None:
    """Return the vector psibar gamma^mu (left P_L + right P_R) psi, or None if it vanishes."""
    (a, b), (x, y) = bar, psi
    out = None
    if b is not None and x is not None and left:
        out = _outer(2 * left * b, x, -2 * left * b, (1, 0))
    if a is not None and y is not None and right:
        out = total(out, _outer(2 * right * a, y, 2 * right * a, (0, 1)))
    return out


def _outer(a: Array, x: Array, b: Array, order: tuple[int, int]) -> Array:
    """Return (a_i x_i, a_j x_j, b_0 x_1, b_1 x_0) for (i, j) = ``order``."""
    out = np.empty((4, *np.broadcast_shapes(a.shape[1:], x.shape[1:])), np.complex128)
    for k, i in enumerate(order):
        np.multiply(a[i], x[i], out=out[k])
        np.multiply(b[k], x[1 - k], out=out[2 + k])
    return out


def scalar_bilinear(bar: Slots, psi: Slots) -> Array | None:
    """Return the scalar psibar psi, or None if it vanishes."""
    out = None
    for row, column in zip(bar, psi, strict=True):
        if row is not None and column is not None:
            out = total(out, row[0] * column[0] + row[1] * column[1])
    return out


def triple(a: Array, b: Array, k: Array, q: Array) -> Array:
    """Return the outgoing vector a_1 b_2 (g^{12} (k - q)^3 + cyclic) of a vertex of three vectors.

    The vectors ``a`` and ``b`` have the incoming momenta ``k`` and ``q``.
    """
    out: Array = dot(a, b) * (k - q)
    out += dot(2 * q + k, a) * b
    out -= dot(2 * k + q, b) * a
    return out


def quartic(a: Array, b: Array, c: Array) -> Array:
    """Return the outgoing vector of a vertex of four vectors from the three vectors ``a``, ``b`` and ``c``.

    The result is a_1 b_2 c_3 (2 g^{13} g^{24} - g^{12} g^{34} - g^{14} g^{23}).
    """
    out: Array = 2 * dot(a, c) * b
    out -= dot(a, b) * c
    out -= dot(b, c) * a
    return out


def propagate_column(psi: Slots, k: Array, square: Array, mass: float) -> Slots:
    """Return -(k-slash + m) / (k^2 - m^2) times a column spinor of momentum ``k`` along the fermion arrow.

    ``square`` is k^2. The sign is the product of the factors i of the propagator and of the vertex.
    """
    factor = 1 / (mass**2 - square)
    left, right = slash_column(k * factor, psi)
    if not mass:
        return left, right
    same = tuple(None if part is None else part * (mass * factor) for part in psi)
    return total(left, same[0]), total(right, same[1])


def propagate_row(bar: Slots, k: Array, square: Array, mass: float) -> Slots:
    """Return a row spinor times -(-k-slash + m) / (k^2 - m^2); ``square`` is k^2.

    The momentum ``k`` of the row enters the diagram against the fermion arrow, which changes the sign of k-slash.
    """
    factor = 1 / (mass**2 - square)
    left, right = slash_row(bar, -(k * factor))
    if not mass:
        return left, right
    same = tuple(None if part is None else part * (mass * factor) for part in bar)
    return total(left, same[0]), total(right, same[1])


def propagate_vector(v: Array, k: Array, square: Array, mass: float) -> Array:
    """Return a vector current times the propagator of a vector boson with the given ``mass``.

    ``square`` is k^2. A massive vector uses the unitary gauge, (V - k k.V / M^2) / (k^2 - M^2). A massless vector uses
    the Feynman gauge, V / k^2.
    """
    return (v - k * (dot(k, v) / mass**2) if mass else v) / (square - mass**2)


def propagate_scalar(s: Array, square: Array, mass: float) -> Array:
    """Return -1 / (k^2 - M^2) times a scalar; ``square`` is k^2."""
    return np.multiply(s, 1 / (mass**2 - square))
