"""What stands beside an answer where it was asked for: the bill, the worth of the limits, the cost by a second rule."""

from __future__ import annotations

from typing import TypedDict

from engine.costs import ComputeRule
from engine.fitting.result import Fit
from engine.laws import Point
from engine.planning.convention import restate
from engine.planning.parts import CostLine, Restated, Worth
from engine.planning.pricing.bill import bill
from engine.planning.pricing.prices import Prices
from engine.planning.solve import Task
from engine.planning.worth import worths


class Beside(TypedDict):
    """The fields of a plan that are empty unless they were asked for."""

    prices: Prices | None
    bill: tuple[CostLine, ...]
    worth: tuple[Worth, ...]
    restated: Restated | None


def beside(
    fit: Fit, task: Task, best: Point, draws: Point, other: ComputeRule | None, *, spent: bool = False
) -> Beside:
    """The extras of the answer ``best`` (), ``draws`` (r,); ``spent`` where its compute is a given budget."""
    limited = set(task.limits) - {"budget"}
    return Beside(
        prices=task.prices,
        bill=bill(fit, best, draws, task.prices, spent) if task.prices is not None else (),
        worth=worths(fit, task, best) if limited else (),
        restated=restate(fit, best, draws, task.rule, other) if other is not None else None,
    )
