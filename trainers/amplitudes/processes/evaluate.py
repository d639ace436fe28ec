"""Amplitudes on numbers: the plan of a process, node by node, on blocks of phase-space points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.trainers.amplitudes.processes import colour
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
from isoplan.trainers.amplitudes.processes.catalogue import Process
from isoplan.trainers.amplitudes.processes.check import check_momenta
from isoplan.trainers.amplitudes.processes.constants import COLOURS
from isoplan.trainers.amplitudes.processes.model import FIELDS, INCOMING, Field
from isoplan.trainers.amplitudes.processes.plan import Node
from isoplan.trainers.amplitudes.processes.waves import Chirality, wave

BLOCK = 1024
"""Points at a time: enough that numpy's own overhead is small, few enough that memory is."""
CHIRALITIES: tuple[Chirality, Chirality] = ("left", "right")
AVERAGE = 1 / (4 * COLOURS**2)
"""Over the helicities and colours of an incoming quark and antiquark."""


def squared_amplitude(process: Process, momenta: Floats) -> Floats:
    """|M|^2 at tree level, summed over helicities and colours and averaged over those of the two incoming quarks.

    ``momenta`` (points, particles, 4) in GeV as (E, px, py, pz), incoming first. Returns (points,) in
    GeV^(8 - 2 particles), not divided by n! for n gluons. Raises PlannerError for momenta that no event has.
    """
    check_momenta(momenta, process.particles)
    blocks = [momenta[i : i + BLOCK] for i in range(0, len(momenta), BLOCK)]
    return np.concatenate([_squared(process, block) for block in blocks]) if blocks else np.zeros(0)


def _squared(process: Process, momenta: Floats) -> Floats:
    colours = colour.matrix(len(process.lines), len(process.gluons))
    sums = np.zeros(len(momenta))
    for chirality in CHIRALITIES:
        found = amplitudes(process, momenta, waves(process, momenta, chirality))
        if found is not None:
            parts = np.ascontiguousarray(found).view(np.float64).reshape(len(colours), -1)
            products = np.einsum("oi,oi->i", parts, colours @ parts)
            sums += products.reshape(-1, len(momenta), 2).sum(axis=(0, 2))
    return AVERAGE * sums


def waves(process: Process, momenta: Floats, chirality: Chirality) -> list[Current]:
    """The wave functions of all legs, each with an axis for every leg's helicities: (components, ..., points)."""
    count = len(process.fields)
    return [
        _on_axis(wave(FIELDS[name], momenta[:, leg], leg < INCOMING, chirality), leg, count)
        for leg, name in enumerate(process.fields)
    ]


def amplitudes(process: Process, momenta: Floats, external: Sequence[Current]) -> Array | None:
    """The colour-ordered amplitudes (orders, one axis a leg for its helicities, points) for these wave functions.

    None where no diagram has the chirality of the wave functions: quarks with a W on their line are left-handed.
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
    """(..., helicities, points) with the helicities on the axis of ``leg`` among those of ``count`` legs."""
    if isinstance(current, tuple):
        return cast(Slots, tuple(None if part is None else _on_axis(part, leg, count) for part in current))
    assert current is not None
    *components, helicities, points = current.shape
    return current.reshape(*components, *(1,) * leg, helicities, *(1,) * (count - leg - 1), points)


def _meet(node: Node, values: Sequence[Current | None], k: Sequence[Array]) -> Current | None:
    """The sum over all ways in which the legs of a node meet in a vertex, before the propagator."""
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
