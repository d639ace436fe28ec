"""The estimands and the candidates of "Next cells", and the advice on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.advice import LADDER, Advice, Spend, advise
from isoplan.engine.design.candidates import Candidates, grid_candidates, possible, repeats, with_repeats
from isoplan.engine.design.cost_unit import FLOPS, CostUnit
from isoplan.engine.design.estimand import Estimand, check_fit, present_widths
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.runtime import Runtime
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.next_cells.times import cell_money, cell_seconds, in_unit, longest_chain, predicted_cost
from isoplan.engine.planning.next_cells.typed import ANSWER, TypedSpend
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.solve import Task, solve, task_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import Prices

AXES = ("N", "D")
WITH_RANGES = (
    "Candidates: the ranges of N and D (sizes, samples) describe a grid, but a list of candidates is given too. Leave "
    "out the ranges or the list."
)
"""Message for a list of candidates together with ranges."""


@dataclass(frozen=True, eq=False)
class NextCells:
    """The advice on the next cells for the target run in ``plan``.

    ``spend`` is the upper limit of the total cost of the cells, and ``target_cost`` is the cost of the target run. Both
    are in ``unit``. ``target_cost`` is None if it is unknown. ``far`` is the number of candidates that are left out
    because their N is not near the optimum of their compute. ``parallel`` cells train side by side.
    """

    fit: Fit
    plan: Plan
    advice: Advice
    spend: float
    unit: CostUnit = FLOPS
    target_cost: float | None = None
    far: int = 0
    parallel: int = 1

    @property
    def whole(self) -> float:
        """Compute of the target run in FLOPs."""
        return _size(self.plan, "C")

    @cached_property
    def seconds(self) -> Floats | None:
        """Training times (m,) of the candidates in seconds; None if they are unknown."""
        return cell_seconds(self.advice.candidates, self.fit.data.runtime, self.plan.prices)

    @cached_property
    def money(self) -> Floats | None:
        """Costs (m,) of the candidates in the currency of the prices; None if they are unknown."""
        return cell_money(self.advice.candidates, self.fit.data.runtime, self.plan.prices)

    @cached_property
    def charged(self) -> bool:
        """Whether the cost of a cell differs from its compute, time or money, because of a charge or a listed cost."""
        at = self.advice.candidates
        predicted = predicted_cost(at, self.unit, self.fit.data.runtime, self.plan.prices)
        return predicted is None or bool(np.any(at.cost != predicted))

    @property
    def round_seconds(self) -> tuple[float, ...] | None:
        """Time of each round in seconds, with ``parallel`` cells side by side; None if it is unknown."""
        if self.seconds is None:
            return None
        return tuple(longest_chain(self.seconds[list(cells)].tolist(), self.parallel) for cells in self.advice.rounds)

    @cached_property
    def repeats(self) -> Bools:
        """Which candidates (m,) have the sizes of a run: training such a cell repeats the run with another seed."""
        assert self.fit.runs is not None
        return repeats(self.advice.candidates, self.fit.runs.columns)

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the advised cells in the table that lists them, in the order of training; () without a list."""
        row = self.advice.candidates.row
        return () if row is None else tuple(int(row[cell]) for cell in self.advice.cells)


@dataclass(frozen=True, eq=False)
class Present:
    """The present answer to a question: its ``plan``, and the narrowed ``estimands`` (k) with their half widths (k).

    The half widths are those of the 68 % intervals, in logarithms.
    """

    plan: Plan
    estimands: tuple[Estimand, ...]
    widths: tuple[float, ...]


def can_advise(fit: Fit) -> bool:
    """Return whether ``fit`` is a surface over N and D that has resamples and keeps its runs."""
    return _is_surface(fit) and bool(len(fit.resamples)) and fit.runs is not None


def _is_surface(fit: Fit) -> bool:
    return fit.law.is_surface and set(fit.law.axes) == set(AXES)


def _size(plan: Plan, name: str) -> float:
    """Return N, D or C of a supported plan. Raises PlannerError, with the sentence of the plan, if it is unknown."""
    value = plan.allocation[name].value
    if value is None:
        raise PlannerError(plan.sentence)
    return value


def next_cells(
    fit: Fit,
    question: Question,
    spend: TypedSpend,
    rule: ComputeRule | None = None,
    prices: Prices | None = None,
    *,
    cells: int = 12,
    rounds: int = 4,
    narrow: Mapping[str, float] = ANSWER,
    sizes: tuple[float, float] | None = None,
    samples: tuple[float, float] | None = None,
    charge: float = 0.0,
    near: float | None = None,
    parallel: int = 1,
    candidates: Candidates | None = None,
) -> NextCells:
    """Return the cells that narrow the answer to ``question`` most within ``spend``.

    The candidates are the listed ``candidates``, or a grid over ``sizes`` (N) and ``samples`` (D) with a repeat of each
    run. By default, the grid extends from the smallest run to the N and D of the answer. If ``near`` is given, N of a
    candidate differs at most by this factor from N* for the compute of the candidate, by the best fit. ``prices``
    convert limits on hours, memory and money. ``narrow`` contains the weights of the quantities to narrow. The cost of
    a cell is its compute, its time or its money, in the unit of ``spend``, or its listed cost. ``charge`` is added to
    the cost of each cell. ``parallel`` cells train side by side, which shortens the rounds.
    Raises PlannerError if the law is not a surface over N and D, if the question has no answer that the runs support,
    if the spend pays for no cell, if the cost of a cell is unknown, or if candidates and ranges are both given.
    """
    rule = rule or fit.compute
    now = present(fit, question, rule, prices, narrow)
    whole, place = _size(now.plan, "C"), {axis: _size(now.plan, axis) for axis in AXES}
    amount, unit, priced_by = spend.amount(whole), spend.unit, (fit.data.runtime, now.plan.prices)
    target_cost = _target_cost(now.plan, unit, fit.data.runtime)
    most = 2 * max(amount, LADDER[-1] * (target_cost or 0.0))
    if candidates is None:
        N, D = (_range(fit, axis, given, place) for axis, given in zip(AXES, (sizes, samples), strict=True))
        largest = most if unit == FLOPS else np.inf
        assert fit.runs is not None
        offered = with_repeats(grid_candidates(N, D, rule, largest), fit.runs.columns, rule, largest)
    elif sizes is None and samples is None:
        offered = candidates
    else:
        raise PlannerError(WITH_RANGES)
    every = possible(fit, offered)
    kept = in_unit(every if near is None else near_optimum(fit, every, rule, near), unit, *priced_by)
    far = len(every) - len(kept)
    affordable = kept.cost <= most
    if candidates is None and affordable.any():
        kept = kept.take(np.flatnonzero(affordable))
    advice = advise(
        fit,
        now.estimands,
        kept.with_charge(charge),
        Spend(amount, cells, rounds, unit),
        whole=target_cost,
        seed=fit.spec.seed,
    )
    return NextCells(fit, now.plan, advice, amount, unit, target_cost, far, parallel)


def _target_cost(plan: Plan, unit: CostUnit, runtime: Runtime | None) -> float | None:
    """Return the cost of the target run of ``plan`` in ``unit``; None if it is unknown.

    If the budget of the question is an amount of money in the currency ``unit``, this amount is the cost.
    """
    if plan.question.money is not None and plan.prices is not None and plan.prices.currency == unit.name:
        return plan.question.money
    N, D, C = (np.array([_size(plan, name)]) for name in ("N", "D", "C"))
    cost = predicted_cost(Candidates({"N": N, "D": D}, C, C), unit, runtime, plan.prices)
    return None if cost is None or np.isnan(cost[0]) else float(cost[0])


def near_optimum(fit: Fit, cells: Candidates, rule: ComputeRule, factor: float) -> Candidates:
    """Return the cells whose N is within ``factor`` of N* for their compute, by the best fit.

    Raises PlannerError if no cell is within this factor, or if the law has no optimal N.
    """
    optimum = frontier(fit.law, fit.values, cells.compute, rule).N
    with np.errstate(invalid="ignore"):
        kept = np.flatnonzero(np.abs(np.log(cells.columns["N"] / optimum)) <= np.log(factor) * (1 + 1e-9))
    if not len(kept):
        raise PlannerError(
            f"Near the optimum: N of each candidate differs by more than a factor {factor:g} from N* for its compute. "
            "Raise the factor."
        )
    return cells.take(kept)


def present(
    fit: Fit,
    question: Question,
    rule: ComputeRule | None = None,
    prices: Prices | None = None,
    narrow: Mapping[str, float] = ANSWER,
) -> Present:
    """Return the answer to ``question`` and the present widths of the quantities ``narrow``, which have weights.

    Raises PlannerError if the law is not a surface over N and D, or if the question has no answer that the runs
    support.
    """
    rule = rule or fit.compute
    if not _is_surface(fit):
        raise PlannerError(
            f"The law {fit.law.name} is not a surface over N and D alone, so the cost of a cell is unknown. Fit "
            "the law 'chinchilla'."
        )
    check_fit(fit)
    plan = _plan(fit, question, rule, prices)
    place = {axis: _size(plan, axis) for axis in AXES}
    task = task_of(fit, question, rule, prices)
    estimands = tuple(_estimand(fit, task, name, place, weight) for name, weight in narrow.items())
    return Present(plan, estimands, present_widths(fit, estimands))


def _plan(fit: Fit, question: Question, rule: ComputeRule, prices: Prices | None) -> Plan:
    """Return the plan of the target run. Raises PlannerError if it lies too far beyond the runs."""
    value, limits = question.value, question.limits
    if question.kind == "budget":
        plan = plan_budget(fit, value, rule, limits=limits, prices=prices, money=question.money)
    else:
        plan = plan_target(fit, value, rule, limits=limits, prices=prices)
    if not plan.answers:
        raise PlannerError(plan.sentence)
    return plan


def _range(fit: Fit, axis: str, given: tuple[float, float] | None, place: Mapping[str, float]) -> tuple[float, float]:
    """Return the range of candidates along ``axis``: the given range, or from the smallest run to the answer."""
    if given is not None:
        return given
    low, high = fit.data.ranges[axis]
    return min(low, place[axis]), max(high, place[axis])


def _estimand(fit: Fit, task: Task, name: str, place: Mapping[str, float], weight: float) -> Estimand:
    """Return the quantity ``name`` of the answer to ``task``. ``place`` contains N and D of the best fit's answer."""
    goal = task.goal.best if task.goal else None
    if name == "answer":
        name = "compute" if goal is not None else "loss"
    if name == ("loss" if goal is not None else "compute"):
        raise PlannerError(f"{name} is given, so it cannot be narrowed. Narrow the answer, N or D.")

    def value(v: Values) -> Floats:
        at = solve(fit.law, v, task, task.limits, goal)
        return {"loss": fit.sign * at.loss, "compute": at.C, "N": at.N, "D": at.D}[name]

    units = {"loss": fit.spec.y, "compute": "FLOPs", "N": "parameters", "D": sample_unit(fit)}
    label = fit.spec.y if name == "loss" else name
    return Estimand(label, units[name], value, place, weight)
