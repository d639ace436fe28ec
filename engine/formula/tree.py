"""Syntax tree of a formula: its nodes, the names in it, its value, and its LaTeX."""

from __future__ import annotations

import re
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
"""Functions by name: the number of arguments (None: any number, applied in pairs) and the numpy function."""
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

    ``kind`` is "number" (``value`` is the number), "name" (``name`` is the name of a column or parameter), the name of
    a function, "negate", or "chain". A chain is a sum, a product or a power of its children, joined from left to right
    by ``operators``. With chains, a long sum is one node and not a deep tree.
    """

    kind: str
    children: tuple[Node, ...] = ()
    operators: tuple[str, ...] = ()
    value: float = 0.0
    name: str = ""

    @property
    def links(self) -> tuple[tuple[str, Node], ...]:
        """The children of a chain, each with the operator in front of it; empty for other kinds of node.

        The first child of a sum has the operator "+", and the first child of a product has "*".
        """
        if self.kind != "chain":
            return ()
        first = "*" if self.operators[0] in "*/^" else "+"
        return tuple(zip((first, *self.operators), self.children, strict=True))


def names(node: Node) -> frozenset[str]:
    """Return all names of columns and of parameters in the tree below ``node``."""
    if node.kind == "name":
        return frozenset((node.name,))
    return frozenset().union(*(names(child) for child in node.children))


def nodes(node: Node) -> list[Node]:
    """Return all nodes of the tree below ``node``; each parent is listed before its children."""
    return [node, *(below for child in node.children for below in nodes(child))]


def value(node: Node, columns: Mapping[str, Floats], divisor: Callable[[Floats], object] | None = None) -> Floats:
    """Return the value of the tree below ``node``; it may be NaN or infinite.

    ``columns`` contains an array for each name; the arrays broadcast. ``divisor`` is called with the value of each
    divisor; the caller can check there whether the divisor is zero.
    """
    if node.kind == "number":
        return np.float64(node.value)  # type: ignore[return-value]  # a scalar broadcasts like an array
    if node.kind == "name":
        return columns[node.name]
    # A generator computes one operand at a time, which saves memory if a chain is long.
    values = (value(child, columns, divisor) for child in node.children)
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


_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|phi|chi|psi|omega"
    "|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
_SPECIAL = {c: rf"\{c}" for c in "#$%&_{} "}
_SPECIAL |= {"\\": r"\backslash ", "~": r"\sim ", "^": r"\wedge ", "<": r"\lt ", ">": r"\gt "}
_SPECIAL |= {"/": "{/}"}  # Streamlit replaces :material/home: by an icon, even in formulas


def symbol(name: str) -> str:
    r"""Return the LaTeX of a name: alpha_N becomes \alpha_{N}, and a word is set upright."""
    base, _, below = name.partition("_")
    if not base or not re.fullmatch(r"\w+", name, re.ASCII):
        return rf"\mathrm{{{_escaped(name)}}}"
    match = re.fullmatch(r"([A-Za-z]+)(\d*)", base)
    if not below and match and match[2]:
        base, below = match[1], match[2]
    shown = _word(base)
    return rf"{shown}_{{{', '.join(_word(part) for part in below.split('_') if part)}}}" if below.strip("_") else shown


def _word(text: str) -> str:
    if _GREEK.fullmatch(text):
        return rf"\{text}"
    return text if len(text) == 1 or text.isdigit() else rf"\mathrm{{{_escaped(text)}}}"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in text)


SUM, PRODUCT, POWER, ATOM = range(4)
"""Precedence of the outermost operator of a LaTeX expression, lowest first, to decide where parentheses are needed."""


def as_latex(tree: Node, symbols: Mapping[str, str] | None = None) -> str:
    """Return the LaTeX of ``tree``. ``symbols`` contains LaTeX for names that should not use ``symbol(name)``."""
    shown = {name: symbol(name) for name in names(tree)} | dict(symbols or {})
    return _latex(tree, shown)[0]


def _latex(node: Node, shown: Mapping[str, str]) -> tuple[str, int]:
    if node.kind == "number":
        return _number(node.value)
    if node.kind == "name":
        return shown[node.name], ATOM
    if node.kind == "negate":
        return "-" + _at_least(node.children[0], shown, PRODUCT), SUM
    if node.kind != "chain":
        return _call(node, shown), ATOM
    if node.operators[0] == "^":
        base, exponent = node.children
        return f"{_at_least(base, shown, ATOM)}^{{{_latex(exponent, shown)[0]}}}", POWER
    if node.operators[0] in "*/":
        return _product(node, shown)
    parts = [_at_least(child, shown, PRODUCT if i else SUM) for i, child in enumerate(node.children)]
    return parts[0] + "".join(f" {o} {p}" for o, p in zip(node.operators, parts[1:], strict=True)), SUM


def _product(node: Node, shown: Mapping[str, str]) -> tuple[str, int]:
    above = [child for operator, child in node.links if operator == "*"]
    below = [child for operator, child in node.links if operator == "/"]
    if not below:
        return _joined(above, shown, PRODUCT), PRODUCT
    # A single factor above or below the fraction bar needs no parentheses.
    top, bottom = (_joined(part, shown, SUM if len(part) == 1 else PRODUCT) for part in (above, below))
    return rf"\frac{{{top}}}{{{bottom}}}", PRODUCT


def _joined(parts: list[Node], shown: Mapping[str, str], binds: int) -> str:
    texts = [_at_least(part, shown, binds) for part in parts]
    out = texts[0]
    for text in texts[1:]:
        out += (r" \cdot " if text[0].isdigit() else r" \, ") + text
    return out


def _call(node: Node, shown: Mapping[str, str]) -> str:
    inner = [_latex(child, shown)[0] for child in node.children]
    if node.kind == "sqrt":
        return rf"\sqrt{{{inner[0]}}}"
    if node.kind == "abs":
        return rf"\left|{inner[0]}\right|"
    return rf"\{node.kind}\left({', '.join(inner)}\right)"


def _number(value: float) -> tuple[str, int]:
    mantissa, _, exponent = f"{value:.12g}".partition("e")
    if not exponent:
        return mantissa, ATOM
    power = f"10^{{{int(exponent)}}}"
    return (power, POWER) if mantissa == "1" else (rf"{mantissa} \cdot {power}", PRODUCT)


def _at_least(node: Node, shown: Mapping[str, str], binds: int) -> str:
    text, own = _latex(node, shown)
    return text if own >= binds else rf"\left({text}\right)"
