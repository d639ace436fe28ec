"""Formulas that users type. Each is parsed into a tree, which is evaluated and differentiated but never executed."""

from isoplan.engine.arrays import Ints
from isoplan.engine.formula.grammar import cut, short
from isoplan.engine.formula.jets import Jet, jet
from isoplan.engine.formula.tree import Node, as_latex, names, nodes, symbol, value
from isoplan.engine.formula.typed import Formula, affine, parse_formula

__all__ = [
    "Formula",
    "Ints",
    "Jet",
    "Node",
    "affine",
    "as_latex",
    "cut",
    "jet",
    "names",
    "nodes",
    "parse_formula",
    "short",
    "symbol",
    "value",
]
