"""Numerical values of amplitudes: first the wave functions of the legs, then all currents of a process.

Spinors are those of Peskin and Schroeder, eqs. 3.50 and 3.62, in the helicity basis. The transverse polarisation
vectors are (-+ e1 - i e2) / sqrt 2, with e1 in the plane of p and the z axis. The longitudinal polarisation vector is
(|p|, E p/|p|) / M.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.processes.algebra import (
    Array,
    Current,
    Slots,
    dot,
    light_cone,
    propagate_column,
    propagate_row,
    propagate_scalar,
    propagate_vector,
    total,
)
from isoplan.trainers.amplitudes.processes.catalogue import Process, colour_matrix
from isoplan.trainers.amplitudes.processes.check import check_momenta
from isoplan.trainers.amplitudes.processes.currents import Node
from isoplan.trainers.amplitudes.processes.fields import COLOURS, FIELDS, INCOMING, Field

Chirality = Literal["left", "right"]
"""Chirality of the massless incoming quarks of a process. A massless quark line has one chirality from end to end."""


def wave(field: Field, momentum: Floats, incoming: bool, chirality: Chirality) -> Current:
    """Return the wave function (components, helicities, points) of a leg.

    ``field`` is the field of the leg as it enters the diagram (``t~`` for an outgoing t). ``momentum`` (points, 4) is
    the physical momentum in GeV. The second axis contains these helicities:

    - massive quarks: -1/2 and 1/2
    - massless quarks: only the helicity of ``chirality``
    - massive vectors: -1, 0 and 1
    - massless vectors: -1 and 1
    - scalars: 0
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
    """Return |p|, cos(theta / 2), sin(theta / 2) and e^{i phi} of momenta ``p`` (points, 4); phi is 0 on the z axis."""
    x, y, z = p[:, 1], p[:, 2], p[:, 3]
    across = np.hypot(x, y)
    size = np.hypot(across, z)
    # Compute the larger of cos and sin without cancellation. The smaller one follows from the larger one.
    safe = np.where(size > 0, size, 1.0)
    large = np.sqrt(0.5 + np.abs(z) / (2 * safe))
    small = across / (2 * safe * large)
    cosine, sine = np.where(z >= 0, large, small), np.where(z >= 0, small, large)
    phase = np.where(across > 0, (x + 1j * y) / np.where(across > 0, across, 1.0), 1.0)
    return size, cosine, sine, phase


def _column(p: Floats, mass: float, particle: bool, chirality: Chirality) -> Slots:
    """Return the column spinor u(p) of a particle or v(p) of an antiparticle.

    A massive fermion has two helicities. A massless fermion has only the helicity of ``chirality``.
    """
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
    """Return polarisation vectors (helicities, points, 4) of a vector boson: two if ``mass`` is 0, otherwise three."""
    size, cosine, sine, phase = _directions(p)
    cos, sin, zero = cosine**2 - sine**2, 2 * sine * cosine, np.zeros(len(p))
    one = np.stack([zero, cos * phase.real, cos * phase.imag, -sin], axis=-1)
    two = np.stack([zero, -phase.imag, phase.real, zero], axis=-1)
    minus, plus = (one - 1j * two) / np.sqrt(2), (-one - 1j * two) / np.sqrt(2)
    if not mass:
        return np.stack([minus, plus])
    along = np.stack([size, p[:, 0] * sin * phase.real, p[:, 0] * sin * phase.imag, p[:, 0] * cos], axis=-1) / mass
    return np.stack([minus, along + 0j, plus])


BLOCK = 1024
"""Number of points that are evaluated together.

More points reduce the overhead of NumPy calls, but need more memory.
"""
CHIRALITIES: tuple[Chirality, Chirality] = ("left", "right")
AVERAGE = 1 / (4 * COLOURS**2)
"""Factor of the average over the 4 helicity states and the 9 colour states of an incoming quark and antiquark."""


def squared_amplitude(process: Process, momenta: Floats) -> Floats:
    """Return |M|^2 at tree level, averaged over incoming and summed over outgoing helicities and colours.

    ``momenta`` (points, particles, 4) are in GeV as (E, px, py, pz), with the incoming particles first. Returns
    (points,) in GeV^(8 - 2 particles), without the factor 1/n! for n gluons. Raises PlannerError if the momenta are not
    physical.
    """
    check_momenta(momenta, process.particles)
    blocks = [momenta[i : i + BLOCK] for i in range(0, len(momenta), BLOCK)]
    return np.concatenate([_squared(process, block) for block in blocks]) if blocks else np.zeros(0)


def _squared(process: Process, momenta: Floats) -> Floats:
    colours = colour_matrix(len(process.lines), len(process.gluons))
    sums = np.zeros(len(momenta))
    for chirality in CHIRALITIES:
        values = amplitudes(process, momenta, waves(process, momenta, chirality))
        if values is not None:
            parts = np.ascontiguousarray(values).view(np.float64).reshape(len(colours), -1)
            products = np.einsum("oi,oi->i", parts, colours @ parts)
            sums += products.reshape(-1, len(momenta), 2).sum(axis=(0, 2))
    return AVERAGE * sums


def waves(process: Process, momenta: Floats, chirality: Chirality) -> list[Current]:
    """Return the wave functions of all legs, each of the shape (components, one axis per leg, points).

    In the wave function of a leg, the axis of this leg contains its helicities. The axes of all other legs have the
    length 1.
    """
    count = len(process.fields)
    return [
        _on_axis(wave(FIELDS[name], momenta[:, leg], leg < INCOMING, chirality), leg, count)
        for leg, name in enumerate(process.fields)
    ]


def amplitudes(process: Process, momenta: Floats, external: Sequence[Current]) -> Array | None:
    """Return the colour-ordered amplitudes: an array of shape (colour orders, helicities of each leg ..., points).

    ``external`` contains the wave functions that ``waves`` returns for one chirality. The result is None if all
    diagrams vanish for this chirality. For example, a W couples only to left-handed quarks.
    """
    count, plan = len(process.fields), process.plan
    flow = np.where(np.arange(count) < INCOMING, 1.0, -1.0)
    going_in = light_cone(momenta * flow[:, None])
    sums: dict[tuple[int, ...], Array] = {}
    k: list[Array] = []
    values: list[Current | None] = []
    for node in plan.nodes:
        legs = tuple(sorted(node.legs))
        if legs not in sums:
            sums[legs] = going_in[:, :, legs].sum(axis=2).reshape(4, *(1,) * count, len(momenta))
        k.append(sums[legs])
        if not node.terms:
            values.append(external[legs[0]])
            continue
        amputated = _meet(node, values, k)
        values.append(amputated if len(legs) == count - 1 else _propagate(node.field, amputated, k[-1]))
    contract = dot if FIELDS[process.fields[process.root]].spin == "vector" else np.multiply
    last = cast(Array, external[process.root])
    ends = [cast(Array | None, values[end]) for end in plan.ends]
    return (
        None if any(end is None for end in ends) else np.stack([contract(end, last) for end in ends if end is not None])
    )


def _on_axis(current: Current | None, leg: int, count: int) -> Current:
    """Reshape a current (..., helicities, points) to (..., ``count`` axes, points).

    Axis number ``leg`` of the ``count`` axes contains the helicities. The other axes have the length 1.
    """
    if isinstance(current, tuple):
        return cast(Slots, tuple(None if part is None else _on_axis(part, leg, count) for part in current))
    assert current is not None
    *components, helicities, points = current.shape
    return current.reshape(*components, *(1,) * leg, helicities, *(1,) * (count - leg - 1), points)


def _meet(node: Node, values: Sequence[Current | None], k: Sequence[Array]) -> Current | None:
    """Return the current of a node without its propagator: the sum of the terms of the node.

    ``values`` and ``k`` are the currents and momenta of all earlier nodes. The result is None if all terms vanish.
    """
    out: Current | None = None
    for rule, inputs in node.terms:
        currents = [values[i] for i in inputs]
        if any(current is None for current in currents):
            continue
        term = rule.combine(cast(list[Current], currents), [k[i] for i in inputs], rule.couplings)
        out = term if out is None else _sum(out, term)
    return out


def _sum(a: Current, b: Current | None) -> Current:
    if b is None:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return total(a[0], b[0]), total(a[1], b[1])
    return np.add(cast(Array, a), cast(Array, b))


def _propagate(field: Field, current: Current | None, k: Array) -> Current | None:
    if current is None:
        return None
    square = dot(k, k)
    if field.spin == "fermion":
        return propagate_column(cast(Slots, current), k, square, field.mass)
    if field.spin == "antifermion":
        return propagate_row(cast(Slots, current), k, square, field.mass)
    if field.spin == "vector":
        return propagate_vector(cast(Array, current), k, square, field.mass)
    return propagate_scalar(cast(Array, current), square, field.mass)
