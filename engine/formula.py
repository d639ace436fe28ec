"""Arithmetic formulas of columns that users type, such as ``6*N*D + 2e9*D``: parsed, never run as code.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed)*
    signed   = ("+" | "-") signed | power
    power    = atom (("^" | "**") signed)?          right-associative, so 2^-1 and 2^3^2 read as on paper
    atom     = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

A name is a column: letters, digits and underscores, or anything between double quotes. Names are case-sensitive, so N
and n are two columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import PlannerError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LONGEST, DEEPEST = 2000, 30

FUNCTIONS: dict[str, tuple[int | None, Callable[..., Floats]]] = {
    "log": (1, np.log),
    "exp": (1, np.exp),
    "sqrt": (1, np.sqrt),
    "min": (None, lambda *x: reduce(np.minimum, x)),
    "max": (None, lambda *x: reduce(np.maximum, x)),
}
_OPERATORS: dict[str, Callable[..., Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|\"(?P<quoted>[^\"]+)\""
    r"|(?P<symbol>\*\*|[-+*/^(),]))",
    re.ASCII,
)


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


@dataclass(frozen=True)
class Formula:
    """A parsed formula: what was typed, its tree, and the columns that it reads."""

    text: str
    tree: Node
    names: frozenset[str]

    def __call__(self, columns: Mapping[str, ArrayLike], ids: Ints | None = None) -> Floats:
        """The formula's value at ``columns`` (arrays that broadcast, by name); a NaN in a column stays NaN.

        ``ids`` (n,) are the ids of the rows that the columns hold, by which an error names the row.
        Raises PlannerError for a column that is not there, a division by zero, and a value that is not finite.
        """
        result = self.unchecked(columns, ids)
        missing = reduce(np.logical_or, (np.isnan(np.asarray(columns[n], float)) for n in self.names), np.False_)
        bad = np.flatnonzero(~np.isfinite(result) & ~missing)
        if bad.size:
            raise PlannerError(
                f"The formula {_short(self.text)} gives no finite number{_row(bad, result, ids)}: "
                "check logarithms, roots and powers there."
            )
        return result

    def unchecked(self, columns: Mapping[str, ArrayLike], ids: Ints | None = None) -> Floats:
        """The same, with NaN and infinity where the formula overflows or leaves a function's domain."""
        unknown = sorted(self.names - set(columns))
        if unknown:
            raise PlannerError(
                f"The formula {_short(self.text)} uses {unknown[0]!r}, which is no column here: "
                f"columns are {', '.join(sorted(columns)) or 'none'}."
            )
        with np.errstate(all="ignore"):
            return _value(self.tree, {n: np.asarray(columns[n], float) for n in self.names}, self.text, ids)


@lru_cache(maxsize=256)
def parse_formula(text: str) -> Formula:
    """The formula in ``text``; raises PlannerError with the place of the first thing that cannot be read."""
    if len(text) > LONGEST:
        raise PlannerError(f"The formula has {len(text):,} characters: use at most {LONGEST:,}.")
    if not text.strip():
        raise PlannerError("The formula is empty: write one such as 6*N*D.")
    parser = _Parser(text)
    tree = parser.sum(0)
    if parser.at < len(parser.tokens):
        parser.fail(f"expected an operator, found {parser.tokens[parser.at][1]!r}")
    return Formula(text.strip(), tree, frozenset(parser.names))


class _Parser:
    """A cursor over the tokens; each method reads one rule of the grammar and returns its node."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.names = text, 0, set[str]()
        self.tokens = self._tokens()

    def _tokens(self) -> list[tuple[str, str, int]]:
        tokens, place = [], 0
        end = len(self.text.rstrip())
        while place < end:
            found = _TOKEN.match(self.text, place)
            if not found:
                left = self.text[place:].lstrip()
                self._fail_at(len(self.text) - len(left), f"{left[0]!r} has no meaning here")
            kind = str(found.lastgroup)
            token = "^" if found[kind] == "**" else found[kind]
            tokens.append((kind, token, found.start(kind)))
            place = found.end()
        return tokens

    def _fail_at(self, place: int, why: str) -> NoReturn:
        raise PlannerError(
            f"The formula {_short(self.text)} cannot be read at character {place + 1}: {why}. "
            f"Use numbers, columns, + - * / ^, parentheses and {', '.join(FUNCTIONS)}."
        )

    def fail(self, why: str) -> NoReturn:
        """Raise a PlannerError at the current token."""
        self._fail_at(self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text.rstrip()), why)

    def _peek(self) -> str:
        """The symbol that comes next; empty for anything else."""
        kind, token, _ = self.tokens[self.at] if self.at < len(self.tokens) else ("", "", 0)
        return token if kind == "symbol" else ""

    def _take(self, *symbols: str) -> str:
        """The next symbol if it is one of these, and step over it; else empty."""
        symbol = self._peek()
        if symbol not in symbols:
            return ""
        self.at += 1
        return symbol

    def sum(self, depth: int) -> Node:
        """Read a sum, with products as its terms."""
        return self._chain(lambda: self._chain(lambda: self._signed(depth), "*", "/"), "+", "-")

    def _chain(self, part: Callable[[], Node], *symbols: str) -> Node:
        children, operators = [part()], []
        while symbol := self._take(*symbols):
            operators.append(symbol)
            children.append(part())
        return Node("chain", tuple(children), tuple(operators)) if operators else children[0]

    def _signed(self, depth: int) -> Node:
        if depth > DEEPEST:
            self.fail(f"it is nested more than {DEEPEST} deep")
        if symbol := self._take("+", "-"):
            inner = self._signed(depth + 1)
            return Node("negate", (inner,)) if symbol == "-" else inner
        base = self._atom(depth)
        return Node("chain", (base, self._signed(depth + 1)), ("^",)) if self._take("^") else base

    def _atom(self, depth: int) -> Node:
        if self._take("("):
            node = self.sum(depth + 1)
            self._close()
            return node
        if self.at == len(self.tokens):
            self.fail("something is missing at the end")
        kind, token, _ = self.tokens[self.at]
        if kind == "symbol":
            self.fail(f"expected a number or a column, found {token!r}")
        self.at += 1
        if kind == "number":
            return Node("number", value=float(token))
        if kind == "name" and self._take("("):
            return self._call(token, depth)
        self.names.add(token)
        return Node("name", name=token)

    def _call(self, name: str, depth: int) -> Node:
        if name not in FUNCTIONS:
            self.at -= 2
            self.fail(f"there is no function {name!r}")
        arguments = [self.sum(depth + 1)]
        while self._take(","):
            arguments.append(self.sum(depth + 1))
        self._close()
        wanted = FUNCTIONS[name][0]
        if wanted is not None and len(arguments) != wanted:
            self.fail(f"{name} takes one argument, not {len(arguments)}")
        return Node(name, tuple(arguments))

    def _close(self) -> None:
        if not self._take(")"):
            self.fail("a parenthesis is not closed")


def _value(node: Node, columns: Mapping[str, Floats], text: str, ids: Ints | None) -> Floats:
    if node.kind == "number":
        return np.float64(node.value)  # type: ignore[return-value]  # a scalar broadcasts like an array
    if node.kind == "name":
        return columns[node.name]
    values = [_value(child, columns, text, ids) for child in node.children]
    if node.kind == "negate":
        return -values[0]
    if node.kind != "chain":
        return FUNCTIONS[node.kind][1](*values)
    result = values[0]
    for operator, right in zip(node.operators, values[1:], strict=True):
        if operator == "/" and (zero := np.flatnonzero(right == 0)).size:
            raise PlannerError(
                f"The formula {_short(text)} divides by zero{_row(zero, right, ids)}: change one of them."
            )
        result = _OPERATORS[operator](result, right)
    return result


def _row(bad: NDArray[np.intp], values: Floats, ids: Ints | None) -> str:
    """The row where it went wrong; empty where the numbers are not one a row of a table."""
    return "" if ids is None or np.size(values) != len(ids) else f" in row {ids[bad[0]]}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")
