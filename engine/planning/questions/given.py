"""Inputs of a question: loss, limits, prices, queries, compute rule, and the fields of this question alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.scenario.fields import Place
from isoplan.engine.planning.scenario.limits import NO_LIMITS, Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices
from isoplan.engine.schema import Curves


@dataclass(frozen=True, eq=False)
class Given:
    """Inputs of a question, typed at ``place``.

    ``asked`` is the budget or target with the limits, None if the question has neither. ``rule`` is None for the
    compute rule of the fit. ``values`` are the values of the question's own fields by name, None if not given.
    ``costs`` are the prices of a question that reads them itself. ``fits`` are all fits by name. A
    script reads each fit from a file in ``files``, one of them by its ``group``. ``curves`` determine a field that is
    not typed. ``notes`` state how typed texts were interpreted.
    """

    asked: Question | None = None
    limits: Limits = NO_LIMITS
    prices: Prices | None = None
    queries: Inference | None = None
    rule: ComputeRule | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    costs: Any = None
    fits: Mapping[str, Fit] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    curves: Curves | None = None
    notes: tuple[str, ...] = ()
    place: Place = "python"

    @property
    def loss(self) -> Question:
        """The budget or target; only for a question that has one."""
        assert self.asked is not None
        return self.asked

    @property
    def file(self) -> str:
        """The file from which a script reads the first fit."""
        return next(iter(self.files.values()), "fit.json")
