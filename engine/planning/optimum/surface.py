"""Loss of a law as a function of N and D, and the N or D at which the law equals a given loss.

Arrays broadcast, so resamples (r,) and scenarios (k, 1) can be combined. Parameter values may contain U, the number of
unique samples. A law that uses U gives less value to repeated samples. Any other law counts every sample as new.
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
"""Range of ln N and ln D in a search."""


def loss_at(law: Law, v: Values, N: Floats, D: Floats) -> Floats:
    """Return the value of the law at ``N`` and ``D`` (lower is better); infinity replaces NaN."""
    found = evaluate(law, v, {"N": N, "D": D, "U": v.get("U", ENDLESS_SAMPLES)})
    return np.where(np.isnan(found), np.inf, found)


def evaluate(law: Law, v: Values, columns: Mapping[str, Floats]) -> Floats:
    """Evaluate the law; if larger values of the law are better, the sign is changed so that lower is better.

    Row i of the result uses row i of the parameter values ``v`` and row i of each of ``columns``.
    """
    with np.errstate(all="ignore"):
        if isinstance(law, FormulaLaw):
            return value(law.formula.tree, {**v, **columns}) * (-1.0 if law.turned else 1.0)
        anywhere = next(iter(columns.values()))
        terms = (term.value(v, anywhere if term.axis is None else columns[term.axis]) for term in law.terms)
        return sum(terms, start=np.zeros(()))


def reducible(law: Law, v: Values) -> Values:
    """Return the parameter values with the floor set to zero.

    A search then minimises only the part of the loss above the floor. This avoids rounding errors.
    """
    return {**v, **{t.amplitude: np.zeros(()) for t in law.terms if isinstance(t, Const)}}


def samples_for(law: Law, v: Values, N: Floats, loss: Floats) -> Floats:
    """Return the least D with which ``N`` parameters reach ``loss``; infinite if no D reaches ``loss``."""
    if law.samples is not None:
        return law.samples(v, N, loss)
    return _reach(lambda some, at, x: loss_at(law, some, at, x), v, N, loss)


def size_for(law: Law, v: Values, D: Floats, loss: Floats) -> Floats:
    """Return the least N that reaches ``loss`` with ``D`` samples; infinite if no N reaches ``loss``.

    ``D`` may be infinite.
    """
    return _reach(lambda some, at, x: loss_at(law, some, x, at), v, np.minimum(D, ENDLESS), loss)


def _reach(curve: Callable[[Values, Floats, Floats], Floats], v: Values, at: Floats, loss: Floats) -> Floats:
    """Return the x at which ``curve(v, at, x)``, which falls with x, equals ``loss``.

    The result is infinite if the curve stays above ``loss`` for all x.
    """

    def better(x: Floats, loss: Floats, at: Floats, *some: Floats) -> Floats:
        return loss - curve(dict(zip(v, some, strict=True)), at, np.exp(x))

    low, high = (np.full(np.shape(loss), end) for end in (SMALLEST, LARGEST))
    x = increasing_root(better, SMALLEST, LARGEST, loss, at, *v.values())
    never = np.isnan(x) & (better(high, np.asarray(loss, float), at, *v.values()) < 0)
    return np.exp(np.where(never, np.inf, np.where(np.isnan(x), low, x)))
