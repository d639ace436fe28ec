"""Inputs of a question: loss, limits, prices, queries, compute rule, and the fields of this question alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isoplan.engine.costs import ComputeRule
from isoplan.engine.planning.scenario.limits import NO_LIMITS, Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices


@dataclass(frozen=True, eq=False)
class Given:
    """Inputs of a question.

    ``asked`` is the budget or target with the limits, None if the question has neither. ``rule`` is None for the
    compute rule of the fit. ``values`` are the values of the question's own fields by name. A script reads the
    ``group`` of the fit from ``file``. ``notes`` state how typed texts were interpreted.
    """

    asked: Question | None = None
    limits: Limits = NO_LIMITS
    prices: Prices | None = None
    queries: Inference | None = None
    rule: ComputeRule | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    file: str = "fit.json"
    group: str = ""
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> Question:
        """The budget or target; only for a question that has one."""
        assert self.asked is not None
        return self.asked
