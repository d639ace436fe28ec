"""The grammar of formulas that users type, such as ``6*N*D + 2e9*D``. Formulas are parsed and never run as code.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed)*
    signed   = ("+" | "-") signed | power
    power    = atom (("^" | "**") signed)?          right-associative: 2^3^2 = 2^(3^2) = 512
    atom     = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

A name consists of letters, digits and underscores, or of any characters between double quotes. Names are
case-sensitive: N and n are two names. A numeric exponent has a maximum, because a formula must not take too long or
overflow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.formula.tree import FUNCTIONS, Node, names, value

DEEPEST = 30
"""Maximum nesting depth of parentheses, signs and powers."""
STEEPEST = 100
"""Maximum absolute value of an exponent that is a number, as in N^2."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|\"(?P<quoted>[^\"]+)\""
    r"|(?P<symbol>\*\*|[-+*/^(),]))",
    re.ASCII,
)


class Parser:
    """A recursive-descent parser. Each method parses one rule of the grammar and returns its node."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.quoted = text, 0, set[str]()
        self.tokens = self._tokens()
        self._made: dict[Node, Node] = {}

    def tree(self) -> Node:
        """Parse the whole text and return its tree. Equal subtrees are one ``Node`` object."""
        tree = self._sum(0)
        if self.at < len(self.tokens):
            self._fail(f"expected an operator, found {short(self.tokens[self.at][1])}")
        return tree

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
            f"The formula {short(self.text)} cannot be read at character {place + 1}: {why}. "
            f"Use numbers, columns, + - * / ^, parentheses and {', '.join(FUNCTIONS)}."
        )

    def _fail(self, why: str) -> NoReturn:
        self._fail_at(self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text.rstrip()), why)

    def _peek(self) -> str:
        """Return the next token if it is a symbol such as "+"; otherwise return an empty string."""
        kind, token, _ = self.tokens[self.at] if self.at < len(self.tokens) else ("", "", 0)
        return token if kind == "symbol" else ""

    def _take(self, *symbols: str) -> str:
        """If the next token is one of ``symbols``, move past it and return it; otherwise return an empty string."""
        symbol = self._peek()
        if symbol not in symbols:
            return ""
        self.at += 1
        return symbol

    def _sum(self, depth: int) -> Node:
        return self._chain(lambda: self._chain(lambda: self._signed(depth), "*", "/"), "+", "-")

    def _chain(self, part: Callable[[], Node], *symbols: str) -> Node:
        children, operators = [part()], []
        while symbol := self._take(*symbols):
            operators.append(symbol)
            children.append(part())
        return self._node("chain", tuple(children), tuple(operators)) if operators else children[0]

    def _node(
        self, kind: str, children: tuple[Node, ...] = (), operators: tuple[str, ...] = (), **own: float | str
    ) -> Node:
        node = Node(kind, children, operators, **own)  # type: ignore[arg-type]
        return self._made.setdefault(node, node)

    def _signed(self, depth: int) -> Node:
        if depth > DEEPEST:
            self._fail(f"it is nested more than {DEEPEST} deep")
        if symbol := self._take("+", "-"):
            inner = self._signed(depth + 1)
            return self._node("negate", (inner,)) if symbol == "-" else inner
        base = self._atom(depth)
        return self._power(base, depth) if self._take("^") else base

    def _power(self, base: Node, depth: int) -> Node:
        start = self.at
        exponent = self._signed(depth + 1)
        if not names(exponent):
            with np.errstate(all="ignore"):
                size = abs(float(value(exponent, {})))
            if not size <= STEEPEST:
                self.at = start
                self._fail(f"an exponent that is a number must be between -{STEEPEST} and {STEEPEST}")
        return self._node("chain", (base, exponent), ("^",))

    def _atom(self, depth: int) -> Node:
        if self._take("("):
            node = self._sum(depth + 1)
            self._close()
            return node
        if self.at == len(self.tokens):
            self._fail("something is missing at the end")
        kind, token, _ = self.tokens[self.at]
        if kind == "symbol":
            self._fail(f"expected a number or a column, found {token!r}")
        self.at += 1
        if kind == "number":
            if not math.isfinite(float(token)):
                self.at -= 1
                self._fail(f"the number {cut(token)} is too large")
            return self._node("number", value=float(token))
        if kind == "name" and self._take("("):
            return self._call(token, depth)
        if kind == "quoted":
            self.quoted.add(token)
        return self._node("name", name=token)

    def _call(self, name: str, depth: int) -> Node:
        if name not in FUNCTIONS:
            self.at -= 2
            self._fail(f"there is no function {short(name)}")
        arguments = [self._sum(depth + 1)]
        while self._take(","):
            arguments.append(self._sum(depth + 1))
        self._close()
        wanted = FUNCTIONS[name][0]
        if wanted is not None and len(arguments) != wanted:
            self._fail(f"{name} takes one argument, not {len(arguments)}")
        return self._node(name, tuple(arguments))

    def _close(self) -> None:
        if not self._take(")"):
            self._fail("a parenthesis is not closed")


def short(text: str) -> str:
    """Return ``text`` (a formula or a name) in quotes and at most 60 characters long, for use in an error message."""
    return repr(cut(" ".join(text.split())))


def cut(text: str, most: int = 60) -> str:
    """Return ``text`` shortened to at most ``most`` characters; "..." replaces the rest."""
    return text if len(text) <= most else text[: most - 3] + "..."
