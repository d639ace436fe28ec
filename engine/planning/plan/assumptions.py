"""Assumptions of a plan in place of inputs that the user did not give: the utilisation, and the largest model.

A small model does not reach the usual utilisation of a machine. The assumed utilisation is then the largest that the
planned model reaches.

If samples or queries have a price, the cheapest plan trades them for a larger model, which can be far larger than the
models of the runs. The model is then limited to a size near the runs, or to the largest size that the runs support.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.hardware import UTILISATION
from isoplan.engine.laws import Point
from isoplan.engine.planning.plan.solve import Task
from isoplan.engine.planning.plan.support import ANSWERED, MARKED
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.quantities import count

ROUNDS, SETTLED = 12, 0.01
"""The plan is solved repeatedly to find its utilisation. The numbers are the maximum number of solutions, and the
relative change of N below which the repetition ends.
"""
SAME, SAME_COST = 0.01, 0.05
"""A plan near the runs replaces a plan with a larger model if this changes the loss of a budget plan by at most the
first fraction, or the cost of a target plan by at most the second.
"""
UTILISATION_CODE, LARGER_MODEL = "utilisation", "larger-model"


def with_reached_utilisation(prices: Prices | None, size: Callable[[Prices], float]) -> Prices | None:
    """Return ``prices`` with a utilisation that the planned model reaches, if the user gave no utilisation.

    ``size`` returns the N of the plan for given prices; NaN if the plan has no N. The utilisation of a model of N
    parameters is at most ``UTILISATION * sqrt(N / Device.least)`` (see ``Machine.least``).
    """
    if prices is None or not prices.machine.assumed:
        return prices
    before = math.inf
    for _ in range(ROUNDS):
        N = size(prices)
        if not (math.isfinite(N) and N > 0) or abs(N - before) <= SETTLED * before < math.inf:
            break
        before, prices = N, reached(prices, N)
    return prices


def reached(prices: Prices, N: float) -> Prices:
    """Return ``prices`` with the utilisation that a model of ``N`` parameters reaches, if the user gave none."""
    machine = prices.machine
    if not machine.assumed:
        return prices
    # The relative precision of N is SETTLED. A slightly smaller N is used here, so that the model is not too small for
    # the utilisation computed from N.
    share = UTILISATION * min(math.sqrt((1 - SETTLED) * N / machine.device.least), 1.0)
    return replace(prices, machine=replace(machine, utilisation=share))


def utilisation_note(prices: Prices | None, N: float | None) -> tuple[FitWarning, ...]:
    """Return a note if the utilisation was lowered for a model of ``N`` parameters; otherwise an empty tuple."""
    if prices is None or N is None or not prices.machine.assumed or prices.machine.utilisation >= UTILISATION:
        return ()
    text = (
        f"Time and money count on {prices.machine.share}, the most that a model of {count(N)} parameters reaches. Give "
        "the utilisation that you measured, if you know it."
    )
    return (FitWarning(UTILISATION_CODE, text),)


def largest_models(fit: Fit) -> tuple[float, float] | None:
    """Return the largest N near the runs, and the largest N that the runs support; None if the runs have no known N."""
    span = fit.data.ranges.get("N")
    return None if span is None else (span[1] * 10**MARKED, span[1] * 10**ANSWERED * (1 - 1e-9))


def within_support(fit: Fit, task: Task, best: Point) -> tuple[Task, tuple[FitWarning, ...]]:
    """Return ``task``, with a limit on the model size if the model of ``best`` is much larger than those of the runs.

    ``best`` is the answer without this limit. The limit is the largest N near the runs if this limit changes the loss
    by at most ``SAME``, or the cost by at most ``SAME_COST``. Otherwise it is the largest N that the runs support. The
    task is returned unchanged if the size of the answer does not depend on prices, or if the user limits the number of
    parameters. The warning states the limit.
    """
    sizes = largest_models(fit)
    priced = task.prices is not None and task.prices.machine.price is not None and task.prices.rates.weighs
    spends = task.aim.weighs if task.goal is not None else "money" in task.limits
    if sizes is None or not (priced and spends and fit.law.is_surface) or "parameters" in task.limits:
        return task, ()
    near, most = sizes
    if best.N > near:
        limited = replace(task, limits={**task.limits, "parameters": near})
        if _same(task, limited.best(fit), best):
            better = f"has a loss less than {100 * SAME:g} % better"
            if task.goal is not None:
                better = f"reduces the cost by less than {100 * SAME_COST:g} %"
            text = (
                f"By the law a model of {count(float(best.N), 2)} parameters {better}, but it is far larger than the "
                f"runs. The plan is limited to {count(near, 2)} parameters."
            )
            return limited, (FitWarning(LARGER_MODEL, text),)
    if best.N > most:
        text = (
            f"By the law a model of {count(float(best.N), 2)} parameters is better, but the runs do not support it. "
            f"The plan is limited to {count(most, 2)} parameters. For a plan closer to the runs, set a maximum number "
            f"of parameters, such as {count(near, 2)}."
        )
        limited = replace(task, limits={**task.limits, "parameters": most})
        if np.isfinite(limited.best(fit).C):
            return limited, (FitWarning(LARGER_MODEL, text),)
    return task, ()


def _same(task: Task, other: Point, best: Point) -> bool:
    """Return whether the loss (for a budget) or the cost (for a goal) of ``other`` is close to that of ``best``."""
    if task.goal is None:
        value, least, most = float(other.loss), float(best.loss), SAME
    else:
        value, least, most = float(task.cost(other)), float(task.cost(best)), SAME_COST
    return math.isfinite(value) and value - least <= most * abs(least)


def draws_within_support(fit: Fit, task: Task, limited: Task) -> Point:
    """Return the answers of all resamples (r,) to ``limited``. A resample without one gets its answer to ``task``.

    ``limited`` is ``task`` as ``within_support`` returns it.
    """
    draws = limited.draws(fit)
    if limited is task:
        return draws
    kept, free = np.isfinite(draws.C), task.draws(fit)
    pairs = ((getattr(draws, name), getattr(free, name)) for name in ("N", "D", "C", "loss", "U"))
    return Point(*(np.where(kept, one, other) for one, other in pairs))
