"""What a vertex makes of currents: each vertex gives one rule for every one of its legs that may continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from isoplan.trainers.amplitudes.processes.algebra import (
    Array,
    Current,
    Slots,
    dot,
    quartic,
    scalar_bilinear,
    scale,
    slash_column,
    slash_row,
    triple,
    vector_bilinear,
)
from isoplan.trainers.amplitudes.processes.model import FIELDS, Vertex

Combine = Callable[[Sequence[Current], Sequence[Array], tuple[float, ...]], Current | None]
"""(currents, their momenta, couplings) -> the current that leaves the vertex, before its propagator."""


@dataclass(frozen=True)
class Rule:
    """``inputs`` meet and go on as ``output``; coloured inputs stand in the order of their colour matrices."""

    output: str
    inputs: tuple[str, ...]
    couplings: tuple[float, ...]
    combine: Combine


def _vector_column(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current:
    vector, psi = currents
    return slash_column(cast(Array, vector), scale(cast(Slots, psi), *g))


def _row_vector(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current:
    bar, vector = currents
    return scale(slash_row(cast(Slots, bar), cast(Array, vector)), *g)


def _row_column_vector(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current | None:
    bar, psi = currents
    return vector_bilinear(cast(Slots, bar), cast(Slots, psi), *g)


def _scalar_spinor(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current:
    scalar, spinor = currents
    factor = cast(Array, scalar) * g[0]
    left, right = cast(Slots, spinor)
    return None if left is None else left * factor, None if right is None else right * factor


def _row_column_scalar(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current | None:
    bar, psi = currents
    out = scalar_bilinear(cast(Slots, bar), cast(Slots, psi))
    return None if out is None else out * g[0]


def _two_vectors(currents: Sequence[Current], momenta: Sequence[Array], g: tuple[float, ...]) -> Current:
    a, b = currents
    return g[0] * triple(cast(Array, a), cast(Array, b), *momenta)


def _three_vectors(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current:
    a, b, c = currents
    return g[0] * quartic(cast(Array, a), cast(Array, b), cast(Array, c))


def _vectors_scalar(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current:
    a, b = currents
    return g[0] * dot(cast(Array, a), cast(Array, b))


def _scalar_vector(currents: Sequence[Current], _: Sequence[Array], g: tuple[float, ...]) -> Current:
    scalar, vector = currents
    return g[0] * cast(Array, scalar) * cast(Array, vector)


@cache
def rules(vertices: tuple[Vertex, ...]) -> dict[str, tuple[Rule, ...]]:
    """All rules of the vertices by their output. A rule that two legs of one vertex give (Z Z W W) is there once."""
    found: dict[str, dict[Rule, None]] = {}
    for vertex in vertices:
        for rule in _of(vertex):
            found.setdefault(rule.output, {})[rule] = None
    return {output: tuple(some) for output, some in found.items()}


def _of(vertex: Vertex) -> list[Rule]:
    spins = tuple(FIELDS[leg].spin for leg in vertex.legs)
    g, legs = vertex.couplings, vertex.legs

    def rule(out: str, inputs: tuple[str, ...], combine: Combine) -> Rule:
        return Rule(FIELDS[out].anti, inputs, g, combine)

    if spins == ("antifermion", "vector", "fermion"):
        bar, boson, psi = legs
        return [
            rule(bar, (boson, psi), _vector_column),
            rule(psi, (bar, boson), _row_vector),
            rule(boson, (bar, psi), _row_column_vector),
        ]
    if spins == ("antifermion", "scalar", "fermion"):
        bar, boson, psi = legs
        return [
            rule(bar, (boson, psi), _scalar_spinor),
            rule(psi, (boson, bar), _scalar_spinor),
            rule(boson, (bar, psi), _row_column_scalar),
        ]
    if spins == ("scalar", "vector", "vector"):
        scalar, a, b = legs
        return [
            rule(scalar, (a, b), _vectors_scalar),
            rule(a, (scalar, b), _scalar_vector),
            rule(b, (scalar, a), _scalar_vector),
        ]
    if set(spins) != {"vector"} or len(legs) not in (3, 4):
        raise ValueError(f"No Lorentz structure is known for a vertex of {', '.join(legs)}.")
    turned = [(leg, legs[i + 1 :] + legs[:i]) for i, leg in enumerate(legs)]
    if len(legs) == 3:
        return [rule(out, rest, _two_vectors) for out, rest in turned]
    # a and c of quartic(a, b, c) may be exchanged: one order of the two is enough.
    return [rule(out, (*sorted((a, c))[:1], b, *sorted((a, c))[1:]), _three_vectors) for out, (a, b, c) in turned]
