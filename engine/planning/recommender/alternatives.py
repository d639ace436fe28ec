"""Costs of other values of a setting, compared with the chosen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.catalogue.hyperparameter import critical
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.answer.quantity import Quantity, measure
from isoplan.engine.planning.plan.support import MARKED
from isoplan.engine.planning.recommender.choice import Alternative
from isoplan.engine.planning.recommender.sweep import Optimum, at_budget, off_budgets

MORE_SAMPLES, MORE_STEPS = "times as many samples", "times as many training steps"
"""Units of the cost of a larger and of a smaller batch size."""


def cost_of_batch(found: Fit, B: float, used: float | None) -> Quantity:
    """Return the cost of the batch size ``B`` relative to the batch size ``used``; None means B_crit of the fit.

    At batch size B the target needs ``S_min * (1 + B_crit / B)`` training steps and ``E_min * (1 + B / B_crit)``
    samples (behavioural, eq. 3). A larger batch therefore costs samples, and a smaller batch costs training steps.
    """
    best = float(critical(found.values))
    smaller = (best if used is None else used) > B

    def ratio(at: ArrayLike) -> Floats:
        at = np.asarray(at, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            if used is None:
                return np.asarray((1 + (at / B if smaller else B / at)) / 2)
            samples = (1 + B / at) / (1 + used / at)
            return np.asarray(samples * used / B if smaller else samples)  # a step has as many samples as the batch

    return measure(found, float(ratio(best)), ratio(critical(found.draws)), MORE_STEPS if smaller else MORE_SAMPLES)


def around(at: Optimum, K: float | None) -> tuple[float, ...]:
    """Return a quarter of ``K`` and four times ``K``, to two digits, if the sweep of ``at`` has an optimum inside.

    Values outside the sweep are left out.
    """
    if K is None or not at.inside:
        return ()
    values = (float(f"{x:.1e}") for x in (K / 4, 4 * K))
    return tuple(x for x in values if at.low <= x <= at.high)


def cost_otherwise(
    at: Optimum | None, others: Sequence[float], reference: float | None = None
) -> tuple[Alternative, ...]:
    """Return the values ``others`` with their costs in the unit of the metric.

    Costs are relative to the value ``reference``; None means the optimum ``at``. The result is empty if no curve
    determines the cost.
    """
    if at is None or at.fit is None or at.fit.law.optimum is None or at.x.value is None:
        return ()
    fitted, law = at.fit, at.fit.law

    def lost(v: Values, x: float) -> Floats:
        """Return how much worse x is than the reference, or than the best value in the sweep.

        Parameter values ``v`` are () or (r,).
        """
        star = np.clip(law.optimum(v), at.low, at.high) if reference is None and law.optimum is not None else reference
        places = np.asarray(x), np.asarray(star)
        chosen, best = (sum((t.value(v, place) for t in law.terms), start=np.zeros(())) for place in places)
        return np.asarray(chosen - best)

    return tuple(
        Alternative(x, measure(fitted, float(lost(fitted.values, x)), lost(fitted.draws, x), at.metric)) for x in others
    )


def cost_of_size(optima: Sequence[Optimum], metric: str, C: float, N: float) -> tuple[Alternative, ...]:
    """Return half and twice the model size ``N`` with their costs at the same budget, for ``metric``.

    The costs are those of half and twice the optimum at the swept budget nearest to ``C``. The result is empty if this
    budget is more than one decade away from ``C``, or if its optimum lies outside the sweep.
    """
    at = at_budget(tuple(optima), metric, C)
    if at is None or not at.inside or at.x.value is None or off_budgets([at], C) > MARKED:
        return ()
    costs = cost_otherwise(at, (at.x.value / 2, 2 * at.x.value))
    return tuple(replace(one, x=N * factor) for one, factor in zip(costs, (0.5, 2), strict=True))
