"""A formula that a user typed: its text, its tree, and its values. Errors of evaluation name the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula.grammar import Parser, cut, short
from isoplan.engine.formula.jets import jet
from isoplan.engine.formula.tree import Node, names, nodes, value

LONGEST = 2000


@dataclass(frozen=True)
class Formula:
    """A parsed formula: its text, its tree, all names in it, and the names that are written in double quotes."""

    text: str
    tree: Node
    names: frozenset[str]
    quoted: frozenset[str]

    def __call__(self, columns: Mapping[str, ArrayLike], ids: Ints | None = None) -> Floats:
        """Return the value of the formula. ``columns`` are arrays by name; they broadcast. A NaN in a column gives NaN.

        ``ids`` (n,) are the row ids of a table; an error names the row by its id. Raises PlannerError for a missing
        column, a division by zero, or a value that is not finite.
        """
        self._know(columns)
        return self._checked(self.tree, self._read(columns), ids)

    def unchecked(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """Return the value without checks: NaN or infinity on overflow or outside the domain of a function."""
        self._know(columns)
        with np.errstate(all="ignore"):
            return value(self.tree, self._read(columns))

    def check(self, columns: Mapping[str, ArrayLike], ids: Ints | None = None) -> None:
        """Check the subtrees of the formula in which all names are in ``columns``, before the other names have values.

        Raises PlannerError if such a subtree divides by zero or is not finite in a row.
        """
        read = self._read(columns)
        for operator, part in _within("", self.tree, frozenset(read)):
            found = self._checked(part, read, ids)
            if operator == "/":
                self._refuse_zero(found, ids)

    def _know(self, columns: Mapping[str, ArrayLike]) -> None:
        """Raise PlannerError if the formula contains a name that is not in ``columns``."""
        if unknown := sorted(self.names - set(columns)):
            raise PlannerError(
                f"The formula {short(self.text)} uses {short(unknown[0])}, which is not a column: "
                f"the columns are {cut(', '.join(sorted(columns)) or 'none', 200)}."
            )

    def _checked(self, node: Node, read: Mapping[str, Floats], ids: Ints | None) -> Floats:
        """Return the value of the subtree ``node``; all its names must be in ``read``.

        Raises PlannerError for a division by zero, or for a value that is not finite although no column value is NaN.
        """
        with np.errstate(all="ignore"):
            result = value(node, read, lambda below: self._refuse_zero(below, ids))
        missing = sum((np.isnan(read[name]) for name in names(node)), start=np.zeros((), bool))
        bad = ~np.isfinite(result) & ~missing
        self._refuse(bad, "gives no finite number", "check its logarithms, roots and powers", ids)
        return result

    def _refuse_zero(self, below: Floats, ids: Ints | None) -> None:
        self._refuse(np.asarray(below == 0), "divides by zero", "correct the divisor or the values of its columns", ids)

    def _read(self, columns: Mapping[str, ArrayLike]) -> dict[str, Floats]:
        return {name: np.asarray(columns[name], float) for name in self.names if name in columns}

    def _refuse(self, bad: NDArray[np.bool_], what: str, advice: str, ids: Ints | None) -> None:
        """Raise PlannerError if any entry of ``bad`` is true.

        The error names the row of the first such entry if ``bad`` has one entry for each row of ``ids``.
        """
        at = np.flatnonzero(bad)
        if at.size:
            row = "" if ids is None or np.size(bad) != len(ids) else f" in row {ids[at[0]]}"
            raise PlannerError(f"The formula {short(self.text)} {what}{row}: {advice}.")


@lru_cache(maxsize=256)
def parse_formula(text: str) -> Formula:
    """Parse the formula in ``text``; raises PlannerError with the position of the first invalid part."""
    if len(text) > LONGEST:
        raise PlannerError(f"The formula has {len(text):,} characters: use at most {LONGEST:,}.")
    if not text.strip():
        raise PlannerError("The formula is empty: write one such as 6*N*D.")
    parser = Parser(text)
    tree = parser.tree()
    return Formula(text.strip(), tree, names(tree), frozenset(parser.quoted))


def _within(operator: str, node: Node, known: frozenset[str]) -> list[tuple[str, Node]]:
    """Return the largest subtrees in which all names are ``known``, each with the operator in front of it."""
    if names(node) <= known:
        return [(operator, node)]
    below = node.links or [("", child) for child in node.children]
    return [part for before, child in below for part in _within(before, child, known)]


@lru_cache(maxsize=256)
def affine(formula: Formula, of: frozenset[str]) -> bool:
    """Return whether the formula is linear in the names in ``of``; it may have a constant term.

    All other names count as constants.

    The test reads only the syntax of the formula. The result is therefore also False for a straight line that is
    written with abs, min, max or a power.
    """
    tree = formula.tree
    if any(node.kind in ("abs", "min", "max") and names(node) & of for node in nodes(tree)):
        return False
    one = {name: np.ones(1) for name in formula.names}
    varied = {name: one.pop(name) for name in formula.names & of}
    with np.errstate(all="ignore"):
        return not jet(tree, one, varied).second
