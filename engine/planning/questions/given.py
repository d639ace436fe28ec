"""Inputs of a question after reading: loss, limits, prices, queries, compute rule, and its own fields."""

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
    """Inputs of a question, which the user typed at ``place``.

    ``asked`` is the budget or target with its limits; None if the question has neither. ``rule`` is the compute rule;
    None means that of the fit. ``queries`` are those over the life of the model. ``values`` are the values of the
    fields that only this question has, by name; None for a field that is not given. ``costs`` are the prices of a
    question that reads them by its own function.

    ``fits`` are all fits of the question by name, and ``files`` the files from which a script reads them. ``group`` is
    the group of one of these files. ``curves`` are training curves in place of a typed field. ``notes`` state how typed
    texts were interpreted.
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
        """The budget or target. The question must have one."""
        assert self.asked is not None
        return self.asked

    @property
    def file(self) -> str:
        """The file from which a script reads the first fit."""
        return next(iter(self.files.values()), "fit.json")
