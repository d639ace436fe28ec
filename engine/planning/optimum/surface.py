"""A law over N and D as a surface: its loss anywhere, and the N or D at which it takes a given loss.

Arrays broadcast element by element, so resamples (r,) and scenarios (k, 1) pass together. Values may hold U, the number
of unique samples: a law that reads it credits repeated ones, any other counts every sample as new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.costs import increasing_root
from isoplan.engine.formula import value
from isoplan.engine.laws import Law
from isoplan.engine.laws.expression import ENDLESS, FormulaLaw
from isoplan.engine.laws.law import Values
from isoplan.engine.laws.terms import Const

ENDLESS_SAMPLES = np.asarray(np.inf)
SMALLEST, LARGEST = np.log(1e-12), np.log(1e40)
"""Between which ln N and ln D are looked for."""


def loss_at(law: Law, v: Values, N: Floats, D: Floats) -> Floats:
    """The law at ``N`` and ``D`` (less is better); infinite where it is no number."""
    found = evaluate(law, v, {"N": N, "D": D, "U": v.get("U", ENDLESS_SAMPLES)})
    return np.where(np.isnan(found), np.inf, found)


def evaluate(law: Law, v: Values, columns: Mapping[str, Floats]) -> Floats:
    """The law element by element: row i of the values at row i of the ``columns``."""
    with np.errstate(all="ignore"):
        if isinstance(law, FormulaLaw):
            return value(law.formula.tree, {**v, **columns}) * (-1.0 if law.turned else 1.0)
        anywhere = next(iter(columns.values()))
        terms = (term.value(v, anywhere if term.axis is None else columns[term.axis]) for term in law.terms)
        return sum(terms, start=np.zeros(()))


def reducible(law: Law, v: Values) -> Values:
    """The same values without the floor, so that a search sees what is left of the loss in all its digits."""
    return {**v, **{t.amplitude: np.zeros(()) for t in law.terms if isinstance(t, Const)}}


def samples_for(law: Law, v: Values, N: Floats, loss: Floats) -> Floats:
    """The least D that brings ``N`` parameters to ``loss``; inf where none does."""
    if law.samples is not None:
        return law.samples(v, N, loss)
    return _reach(lambda some, at, x: loss_at(law, some, at, x), v, N, loss)


def size_for(law: Law, v: Values, D: Floats, loss: Floats) -> Floats:
    """The least N that ``D`` samples bring to ``loss``; inf where none does. Infinite ``D`` counts as endless."""
    return _reach(lambda some, at, x: loss_at(law, some, x, at), v, np.minimum(D, ENDLESS), loss)


def _reach(curve: Callable[[Values, Floats, Floats], Floats], v: Values, at: Floats, loss: Floats) -> Floats:
    """Where ``curve(v, at, x)``, which falls with x, takes the value ``loss``."""

    def better(x: Floats, loss: Floats, at: Floats, *some: Floats) -> Floats:
        return loss - curve(dict(zip(v, some, strict=True)), at, np.exp(x))

    low, high = (np.full(np.shape(loss), end) for end in (SMALLEST, LARGEST))
    x = increasing_root(better, SMALLEST, LARGEST, loss, at, *v.values())
    never = np.isnan(x) & (better(high, np.asarray(loss, float), at, *v.values()) < 0)
    return np.exp(np.where(never, np.inf, np.where(np.isnan(x), low, x)))
