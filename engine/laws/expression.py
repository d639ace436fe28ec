"""A law given by one formula: value, derivatives and LaTeX come from its tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.formula import Formula, as_latex, jet, symbol, value
from isoplan.engine.laws.law import Law
from isoplan.engine.laws.terms import Values

ENDLESS = 1e300
"""A very large number whose powers and ratios are still finite."""
NOTHING = 1e-12
"""Limits below this value count as zero."""
ORDER = ("N", "D", "C", "U", "epochs")


@dataclass(frozen=True, kw_only=True)
class FormulaLaw(Law):
    """A law whose loss is ``formula``; names in it that are not parameters are columns.

    ``turned`` means that the formula describes a number of which more is better; the loss of the law is then minus the
    formula. ``shown`` is the right-hand side in LaTeX, if that of the tree would be hard to read.
    """

    formula: Formula
    turned: bool = False
    shown: str = ""

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns in the formula: N, D, C, U, epochs first, then sorted by name."""
        found = self.formula.names - set(self.names)
        return tuple(sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)))

    @property
    def positive(self) -> tuple[str, ...]:
        """The columns that must be above zero: N, D, C, U and epochs; other columns of a typed law may have any
        value.
        """
        return tuple(axis for axis in self.axes if axis in ORDER or self.with_axis is not None)

    @property
    def latex(self) -> str:
        symbols = {p.name: p.latex for p in self.params}
        left = f"({', '.join(symbol(axis) for axis in self.axes)})"
        return f"{self.symbol}{left} = {self.shown or as_latex(self.formula.tree, symbols)}"

    @property
    def text(self) -> str:
        return f"{self.symbol}({', '.join(self.axes)}) = {' '.join(self.formula.text.split())}"

    def predict(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        t, x = self._broadcast(theta, columns)
        with np.errstate(all="ignore"):
            found = np.asarray(value(self.formula.tree, {**_named(x), **t}))
        return -found if self.turned else found

    def gradient(self, theta: ArrayLike, columns: Mapping[str, ArrayLike]) -> Floats:
        t, x = self._broadcast(theta, columns)
        found = jet(self.formula.tree, _named(x), t)
        zero = np.zeros(np.broadcast_shapes(found.value.shape, *(v.shape for v in t.values())))
        sign = -1.0 if self.turned else 1.0
        return np.stack([sign * found.first.get(name, zero) + zero for name in self.names], axis=-1)

    def limit(self, values: Values) -> Floats:
        """Return the loss for very large N, D, C and U; zero if it has no limit or depends on other columns too."""
        if not set(self.axes) <= {"N", "D", "C", "U"}:
            return np.zeros(())
        with np.errstate(all="ignore"):
            found = np.asarray(value(self.formula.tree, {**values, **dict.fromkeys(self.axes, np.array(ENDLESS))}))
        there = np.isfinite(found) & (np.abs(found) > NOTHING)
        return np.where(there, -found if self.turned else found, 0.0)


def _named(columns: Mapping[str | None, Floats]) -> dict[str, Floats]:
    return {name: x for name, x in columns.items() if name is not None}
