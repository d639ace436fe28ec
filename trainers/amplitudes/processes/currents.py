"""Currents of a process, their order, and the rules by which vertices combine them.

A current is the sum of all diagrams that combine a set of legs into one off-shell line. The coloured legs of the set
must be neighbours in the colour order (psibar, gluons, psi). The colourless legs can be any set. Therefore one
recursion computes two kinds of diagrams: gluons on a quark line (F. A. Berends, W. T. Giele, Nucl. Phys. B 306 (1988)
759) and electroweak diagrams (A. Kanaki, C. G. Papadopoulos, Comput. Phys. Commun. 132 (2000) 306). Different colour
orders share currents. One leg, the root, is not in the recursion: the amplitude is the wave function of the root times
the current of all other legs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

from isoplan.trainers.amplitudes.processes.algebra import (
    Array,
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
from isoplan.trainers.amplitudes.processes.fields import FIELDS, Field, Vertex

Combine = Callable[[Sequence[Any], Sequence[Array], tuple[float, ...]], Any]
"""A function that applies a vertex: from (currents, their momenta, couplings) it computes the outgoing current.

The result does not contain the propagator. The spins of the vertex determine which currents are arrays and which are
spinors.
"""


@dataclass(frozen=True)
class Rule:
    """A rule of a vertex: currents of the fields ``inputs`` combine to a current of the field ``output``.

    The coloured inputs are in the order of their colour matrices.
    """

    output: str
    inputs: tuple[str, ...]
    couplings: tuple[float, ...]
    combine: Combine


def _vector_column(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Slots:
    vector, psi = currents
    return slash_column(vector, scale(psi, *g))


def _row_vector(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Slots:
    bar, vector = currents
    return scale(slash_row(bar, vector), *g)


def _row_column_vector(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Array | None:
    return vector_bilinear(*currents, *g)


def _scalar_spinor(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Slots:
    scalar, (left, right) = currents
    factor = scalar * g[0]
    return None if left is None else left * factor, None if right is None else right * factor


def _row_column_scalar(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Array | None:
    out = scalar_bilinear(*currents)
    return None if out is None else out * g[0]


def _two_vectors(currents: Sequence[Any], momenta: Sequence[Array], g: tuple[float, ...]) -> Array:
    return g[0] * triple(*currents, *momenta)


def _three_vectors(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Array:
    return g[0] * quartic(*currents)


def _vectors_scalar(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Array:
    return g[0] * dot(*currents)


def _scalar_vector(currents: Sequence[Any], _: Sequence[Array], g: tuple[float, ...]) -> Any:
    scalar, vector = currents
    return g[0] * scalar * vector


@cache
def rules(vertices: tuple[Vertex, ...]) -> dict[str, tuple[Rule, ...]]:
    """Return, for each output field, all rules of the vertices that give this field.

    Two legs of one vertex can give equal rules, for example the two Z of the vertex Z Z W W. Equal rules are returned
    once.
    """
    by_output: dict[str, dict[Rule, None]] = {}
    for vertex in vertices:
        for rule in _of(vertex):
            by_output.setdefault(rule.output, {})[rule] = None
    return {output: tuple(some) for output, some in by_output.items()}


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
    # quartic(a, b, c) is symmetric in a and c, so the order of a and c is irrelevant and one order suffices.
    return [rule(out, (*sorted((a, c))[:1], b, *sorted((a, c))[1:]), _three_vectors) for out, (a, b, c) in turned]


Legs = tuple[int, ...]
Part = tuple[Legs, Legs]
"""A set of legs: the coloured legs in colour order, then the colourless legs sorted by number."""


@dataclass(frozen=True)
class Node:
    """A current in the plan of a process: an external leg (no ``terms``) or a sum of terms.

    Each term is (rule, indices of the input nodes).
    """

    field: Field
    legs: Legs
    terms: tuple[tuple[Rule, Legs], ...] = ()


@dataclass(frozen=True)
class Plan:
    """The plan of a process: all nodes (currents) in the order of their evaluation.

    ``ends`` contains, for each colour order, the index of the node that is multiplied with the wave function of the
    root.
    """

    nodes: tuple[Node, ...]
    ends: Legs


def plan(fields: tuple[str, ...], orders: tuple[Legs, ...], root: int, vertices: tuple[Vertex, ...]) -> Plan:
    """Return the plan of the recursion for a process.

    ``fields`` are the fields of the external legs, all incoming; ``orders`` are the colour orders; ``root`` is a leg
    without colour. Raises ValueError if the vertices do not connect all legs in one of the orders.
    """
    coloured = set(orders[0])
    colourless = tuple(leg for leg in range(len(fields)) if leg not in coloured and leg != root)
    grow = _Growth(fields, rules(vertices))
    ends = [grow.current(FIELDS[fields[root]].anti, (order, colourless)) for order in orders]
    if None in ends:
        raise ValueError(f"The vertices do not connect {' '.join(fields)}.")
    return Plan(tuple(grow.nodes), tuple(end for end in ends if end is not None))


class _Growth:
    """The nodes created so far.

    ``current`` returns the index of a node, or None if no vertex gives this node. A node that does not exist yet is
    created, together with its inputs.
    """

    def __init__(self, fields: tuple[str, ...], by_output: dict[str, tuple[Rule, ...]]) -> None:
        self.nodes: list[Node] = []
        self._fields, self._rules = fields, by_output
        self._known: dict[tuple[str, Part], int | None] = {}

    def current(self, field: str, part: Part) -> int | None:
        if (field, part) not in self._known:
            self._known[field, part] = self._make(field, part)
        return self._known[field, part]

    def _make(self, field: str, part: Part) -> int | None:
        legs = part[0] + part[1]
        if len(legs) == 1:
            return self._add(Node(FIELDS[field], legs)) if self._fields[legs[0]] == field else None
        terms = tuple(
            (rule, inputs)
            for rule in self._rules.get(field, ())
            for parts in _splits(part, len(rule.inputs))
            if _once(rule, parts) and (inputs := self._inputs(rule, parts))
        )
        return self._add(Node(FIELDS[field], legs, terms)) if terms else None

    def _inputs(self, rule: Rule, parts: tuple[Part, ...]) -> Legs:
        inputs = []
        for name, part in zip(rule.inputs, parts, strict=True):
            index = self.current(name, part)
            if index is None:
                return ()
            inputs.append(index)
        return tuple(inputs)

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def _splits(part: Part, count: int) -> Iterator[tuple[Part, ...]]:
    """Yield all ways to distribute the legs of ``part`` over ``count`` currents with at least one leg each.

    Each current gets consecutive coloured legs and any subset of the colourless legs.
    """
    coloured, colourless = part
    for cuts in combinations_with_replacement(range(len(coloured) + 1), count - 1):
        edges = (0, *cuts, len(coloured))
        stretches = [coloured[edges[i] : edges[i + 1]] for i in range(count)]
        for owners in product(range(count), repeat=len(colourless)):
            sets = [tuple(leg for leg, i in zip(colourless, owners, strict=True) if i == k) for k in range(count)]
            if all(stretch or some for stretch, some in zip(stretches, sets, strict=True)):
                yield tuple(zip(stretches, sets, strict=True))


def _once(rule: Rule, parts: tuple[Part, ...]) -> bool:
    """Return whether to use this order of the inputs. Each diagram must be counted only once.

    Two inputs with the same colourless field are exchangeable, so only one of their two orders is used. Two gluons have
    different positions in the colour order, so both of their orders are used.
    """
    named = list(zip(rule.inputs, parts, strict=True))
    return all(
        name != other or name == "g" or mine < theirs
        for i, (name, mine) in enumerate(named)
        for other, theirs in named[i + 1 :]
    )
