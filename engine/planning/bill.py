"""What a plan costs, line by line, each with the intervals of the fit's resamples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.costs import ComputeRule
from engine.errors import PlannerError
from engine.fitting.result import Fit
from engine.laws import Point
from engine.planning.frontier import frontier, least_compute
from engine.planning.plan import Question
from engine.planning.prices import Line, Part, Prices
from engine.planning.quantity import Quantity, given, measure
from engine.planning.text import Row, as_row

OF = {"simulation": "D", "inference": "N"}
"""The size that a part of the bill depends on, besides C."""


@dataclass(frozen=True)
class CostLine:
    """One line of the bill: the part of the plan, what of it, and how much."""

    part: Part
    what: str
    amount: Quantity

    @property
    def row(self) -> Row:
        """The line ready to show."""
        return as_row(f"{self.part.capitalize()}, {self.what}", self.amount)


def bill(
    fit: Fit, question: Question, prices: Prices, rule: ComputeRule | None = None, unique: float = math.inf
) -> tuple[CostLine, ...]:
    """What the answer to ``question`` costs by ``prices``, under the fit's compute rule or ``rule``.

    Every sample is simulated once, but at most ``unique`` of them: beyond that D repeats. Resamples that cannot reach a
    target cost infinity. A part whose size the law says nothing of has no value and says so. Raises PlannerError for a
    law that does not answer the question and for ``unique`` that is not positive.
    """
    if not unique > 0:
        raise PlannerError(f"At most {unique:g} unique samples leave nothing to train on: give a positive number.")
    rule = rule or fit.compute
    best, draws = (_answer(fit, question, rule, of_draws) for of_draws in (False, True))
    central, resampled = (_lines(prices, at, unique) for at in (best, draws))
    return tuple(
        CostLine(one.part, one.what, _amount(fit, question, one, many))
        for one, many in zip(central, resampled, strict=True)
    )


def _answer(fit: Fit, question: Question, rule: ComputeRule, of_draws: bool) -> Point:
    values = fit.draws if of_draws else fit.values
    if question.kind == "budget":
        return frontier(fit.law, values, np.asarray(question.value), rule)
    return least_compute(fit.law, values, np.asarray(fit.sign * question.value), rule)


def _lines(prices: Prices, at: Point, unique: float) -> tuple[Line, ...]:
    return prices.lines(at.C, at.N, np.minimum(at.D, unique))


def _amount(fit: Fit, question: Question, one: Line, many: Line) -> Quantity:
    value = float(one.amount)
    if math.isnan(value):
        size = OF.get(one.part, "N or D")
        return Quantity(None, unit=one.unit, note=f"the law on {fit.law.axis or 'C'} says nothing of {size}")
    if question.kind == "budget" and one.part == "training":
        return given(fit, value, one.unit)
    return measure(fit, value, np.broadcast_to(many.amount, len(fit.resamples)), one.unit)
