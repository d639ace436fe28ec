"""The tree of a formula: nodes, what they read, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from isoplan.engine.arrays import Floats

FUNCTIONS: dict[str, tuple[int | None, Callable[..., Floats]]] = {
    "log": (1, np.log),
    "exp": (1, np.exp),
    "sqrt": (1, np.sqrt),
    "abs": (1, np.abs),
    "min": (None, np.minimum),
    "max": (None, np.maximum),
}
"""Functions by name: how many arguments each takes (None: any number, two at a time) and what computes it."""
OPERATORS: dict[str, Callable[..., Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}


@dataclass(frozen=True)
class Node:
    """A node of a formula.

    ``kind`` is "number" with its ``value``, "name" or a function's name with ``name`` the column's, "negate", or
    "chain": the children joined from left to right by ``operators`` (a long sum is one node, not a deep tree).
    """

    kind: str
    children: tuple[Node, ...] = ()
    operators: tuple[str, ...] = ()
    value: float = 0.0
    name: str = ""

    @property
    def links(self) -> tuple[tuple[str, Node], ...]:
        """The children of a chain, each with the operator before it, "+" or "*" before the first; else nothing."""
        if self.kind != "chain":
            return ()
        first = "*" if self.operators[0] in "*/^" else "+"
        return tuple(zip((first, *self.operators), self.children, strict=True))


def names(node: Node) -> frozenset[str]:
    """Every name that a tree reads."""
    if node.kind == "name":
        return frozenset((node.name,))
    return frozenset().union(*(names(child) for child in node.children))


def nodes(node: Node) -> list[Node]:
    """A tree's nodes, parents before children."""
    return [node, *(below for child in node.children for below in nodes(child))]


def value(node: Node, columns: Mapping[str, Floats], divisor: Callable[[Floats], object] | None = None) -> Floats:
    """The value at ``columns`` (arrays that broadcast, by name), with NaN and infinity where they come out.

    ``divisor`` is called with whatever is divided by.
    """
    if node.kind == "number":
        return np.float64(node.value)  # type: ignore[return-value]  # a scalar broadcasts like an array
    if node.kind == "name":
        return columns[node.name]
    values = (value(child, columns, divisor) for child in node.children)  # one at a time: a chain may be long
    result = next(values)
    if node.kind == "negate":
        return -result
    if node.kind != "chain":
        arguments, function = FUNCTIONS[node.kind]
        return function(result) if arguments == 1 else reduce(function, values, result)
    for operator, right in zip(node.operators, values, strict=True):
        if operator == "/" and divisor is not None:
            divisor(right)
        result = OPERATORS[operator](result, right)
    return result
