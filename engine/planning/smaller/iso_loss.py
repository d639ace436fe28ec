"""Models that reach the same loss as the answer to a question, and their lifetime costs.

Limits restrict these models. As N increases at equal loss, compute and money first decrease and then increase. The
allowed sizes therefore form one interval, which contains the answer to the question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import Point
from isoplan.engine.laws.law import Values
from isoplan.engine.laws.numeric import least
from isoplan.engine.planning.optimum.constrained import FAR, ROUNDING, SECTIONS, WIDTH, FeasibleRegion, money
from isoplan.engine.planning.optimum.surface import samples_for, size_for
from isoplan.engine.planning.plan.budget import check_size, nothing
from isoplan.engine.planning.plan.feasibility import bound, floor_of, unreachable
from isoplan.engine.planning.plan.solve import Task, room, solve, task_of
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import COMPUTE, Inference, Prices, Rates
from isoplan.engine.quantities import rounded


@dataclass(frozen=True, eq=False)
class IsoLoss:
    """Models that reach the same loss as the answer to ``task``.

    ``left`` is the region that the limits of ``task`` allow, and ``rates`` give costs in ``unit``. Methods read
    parameter values ``v`` of the law: those of the best fit, shape (), or those of resamples, shape (r,) or (r, 1).
    ``answer`` needs the values of the fit. All other methods need the values that ``around`` returns.
    """

    fit: Fit
    task: Task
    left: FeasibleRegion
    rates: Rates
    unit: str

    def answer(self, v: Values) -> Point:
        """Return the answer to the question within its limits. All other models have the loss of this answer."""
        goal = self.task.goal.best if self.task.goal is not None else None
        return solve(self.fit.law, v, self.task, self.task.limits, goal)

    def at(self, v: Values, N: Floats, loss: Floats) -> Point:
        """Return the models of ``N`` parameters with the loss ``loss``.

        D and C are infinite if no number of samples reaches the loss.
        """
        D = samples_for(self.fit.law, v, N, loss)
        known = np.where(np.isfinite(D), D, 1.0)
        return Point(
            N,
            D,
            np.where(np.isfinite(D), self.task.rule.flops_anywhere(N, known), np.inf),
            loss,
            v.get("U", self.left.U),
        )

    def smallest(self, v: Values, loss: Floats, D: Floats | float = np.inf) -> Floats:
        """Return the smallest N that reaches ``loss`` with ``D`` samples."""
        return size_for(self.fit.law, v, np.asarray(D, float), loss)

    def parts(self, at: Point) -> tuple[Floats, Floats, Floats]:
        """Return the costs of training, of simulation and of inference of the models ``at``, in ``unit``."""
        rates = self.rates
        return rates.flop * at.C, rates.sample * np.minimum(at.D, at.U), rates.parameter * at.N + rates.fixed

    def total(self, at: Point) -> Floats:
        """Return the total cost of the models ``at`` in ``unit``; infinite for a model that does not exist."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(at.C), np.inf, money(at.N, at.D, at.C, at.U, self.rates))

    def allows(self, at: Point) -> Bools:
        """Return for each model in ``at`` whether the limits allow this model, up to rounding errors."""
        more, left = 1 + ROUNDING, self.left
        sizes = (at.N <= left.N * more) & (at.D <= left.D * more) & (at.C <= left.C * more)
        return np.isfinite(at.C) & sizes & (self.total(at) <= left.money * more)

    def cheapest(self, v: Values, answer: Point) -> Point:
        """Return the model of least total cost among the allowed models with the loss of ``answer``."""
        there = np.isfinite(answer.N)
        loss, size = np.where(there, answer.loss, np.nan), np.where(there, answer.N, 1.0)
        low = np.where(there, np.log(self.smallest(v, answer.loss, self.left.D)), 0.0)
        high = np.maximum(np.minimum(np.log(self.left.N), low + 2 * WIDTH), low)

        def cost(x: Floats) -> Floats:
            at = self.at(v, np.exp(x), loss)
            return np.where(self.allows(at), self.total(at), FAR * (1 + np.abs(x - np.log(size))))

        found = self.at(v, np.exp(least(cost, low, high, SECTIONS)), loss)
        # Keep ``answer`` if the search ends with a model that is not allowed or not cheaper.
        known = there & self.allows(found) & (self.total(found) < self.total(answer))
        N, D, C = (np.where(known, x, y) for x, y in ((found.N, answer.N), (found.D, answer.D), (found.C, answer.C)))
        return Point(N, D, C, answer.loss, answer.U)

    def around(self, v: Values, answer: Point) -> Values:
        """Return the values ``v``; if the law describes repeated samples, add the unique samples U of ``answer``."""
        return {**v, "U": answer.U} if self.fit.law.repeats else v


def iso_loss(
    fit: Fit, question: Question, rule: ComputeRule | None, prices: Prices | None, served: Inference | None = None
) -> IsoLoss:
    """Return the models that reach the loss of the answer to ``question``. ``served`` are their lifetime queries.

    Costs are in money if ``prices`` contain a price of a machine hour, otherwise in FLOPs. Raises PlannerError for a
    law that is not a surface over N and D, for limits that cannot be applied, or if the best fit has no answer.
    """
    _check(fit, question)
    prices = replace(prices, inference=served) if prices is not None else None
    task = replace(task_of(fit, question, rule or fit.compute, prices), aim=COMPUTE)  # best for training alone
    left = room(fit.law, question.limits.given, prices)
    found = IsoLoss(fit, task, left, *_rates(prices, served))
    _known(fit, question, found)
    return found


def _rates(prices: Prices | None, served: Inference | None) -> tuple[Rates, str]:
    """Return the costs of a FLOP, a sample and a parameter, and the unit of these costs: the currency or "FLOPs"."""
    if prices is not None and prices.machine.price is not None:
        if served is not None and served.machine is not None:
            served.machine.money(1.0)  # raises an error if this machine has no price
        return prices.rates, prices.currency
    if served is None:
        return Rates(1.0), "FLOPs"
    each = float(served.compute(1.0))
    return (Rates(1.0, parameter=each) if served.flops is None else Rates(1.0, fixed=each)), "FLOPs"


def _check(fit: Fit, question: Question) -> None:
    if question.kind == "budget" and not (np.isfinite(question.value) and question.value > 0):
        raise PlannerError(
            f"The budget of {question.value:g} FLOPs is not positive. Give a positive number, such as 1e20."
        )
    if question.kind == "target" and not np.isfinite(question.value):
        raise PlannerError(f"The target {question.value:g} is not a finite number. Give a number such as 2.0.")
    if question.metric:
        raise PlannerError(
            f"A target {question.metric} does not determine the {fit.spec.y}: ask for a target {fit.spec.y}."
        )
    if not fit.law.is_surface:
        raise PlannerError(
            f"The law {fit.law.name} does not determine the cost of other models of the same loss: fit a surface over "
            "N and D, such as chinchilla."
        )


def _known(fit: Fit, question: Question, models: IsoLoss) -> None:
    """Raise PlannerError if the best fit has no answer to ``question``."""
    best, task = models.answer(fit.values), models.task
    if np.isinf(best.N):
        limit = floor_of(fit).value or 0.0
        if task.goal is not None and task.limits and fit.sign * limit < task.goal.best:
            raise PlannerError(unreachable(fit, task, task.goal, question.value))
        raise PlannerError(
            f"A target {fit.spec.y} of {question.value:g} is out of reach, because the {bound(fit)} of the best fit is "
            f"{rounded(limit)}: ask for an easier target."
        )
    if np.isnan(best.N):
        raise PlannerError(nothing(fit, task, question.value))
    check_size(fit, task, best, question)
