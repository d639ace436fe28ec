"""Formulas that users type: parsed into a tree, evaluated and differentiated from it, never run as code."""

from engine.formula.affine import affine
from engine.formula.grammar import cut, short
from engine.formula.jets import Jet, jet
from engine.formula.latex import as_latex, symbol
from engine.formula.tree import Node, names, nodes, value
from engine.formula.typed import Formula, Ints, parse_formula

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
