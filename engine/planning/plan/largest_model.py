"""Limit on the model size of a plan that spends money on more than training.

The model of the cheapest plan can then be far larger than the models of the runs: if samples have a price, a larger
model can be cheaper because it needs fewer samples. Therefore the size of the model is limited to a size near the runs,
or to the largest size that the runs support.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.laws import Point
from isoplan.engine.planning.plan.solve import Task, either
from isoplan.engine.planning.plan.support import ANSWERED, MARKED
from isoplan.engine.quantities import count

SAME, SAME_COST = 0.01, 0.05
"""A plan near the runs replaces a plan with a larger model under one of two conditions: the loss of a plan for a budget
changes by at most the fraction ``SAME``, or the cost of a plan for a target changes by at most ``SAME_COST``.
"""
LARGER_MODEL = "larger-model"


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer to ``task``. If the model size is limited, ``task`` contains this limit.

    ``best`` () is the answer of the best fit, and ``draws`` (r,) are the answers of the resamples. If a resample has
    no answer within the limit, its answer without the limit is used. ``warnings`` state the limit.
    """

    task: Task
    best: Point
    draws: Point
    warnings: tuple[FitWarning, ...] = ()


def solve_within_support(fit: Fit, task: Task) -> Solution:
    """Solve ``task``, with a limit on the model size if ``limit_model`` gives one."""
    best, limited, warnings = limit_model(fit, task)
    draws = limited.draws(fit)
    if limited is not task:
        draws = either(draws, task.draws(fit), ~np.isfinite(draws.C))
    return Solution(limited, best, draws, warnings)


def limit_model(fit: Fit, task: Task) -> tuple[Point, Task, tuple[FitWarning, ...]]:
    """Return the answer of the best fit, ``task`` with a limit on the model size, and a warning that states the limit.

    The task has a limit if its answer has a model much larger than those of the runs. The limit is the largest N near
    the runs if the loss then changes by at most ``SAME``, or the cost by at most ``SAME_COST``. Otherwise the limit is
    the largest N that the runs support. There is no limit, and no warning, if the size of the answer does not depend on
    prices, or if the user limits the number of parameters.
    """
    best, sizes = task.best(fit), largest_models(fit)
    priced = task.prices is not None and task.prices.machine.price is not None and task.prices.rates.weighs
    spends = task.aim.weighs if task.goal is not None else "money" in task.limits
    if sizes is None or not (priced and spends and fit.law.is_surface) or "parameters" in task.limits:
        return best, task, ()
    near, most = sizes
    if best.N > near:
        limited = replace(task, limits={**task.limits, "parameters": near})
        if _same(task, other := limited.best(fit), best):
            return other, limited, _better_by_little(task, float(best.N), near)
    if best.N > most:
        limited = replace(task, limits={**task.limits, "parameters": most})
        if np.isfinite((other := limited.best(fit)).C):
            return other, limited, _unsupported(float(best.N), near, most)
    return best, task, ()


def largest_models(fit: Fit) -> tuple[float, float] | None:
    """Return the largest N near the runs, and the largest N that the runs support; None if the runs have no known N."""
    span = fit.data.ranges.get("N")
    return None if span is None else (span[1] * 10**MARKED, span[1] * 10**ANSWERED * (1 - 1e-9))


def _better_by_little(task: Task, N: float, near: float) -> tuple[FitWarning, ...]:
    better = f"improves the loss by less than {100 * SAME:g} %"
    if task.goal is not None:
        better = f"reduces the cost by less than {100 * SAME_COST:g} %"
    text = (
        f"By the law a model of {count(N, 2)} parameters {better}, but it is far larger than the models of the "
        f"runs. The plan is limited to {count(near, 2)} parameters."
    )
    return (FitWarning(LARGER_MODEL, text),)


def _unsupported(N: float, near: float, most: float) -> tuple[FitWarning, ...]:
    text = (
        f"By the law a model of {count(N, 2)} parameters is better, but the runs do not support it. "
        f"The plan is limited to {count(most, 2)} parameters. For a plan closer to the runs, set a maximum number of "
        f"parameters, such as {count(near, 2)}."
    )
    return (FitWarning(LARGER_MODEL, text),)


def _same(task: Task, other: Point, best: Point) -> bool:
    """Return whether the loss (for a budget) or the cost (for a goal) of ``other`` is close to that of ``best``."""
    if task.goal is None:
        value, least, most = float(other.loss), float(best.loss), SAME
    else:
        value, least, most = float(task.cost(other)), float(task.cost(best)), SAME_COST
    return math.isfinite(value) and value - least <= most * abs(least)
