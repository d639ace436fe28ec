"""Formulas that are straight lines in some of their names."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isoplan.engine.formula.jets import jet
from isoplan.engine.formula.tree import names, nodes
from isoplan.engine.formula.typed import Formula


@lru_cache(maxsize=256)
def affine(formula: Formula, of: frozenset[str]) -> bool:
    """Whether the formula is a + b x, where every name in ``of`` stands for x and a, b hold the others.

    False also for a straight line that is written with a kink or a power: the formula is read, not its values.
    """
    tree = formula.tree
    if any(node.kind in ("abs", "min", "max") and names(node) & of for node in nodes(tree)):
        return False
    one = {name: np.ones(1) for name in formula.names}
    varied = {name: one.pop(name) for name in formula.names & of}
    with np.errstate(all="ignore"):
        return not jet(tree, one, varied).second
