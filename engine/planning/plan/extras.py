"""What stands beside an answer where it was asked for: the bill, the worth of the limits, the cost by a second rule."""

from __future__ import annotations

from typing import TypedDict

from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.planning.plan.bill import bill
from isoplan.engine.planning.plan.convention import restate
from isoplan.engine.planning.plan.parts import CostLine, SecondRuleCost, Worth
from isoplan.engine.planning.plan.shadow_prices import worths
from isoplan.engine.planning.plan.solve import Task
from isoplan.engine.planning.scenario.prices import Prices


class Beside(TypedDict):
    """The fields of a plan that are empty unless they were asked for."""

    prices: Prices | None
    bill: tuple[CostLine, ...]
    worth: tuple[Worth, ...]
    restated: SecondRuleCost | None


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
