"""Value, first and second derivatives of a formula in one pass through its tree.

The method is second-order forward-mode automatic differentiation. A jet does not store a derivative that is zero for
all values of the parameters. Therefore the jet of E + A / N^alpha costs little more than the value. A missing entry
(a, a) among the second derivatives shows that the formula is linear in a. At a kink of abs, min or max, the derivatives
of one of the two branches are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeVar

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.formula.tree import OPERATORS, Node

Pair = tuple[str, str]
K = TypeVar("K")


@dataclass(frozen=True, eq=False)
class Jet:
    """Value and derivatives of a formula; arrays broadcast against each other.

    ``first[a]`` is d/da for each parameter a. ``second[a, b]`` is d2/da db for each pair a <= b. A derivative without
    an entry is zero for all values of the parameters. If ``order`` is 1, the second derivatives are not computed.
    """

    value: Floats
    first: dict[str, Floats] = field(default_factory=dict)
    second: dict[Pair, Floats] = field(default_factory=dict)
    order: int = 2


def jet(tree: Node, columns: Mapping[str, Floats], theta: Mapping[str, Floats], order: int = 2) -> Jet:
    """Return the jet of ``tree``: its value, and its derivatives with respect to the names in ``theta``.

    The names in ``columns`` are constants. Arrays broadcast. ``order`` is the highest order of the derivatives, 1 or 2.
    """
    left, seen = _reads(tree), dict[int, Jet]()

    def visit(node: Node) -> Jet:
        found = seen.pop(id(node), None) or made(node)
        left[id(node)] -= 1
        if left[id(node)] > 0:  # jets are deleted after their last use, to save memory
            seen[id(node)] = found
        return found

    def made(node: Node) -> Jet:
        if node.kind == "number":
            return Jet(np.asarray(node.value))
        if node.kind == "name":
            name = node.name
            return Jet(theta[name], {name: np.ones(())}, order=order) if name in theta else Jet(columns[name])
        if node.kind == "chain":
            return chain(node)
        if node.kind in ("min", "max"):
            return reduce(_smaller if node.kind == "min" else _larger, map(visit, node.children))
        return _unary(node.kind, visit(node.children[0]))

    def chain(node: Node) -> Jet:
        result = visit(node.children[0])
        for operator, child in node.links[1:]:
            if operator == "/" and child.operators == ("^",):  # a / x^b is computed as a * x^-b, at half the cost
                base, exponent = (visit(part) for part in child.children)
                result = _product(result, _power(base, _unary("negate", exponent)))
            else:
                result = _joined(operator, result, visit(child))
        return result

    with np.errstate(all="ignore"):
        return visit(tree)


def _reads(tree: Node) -> Counter[int]:
    """Return how often ``jet`` uses each node, by ``id(node)``.

    Equal subtrees are one object. The jet of such an object is computed once and deleted after its last use.
    """
    found = Counter[int]()

    def visit(node: Node) -> None:
        found[id(node)] += 1
        if found[id(node)] > 1:
            return
        for operator, child in node.links or (("", child) for child in node.children):
            for part in child.children if operator == "/" and child.operators == ("^",) else (child,):
                visit(part)

    visit(tree)
    return found


def _joined(operator: str, a: Jet, b: Jet) -> Jet:
    if operator == "^":
        return _power(a, b)
    if operator == "*":
        return _product(a, b)
    if operator == "/":
        r = 1 / b.value
        return _product(a, _through(b, r, -r * r, 2 * r**3), a.value / b.value)
    sign = 1.0 if operator == "+" else -1.0
    first, second = _sum(a.first, b.first, sign), _sum(a.second, b.second, sign)
    return Jet(OPERATORS[operator](a.value, b.value), first, second, min(a.order, b.order))


def _sum(a: dict[K, Floats], b: dict[K, Floats], sign: float = 1.0) -> dict[K, Floats]:
    out = dict(a)
    for key, x in b.items():
        out[key] = out[key] + sign * x if key in out else sign * x
    return out


def _product(a: Jet, b: Jet, value: Floats | None = None) -> Jet:
    first = _sum({i: x * b.value for i, x in a.first.items()}, {i: a.value * x for i, x in b.first.items()})
    second = _sum({k: x * b.value for k, x in a.second.items()}, {k: a.value * x for k, x in b.second.items()})
    order = min(a.order, b.order)
    for i, x in a.first.items() if order > 1 else ():
        for j, y in b.first.items():
            key, both = (min(i, j), max(i, j)), x * y * (2.0 if i == j else 1.0)
            second[key] = second[key] + both if key in second else both
    return Jet(a.value * b.value if value is None else value, first, second, order)


def _through(a: Jet, value: Floats, slope: Floats, curve: Floats | None) -> Jet:
    """Return the jet of f(a) by the chain rule.

    ``value``, ``slope`` and ``curve`` are f, f' and f'' at a.value; ``curve`` is None if f'' is zero everywhere.
    """
    second = {k: slope * x for k, x in a.second.items()}
    if curve is not None and a.order > 1:
        for i, x in a.first.items():
            along = curve * x
            for j, y in a.first.items():
                if i <= j:
                    second[i, j] = second[i, j] + along * y if (i, j) in second else along * y
    return Jet(value, {i: slope * x for i, x in a.first.items()}, second, a.order)


def _power(a: Jet, b: Jet) -> Jet:
    if not b.first:
        c, x = b.value, a.value
        if c.ndim == 0 and c == 2:  # most frequent exponent: multiplication is faster than power
            return _through(a, x * x, 2 * x, np.asarray(2.0))
        value = x**c
        return _through(a, value, c * x ** (c - 1), c * (c - 1) * x ** (c - 2)) if a.first else Jet(value)
    log = _through(a, np.log(a.value), 1 / a.value, -1 / a.value**2)
    exponent = _product(b, log)
    above = bool(np.all(a.value > 0))
    value = np.exp(exponent.value) if above else a.value**b.value  # exp is several times faster
    whole = _through(exponent, value, value, value)
    if above:
        return whole
    flat = value == 0  # If 0^b is zero, its derivatives are zero too, but 0 log 0 would give NaN.
    return Jet(
        value,
        {k: np.where(flat, 0.0, x) for k, x in whole.first.items()},
        {k: np.where(flat, 0.0, x) for k, x in whole.second.items()},
        whole.order,
    )


def _unary(kind: str, a: Jet) -> Jet:
    x = a.value
    if kind == "negate":
        return _through(a, -x, np.asarray(-1.0), None)
    if kind == "abs":
        return _through(a, np.abs(x), np.sign(x), None)
    if kind == "log":
        return _through(a, np.log(x), 1 / x, -1 / (x * x))
    if kind == "sqrt":
        root = np.sqrt(x)
        return _through(a, root, 0.5 / root, -0.25 / (x * root))
    grown = np.exp(x)
    return _through(a, grown, grown, grown)


def _smaller(a: Jet, b: Jet) -> Jet:
    return _either(a.value <= b.value, a, b, np.minimum(a.value, b.value))


def _larger(a: Jet, b: Jet) -> Jet:
    return _either(a.value >= b.value, a, b, np.maximum(a.value, b.value))


def _either(take: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], a: Jet, b: Jet, value: Floats) -> Jet:
    zero = np.zeros(())
    first = {k: np.where(take, a.first.get(k, zero), b.first.get(k, zero)) for k in a.first | b.first}
    second = {k: np.where(take, a.second.get(k, zero), b.second.get(k, zero)) for k in a.second | b.second}
    return Jet(value, first, second, min(a.order, b.order))
